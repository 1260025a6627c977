//! Streamed answers over HTTP.

use super::{client, completion, hello, hi};
use ai_services::fuzzing::chat_events;
use ai_services::message::{UserMessage, VideoContent};
use ai_services::model::{
    Capabilities, ChatModel, ChatRequest, ChatRequestParameters, ChatResponse, ModelStreamEvent,
    PartialAnswer, TokenUsage,
};
use ai_services::providers::openai::{OpenAiChatModel, StreamUsage};
use ai_services::{Error, ErrorKind};
use ai_services_tests::PATIENCE;
use ai_services_tests::fault_server::Step::{Close, Hang, Repeat, Request, Reset, Send};
use ai_services_tests::fault_server::{
    FaultServer, Step, answer, events_answer, events_head, json_answer,
};
use futures_util::StreamExt;
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::time::timeout;

const HELLO: &str = r#"data: {"id":"c","choices":[{"delta":{"content":"Hel"}}]}

data: {"choices":[{"delta":{"content":"lo"},"finish_reason":"stop"}]}

data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}

data: [DONE]

"#;

/// The start of an answer: the text `Hel` and a usage of 7 tokens.
const HEL: &str = r#"data: {"choices":[{"delta":{"content":"Hel"}}],"usage":{"prompt_tokens":7}}

"#;

async fn start(scripts: impl IntoIterator<Item = Vec<Step>>) -> FaultServer {
    FaultServer::start(scripts).await.unwrap()
}

/// A server that sends these bytes of a stream and continues with `then`.
async fn beginning(bytes: &str, then: Step) -> FaultServer {
    let first = vec![Request, Send(events_head()), Send(bytes.into()), then];
    start([first, vec![Request, Send(hi())]]).await
}

/// Returns the text and the end of a stream.
async fn read(model: &OpenAiChatModel) -> (String, Result<ChatResponse, Error>) {
    let request = hello();
    let mut events = model.stream(&request);
    let mut text = String::new();
    let end = loop {
        match events.next().await.unwrap() {
            Ok(ModelStreamEvent::Text(piece)) => text.push_str(&piece),
            Ok(ModelStreamEvent::Completed(response)) => break Ok(*response),
            Ok(_) => {}
            Err(error) => break Err(error),
        }
    };
    assert!(events.next().await.is_none());
    (text, end)
}

async fn read_from(answer: Vec<u8>) -> (String, Result<ChatResponse, Error>) {
    let server = FaultServer::answering([answer]).await.unwrap();
    read(&client(&server).build().unwrap()).await
}

/// Asserts that the error after `Hel` contains the partial answer.
async fn error_after_hel(server: &FaultServer, model: &OpenAiChatModel) -> Error {
    let (text, end) = read(model).await;
    let error = end.unwrap_err();
    assert_eq!(text, "Hel");
    assert_eq!(error.detail::<PartialAnswer>().unwrap().text, "Hel");
    assert_eq!(error.usage().unwrap().input, Some(7));
    assert_eq!((error.status(), error.attempts()), (Some(200), Some(1)));
    assert_eq!(error.request_id(), Some("r-1"));
    // The request is not repeated, because its tokens may have been charged.
    assert_eq!(server.requests().len(), 1);
    error
}

#[tokio::test]
async fn stream_is_requested_with_its_usage() {
    // Each client has its own connection.
    let server = start([(); 3].map(|()| vec![Request, Send(events_answer(HELLO))])).await;
    let asked = || server.requests().last().unwrap().json();
    let model = client(&server).build().unwrap();
    model.chat(&hello()).await.unwrap_err();
    let whole = asked();
    assert_eq!((whole.get("stream"), whole.get("stream_options")), (None, None));

    assert!(read(&model).await.1.is_ok());
    let mut expected = whole;
    expected["stream"] = true.into();
    expected["stream_options"] = json!({ "include_usage": true });
    assert_eq!(asked(), expected);

    let model = client(&server).stream_usage(StreamUsage::NotRequested);
    assert!(read(&model.build().unwrap()).await.1.is_ok());
    assert_eq!((&asked()["stream"], asked().get("stream_options")), (&json!(true), None));
}

