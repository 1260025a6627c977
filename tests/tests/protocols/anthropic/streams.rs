//! Streams over a network.

use super::{client, hello};
use ai_services::message::AiMessage;
use ai_services::model::{
    Capability, ChatModel, ChatResponse, FinishReason, ModelStreamEvent, TokenUsage, ToolCallDelta,
};
use ai_services_tests::PATIENCE;
use ai_services_tests::fault_server::{FaultServer, Step, events_answer, events_head};
use futures_util::StreamExt;
use serde_json::{Value, json};

async fn events(stream: &str) -> Vec<ModelStreamEvent> {
    let server = FaultServer::answering([events_answer(stream)]).await.unwrap();
    let client = client(&server).build().unwrap();
    let events: Vec<_> = client.stream(&hello()).collect().await;
    events.into_iter().map(Result::unwrap).collect()
}

async fn completed(stream: &str) -> ChatResponse {
    match events(stream).await.pop() {
        Some(ModelStreamEvent::Completed(response)) => *response,
        other => panic!("{other:?}"),
    }
}

async fn kept(stream: &str) -> (AiMessage, Option<Value>) {
    let message = completed(stream).await.message;
    let json = message.provider_content().map(|content| content.json().to_owned());
    (message, json.map(|json| serde_json::from_str(&json).unwrap()))
}

#[tokio::test]
async fn stream_is_requested() {
    super::check("no_stream", &hello(), |builder| builder).await;
    let server = FaultServer::answering([events_answer(include_str!("streams/text.sse"))]);
    let server = server.await.unwrap();
    let client = client(&server).build().unwrap();
    let last = client.stream(&hello()).collect::<Vec<_>>().await.pop();
    let Some(Ok(ModelStreamEvent::Completed(response))) = last else { panic!("{last:?}") };
    assert_eq!(server.requests()[0].json(), super::golden("stream"));
    assert_eq!(response.message, AiMessage::new("Grüße, \"日本\"\n😀!"));
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    assert_eq!(response.usage.input, Some(13));
    assert_eq!(response.model.as_deref(), Some("claude-haiku-4-5"));
    assert_eq!((response.id.as_deref(), response.attempts), (Some("msg_01"), Some(1)));
}

#[tokio::test]
async fn calls_come_in_pieces() {
    let events = events(include_str!("streams/tools.sse")).await;
    let deltas: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            ModelStreamEvent::ToolCall(delta) => Some(delta.clone()),
            _ => None,
        })
        .collect();
    let piece = |index, arguments| ToolCallDelta::new(index).with_arguments(arguments);
    let expected = [
        ToolCallDelta::new(0).with_id("toolu_a").with_name("weather"),
        piece(0, "{\"ci"),
        piece(0, "ty\": \"Köln"),
        piece(0, "\"}"),
        ToolCallDelta::new(1).with_id("toolu_b").with_name("now"),
        piece(1, "{}"),
    ];
    assert_eq!(deltas, expected);
    assert!(matches!(&events[0], ModelStreamEvent::Text(text) if text == "I look."));
}

#[tokio::test]
async fn thoughts_are_kept_with_their_signatures() {
    let (message, content) = kept(include_str!("streams/thinking.sse")).await;
    assert_eq!((message.thinking(), message.text()), (Some("Let me see…"), Some("It is 4.")));
    let expected = json!([
        { "type": "thinking", "thinking": "Let me see…", "signature": "RXJhc211cw==" },
        { "type": "redacted_thinking", "data": "b3BhcXVl" },
        { "type": "text", "text": "It is 4." },
        { "type": "tool_use", "id": "toolu_c", "name": "add", "input": { "a": 1, "b": 3 } },
    ]);
    assert_eq!(content, Some(expected));
}

#[tokio::test]
async fn server_tool_calls_and_citations_are_kept() {
    let (message, content) = kept(include_str!("streams/search.sse")).await;
    assert_eq!(message.text(), Some("It rains in Oslo. Take a coat."));
    let content = content.unwrap();
    assert_eq!(content[0]["input"], json!({ "query": "rain" }));
    assert_eq!(content[1]["content"][0]["encrypted_content"], "eHh4");
    assert_eq!(content[2]["citations"][0]["cited_text"], "It rains.");
    assert_eq!(content[2]["text"], "It rains in Oslo.");
    assert_eq!(content.as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn plain_answers_have_no_provider_content() {
    for stream in [include_str!("streams/text.sse"), include_str!("streams/tools.sse")] {
        assert_eq!(kept(stream).await.1, None);
    }
}

#[tokio::test]
async fn call_truncated_at_the_token_limit_is_kept_as_text() {
    let stream = include_str!("streams/thinking.sse");
    let stream =
        stream.replace(r#"\"b\": 3}"#, "").replace("\"tool_use\",\"stop", "\"max_tokens\",\"stop");
    let response = completed(&stream).await;
    assert_eq!(response.finish_reason, Some(FinishReason::Length));
    assert_eq!(response.message.tool_calls()[0].arguments(), "{\"a\": 1, ");
    let content = response.message.provider_content().unwrap();
    let content: Value = serde_json::from_str(content.json()).unwrap();
    assert_eq!(content[3]["input"], json!({}));
    assert_eq!(content[0]["signature"], "RXJhc211cw==");
}

#[tokio::test]
async fn refusal_within_a_stream_is_reported() {
    let stream = "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n\
        data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\",\"stop_details\":{\"type\":\"refusal\",\"category\":\"cyber\",\"explanation\":\"No.\"}},\"usage\":{\"output_tokens\":2}}\n\n\
        data: {\"type\":\"message_stop\"}\n\n";
    let response = completed(stream).await;
    assert_eq!(response.message.refusal(), Some("No."));
    assert_eq!(response.finish_reason, Some(FinishReason::ContentFilter));
    assert_eq!(response.usage, TokenUsage::new(3, 2));
}

#[tokio::test]
async fn whole_answer_instead_of_a_stream_is_one_piece() {
    let server = FaultServer::answering([super::hi()]).await.unwrap();
    let client = client(&server).build().unwrap();
    let events: Vec<_> = client.stream(&hello()).collect().await;
    assert!(matches!(
        &events[..],
        [Ok(ModelStreamEvent::Text(_)), Ok(ModelStreamEvent::Completed(_))]
    ));
}

#[tokio::test]
async fn model_without_streaming_gets_a_plain_request() {
    let server = FaultServer::answering([super::hi()]).await.unwrap();
    let can = client(&server).build().unwrap().capabilities().without(Capability::Streaming);
    let client = client(&server).capabilities(can).build().unwrap();
    assert_eq!(client.stream(&hello()).count().await, 2);
    assert_eq!(server.requests()[0].json().get("stream"), None);
}

#[tokio::test]
async fn dropped_stream_closes_its_connection() {
    let begin =
        include_str!("streams/text.sse").split_inclusive("\n\n").take(4).collect::<String>();
    let script =
        vec![Step::Request, Step::Send(events_head()), Step::Send(begin.into()), Step::Hang];
    let server = FaultServer::start([script]).await.unwrap();
    let client = client(&server).build().unwrap();
    let request = hello();
    let mut stream = client.stream(&request);
    let first = stream.next().await;
    assert!(matches!(first, Some(Ok(ModelStreamEvent::Text(_)))), "{first:?}");
    drop(stream);
    tokio::time::timeout(PATIENCE, server.hung_up(1)).await.unwrap();
}