#[tokio::test]
async fn parameters_of_the_call_are_sent() {
    let server = FaultServer::answering([events_answer(HELLO)]).await.unwrap();
    let model = client(&server).build().unwrap();
    let parameters = ChatRequestParameters::new().temperature(0.5);
    let request = ChatRequest::builder().parameters(parameters).build();
    let events = model.stream(&request).collect::<Vec<_>>().await;
    assert!(events.iter().all(Result::is_ok));
    let asked = server.requests()[0].json();
    assert_eq!((&asked["temperature"], &asked["stream"]), (&json!(0.5), &json!(true)));
}

#[tokio::test]
async fn nothing_is_sent_before_the_first_poll() {
    let server = FaultServer::answering([hi()]).await.unwrap();
    let (model, request) = (client(&server).build().unwrap(), hello());
    drop(model.stream(&request));
    model.chat(&request).await.unwrap();
    assert_eq!((server.connections(), server.requests().len()), (1, 1));
}

#[tokio::test]
async fn answer_is_read_in_pieces() {
    let (text, end) = read_from(events_answer(HELLO)).await;
    let response = end.unwrap();
    assert_eq!((text.as_str(), response.message.text()), ("Hello", Some("Hello")));
    assert_eq!((response.id.as_deref(), response.attempts), (Some("c"), Some(1)));
    assert_eq!(response.usage, TokenUsage::new(7, 2));
}

#[tokio::test]
async fn first_piece_does_not_wait_for_the_second() {
    let server = beginning(HEL, Hang).await;
    let (model, request) = (client(&server).build().unwrap(), hello());
    let first = model.stream(&request).next().await.unwrap().unwrap();
    assert!(matches!(first, ModelStreamEvent::Text(text) if text == "Hel"));
}

#[tokio::test]
async fn whole_answer_of_a_server_that_does_not_stream_is_read() {
    let body = completion(json!({ "content": "Hi.", "reasoning": "Hm." }));
    for content_type in ["application/json", "text/plain", "application/octet-stream"] {
        let bytes = answer(200, &[("content-type", content_type)], body.to_string());
        let (text, end) = read_from(bytes).await;
        assert_eq!((text.as_str(), end.unwrap().message.thinking()), ("Hi.", Some("Hm.")));
    }
}

#[tokio::test]
async fn events_of_another_content_type_are_read() {
    for headers in
        [&[][..], &[("content-type", "text/plain")], &[("content-type", "application/json")]]
    {
        assert_eq!(
            read_from(answer(200, headers, HELLO)).await.1.unwrap().message.text(),
            Some("Hello")
        );
    }
}

#[tokio::test]
async fn invalid_document_is_an_error() {
    let html = [("content-type", "text/html")];
    let error = read_from(answer(200, &html, "<html>Sign in")).await.1.unwrap_err();
    assert_eq!(error.to_string(), "the answer is not JSON (text/html): <html>Sign in");
    let error = read_from(answer(200, &[], "")).await.1.unwrap_err();
    assert_eq!(error.to_string(), "the answer is empty");
    let failed = json!({ "error": { "message": "no", "code": "rate_limit_exceeded" } });
    let error = read_from(json_answer(&failed)).await.1.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::RateLimited, Some("rate_limit_exceeded")));
}

#[tokio::test]
async fn failures_before_the_answer_are_retried() {
    let answers = [answer(503, &[], ""), events_answer(HELLO)];
    let server = FaultServer::answering(answers).await.unwrap();
    let (text, end) = read(&client(&server).build().unwrap()).await;
    assert_eq!((text.as_str(), end.unwrap().attempts), ("Hello", Some(2)));
}

#[tokio::test]
async fn rejected_stream_has_no_partial_answer() {
    let body = json!({ "error": { "message": "no stream" } }).to_string();
    let error = read_from(answer(400, &[], body)).await.1.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::InvalidRequest, Some(400)));
    assert!(error.detail::<PartialAnswer>().is_none());
}

#[tokio::test]
async fn connection_that_ends_or_breaks_is_an_error_with_the_partial_answer() {
    let chunked = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-request-id: r-1\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = format!("{chunked}{:x}\r\n{HEL}\r\n", HEL.len());
    let ends = |step| vec![Request, Send(events_head()), Send(HEL.into()), step];
    for (script, kind) in [
        (ends(Close), ErrorKind::InvalidResponse),
        (vec![Request, Send(chunk.clone().into()), Close], ErrorKind::Connection),
        (vec![Request, Send(format!("{chunk}zz\r\n").into()), Hang], ErrorKind::InvalidResponse),
        (vec![Request, Send(format!("{chunk}0\r\n\r\n").into()), Hang], ErrorKind::InvalidResponse),
    ] {
        let server = start([script]).await;
        let error = error_after_hel(&server, &client(&server).build().unwrap()).await;
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().starts_with("the answer was cut off"), "{error}");
    }
}

#[test]
fn stream_without_done_needs_a_reason_and_then_the_usage() {
    let text = r#"{"choices":[{"delta":{"content":"Hi"}}]}"#;
    let text_and_usage = r#"{"choices":[{"delta":{"content":"Hi"}}],"usage":{"total_tokens":1}}"#;
    let reason = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    let reason_and_usage =
        r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"total_tokens":1}}"#;
    let usage = r#"{"choices":[],"usage":{"total_tokens":1}}"#;
    let last = r#"{"object":"chat.completion.done"}"#;
    for (events, is_complete) in [
        (&[text, reason_and_usage][..], true),
        (&[text, reason, usage], true),
        (&[text, reason, last], true),
        (&[text, reason_and_usage, usage], true),
        (&[text, reason], false),
        (&[text_and_usage, reason], false),
        (&[text, usage], false),
        (&[text, last], false),
        (&[text, reason_and_usage, text], false),
        (&[text, reason_and_usage, text_and_usage], false),
    ] {
        let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let end = chat_events([stream.clone().into_bytes()]).pop().unwrap();
        let error = end.err().map(|error| error.to_string());
        let expected = (!is_complete).then(|| "the answer was cut off".to_owned());
        assert_eq!(error, expected, "{stream}");
    }
}

#[tokio::test]
async fn broken_connection_after_the_usage_is_an_error_without_done() {
    let stream = include_str!("streams/perplexity.sse");
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let begun = format!("{head}{:x}\r\n{stream}\r\n", stream.len());
    let server = start([vec![Request, Send(begun.into()), Close]]).await;
    let (text, end) = read(&client(&server).build().unwrap()).await;
    assert_eq!((text.as_str(), end.unwrap_err().kind()), ("Ja, é.", ErrorKind::Connection));
}

#[tokio::test]
async fn reset_connection_is_an_error() {
    // A reset may overtake earlier data.
    let server = beginning(HEL, Reset).await;
    let error = read(&client(&server).build().unwrap()).await.1.unwrap_err();
    assert_eq!((error.kind(), server.requests().len()), (ErrorKind::Connection, 1), "{error}");
}

#[tokio::test]
async fn error_of_the_server_in_the_middle_is_reported() {
    let member = json!({ "error": { "message": "no", "code": "server_error" } });
    let vllm = json!({ "object": "error", "message": "no", "code": 503 });
    for (event, kind) in [
        (format!("data: {member}\n\n"), ErrorKind::Unavailable),
        (format!("event: error\ndata: {member}\n\n"), ErrorKind::Unavailable),
        (format!("data: {vllm}\n\n"), ErrorKind::Unavailable),
        ("event: error\ndata: no\n\n".to_owned(), ErrorKind::InvalidResponse),
    ] {
        let server = beginning(&format!("{HEL}{event}"), Hang).await;
        let model = client(&server).build().unwrap();
        let (text, end) = read(&model).await;
        let error = end.unwrap_err();
        assert_eq!((text.as_str(), error.kind()), ("Hel", kind), "{error}");
        assert_eq!(error.detail::<PartialAnswer>().unwrap().text, "Hel");
        assert!(error.to_string().ends_with(": no"), "{error}");
        timeout(PATIENCE, server.hung_up(1)).await.unwrap();
    }
}

#[tokio::test]
async fn invalid_stream_is_an_error() {
    for (event, message) in [
        ("data: oops\n\n", "the answer does not follow the protocol"),
        ("data: [DONE]\n\n", "the answer was cut off"),
        (
            "data: {\"choices\":[{\"delta\":{\"content\":{\"a\":\"\n\n",
            "the answer does not follow the protocol",
        ),
    ] {
        let server = beginning(&format!("{HEL}{event}"), Hang).await;
        let error = error_after_hel(&server, &client(&server).build().unwrap()).await;
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ErrorKind::InvalidResponse, message)
        );
    }
}

#[tokio::test]
async fn stall_times_out_at_the_idle_timeout() {
    let server = beginning(HEL, Hang).await;
    let model = client(&server).stream_idle_timeout(Duration::from_millis(30)).build().unwrap();
    let error = error_after_hel(&server, &model).await;
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(error.to_string(), "no data received for 30ms");
    timeout(PATIENCE, server.hung_up(1)).await.unwrap();
}

#[tokio::test]
async fn long_stream_times_out_at_the_timeout() {
    let server = beginning(HEL, Repeat(HEL.into())).await;
    let model = client(&server).timeout(Duration::from_millis(50)).max_stream_bytes(usize::MAX);
    let (_, end) = read(&model.build().unwrap()).await;
    let error = end.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(error.detail::<PartialAnswer>().unwrap().text.starts_with("HelHel"));

    let server = beginning(HEL, Hang).await;
    let model = client(&server).deadline(Duration::from_millis(50)).build().unwrap();
    let error = error_after_hel(&server, &model).await;
    assert_eq!(error.to_string(), "no answer within the deadline of 50ms");
}

#[tokio::test]
async fn dropped_stream_closes_the_connection() {
    let server = beginning(HEL, Hang).await;
    let (model, request) = (client(&server).build().unwrap(), hello());
    let mut events = model.stream(&request);
    assert!(events.next().await.unwrap().is_ok());
    drop(events);
    timeout(PATIENCE, server.hung_up(1)).await.unwrap();
}

#[tokio::test]
async fn slow_reader_causes_back_pressure() {
    let server = beginning(HEL, Repeat(HEL.repeat(1000).into_bytes())).await;
    let (model, request) = (client(&server).build().unwrap(), hello());
    let mut events = model.stream(&request);
    assert!(events.next().await.unwrap().is_ok());
    server.stuck().await;
    // Size of the socket buffers of both sides; the client does not read ahead.
    assert!(server.flooded() < 16 << 20, "{}", server.flooded());
    drop(events);
    timeout(PATIENCE, server.hung_up(1)).await.unwrap();
}

#[tokio::test]
async fn endless_line_and_endless_stream_are_aborted() {
    for (begin, endless, what) in [
        ("data: ", vec![b'x'; 64 << 10], "a part of the answer is larger than 4194304 bytes"),
        ("", vec![b'x'; 64 << 10], "a part of the answer is larger than 4194304 bytes"),
        ("", HEL.repeat(1000).into_bytes(), "the answer is larger than 5000000 bytes"),
    ] {
        let server = beginning(begin, Repeat(endless)).await;
        let model = client(&server).max_stream_bytes(5_000_000).build().unwrap();
        let error = read(&model).await.1.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse);
        assert!(error.to_string().starts_with(what), "{error}");
        timeout(PATIENCE, server.hung_up(1)).await.unwrap();
        // Data that was read, and the socket buffers of both sides.
        assert!(server.flooded() < 5_000_000 + (16 << 20), "{}", server.flooded());
    }
}

#[tokio::test]
async fn connection_is_reused_after_the_end() {
    let end = [events_answer(HELLO), hi()];
    let server = FaultServer::answering(end).await.unwrap();
    let model = client(&server).build().unwrap();
    assert_eq!(read(&model).await.0, "Hello");
    model.chat(&hello()).await.unwrap();
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn end_of_the_body_has_a_short_time_limit() {
    for rest in [Hang, Repeat(HELLO.repeat(100).into_bytes())] {
        let server = beginning(HELLO, rest).await;
        let begin = Instant::now();
        let (text, end) = read(&client(&server).build().unwrap()).await;
        assert_eq!((text.as_str(), end.is_ok()), ("Hello", true));
        assert!(begin.elapsed() < Duration::from_secs(2));
        timeout(PATIENCE, server.hung_up(1)).await.unwrap();
    }
}

#[tokio::test]
async fn server_without_streaming_gets_a_plain_request() {
    let server = FaultServer::answering([hi()]).await.unwrap();
    let model = client(&server).capabilities(Capabilities::default()).build().unwrap();
    assert_eq!(read(&model).await.0, "Hi.");
    assert_eq!(server.requests()[0].json().get("stream"), None);
}

#[tokio::test]
async fn message_that_cannot_be_sent_is_an_error_of_the_stream() {
    let server = start([]).await;
    let model = client(&server).build().unwrap();
    let video = VideoContent::url("https://example.org/x");
    let request = ChatRequest::new([UserMessage::from_contents([video.into()]).into()]);
    let events = model.stream(&request).collect::<Vec<_>>().await;
    let [Err(error)] = &events[..] else { unreachable!("{events:?}") };
    assert_eq!((error.kind(), server.connections()), (ErrorKind::Unsupported, 0));
}
