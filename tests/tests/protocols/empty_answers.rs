//! Answers without text that end normally. Models send them after tool results.

use ai_services::memory::MessageWindowChatMemory;
use ai_services::{AnswerStream, ErrorKind, Response, ai_service, tool};
use ai_services_tests::fault_server::{FaultServer, answer as kept_alive};
use ai_services_tests::protocols::{Exchange, Mode, exchanges};
use serde_json::{Value, json};

#[ai_service]
trait Notes {
    async fn whole(&self, message: &str) -> ai_services::Result<Response<String>>;

    fn stream(&self, message: &str) -> AnswerStream;

    async fn number(&self, message: &str) -> ai_services::Result<u8>;
}

/// Tells the weather.
#[tool]
fn weather(city: &str) -> String {
    format!("rain in {city}")
}

/// Returns the documents of answers without text, in every form that the protocol has.
fn documents(protocol: &str) -> Vec<Value> {
    let usage = json!({ "input_tokens": 7, "output_tokens": 1 });
    match protocol {
        "openai-chat" => [json!(null), json!("")]
            .map(|content| {
                let message = json!({ "role": "assistant", "content": content });
                json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] })
            })
            .to_vec(),
        "openai-responses" => {
            let text = json!({ "type": "output_text", "annotations": [], "text": "" });
            let message = json!({ "type": "message", "role": "assistant", "status": "completed",
                "content": [text] });
            [json!([]), json!([message])]
                .map(|output| json!({ "id": "r", "status": "completed", "output": output }))
                .to_vec()
        }
        "ollama" => vec![json!({ "message": { "role": "assistant", "content": "" },
            "done": true, "done_reason": "stop" })],
        "anthropic" => [json!([]), json!([{ "type": "text", "text": "" }])]
            .map(|content| {
                json!({ "type": "message", "role": "assistant", "content": content,
                    "stop_reason": "end_turn", "usage": usage })
            })
            .to_vec(),
        "gemini" => [
            json!({ "finishReason": "STOP" }),
            json!({ "content": { "role": "model" }, "finishReason": "STOP" }),
            json!({ "content": { "role": "model", "parts": [] }, "finishReason": "STOP" }),
            json!({ "content": { "role": "model", "parts": [{ "text": "" }] }, "finishReason": "STOP" }),
        ]
        .map(|candidate| json!({ "candidates": [candidate] }))
        .to_vec(),
        other => unreachable!("no documents of {other}"),
    }
}

/// Returns the same answers as streams.
fn streams(protocol: &str) -> Vec<String> {
    let data = |events: &[Value]| -> String {
        events.iter().map(|event| format!("data: {event}\n\n")).collect()
    };
    match protocol {
        "openai-chat" => [json!({}), json!({ "role": "assistant", "content": "" })]
            .map(|delta| {
                let chunk = |delta: Value, reason: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
                data(&[chunk(delta, Value::Null), chunk(json!({}), json!("stop"))]) + "data: [DONE]\n\n"
            })
            .to_vec(),
        "openai-responses" => documents(protocol)
            .into_iter()
            .map(|response| data(&[json!({ "type": "response.completed", "response": response })]))
            .collect(),
        "ollama" => documents(protocol).iter().map(|line| format!("{line}\n")).collect(),
        "anthropic" => {
            let start = json!({ "type": "message_start", "message": { "type": "message",
                "role": "assistant", "content": [], "usage": { "input_tokens": 7, "output_tokens": 1 } } });
            let end = json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } });
            vec![data(&[start, end, json!({ "type": "message_stop" })])]
        }
        _ => documents(protocol).iter().map(|document| data(std::slice::from_ref(document))).collect(),
    }
}

fn bodies(exchange: &Exchange) -> Vec<String> {
    match exchange.mode {
        Mode::Whole => documents(exchange.protocol.name).iter().map(Value::to_string).collect(),
        Mode::Stream => streams(exchange.protocol.name),
    }
}

fn answer(exchange: &Exchange, body: &str) -> Vec<u8> {
    kept_alive(200, &[("content-type", exchange.content_type())], body)
}

async fn ask(notes: &NotesService, exchange: &Exchange, text: &str) -> Response<String> {
    match exchange.mode {
        Mode::Whole => notes.whole(text).await,
        Mode::Stream => notes.stream(text).collect().await,
    }
    .unwrap_or_else(|error| unreachable!("{exchange:?}: {error}"))
}

#[tokio::test]
async fn empty_answer_after_a_tool_is_stored_and_the_conversation_continues() {
    for exchange in exchanges() {
        for body in bodies(&exchange) {
            let context = format!("{exchange:?} {body}");
            let empty = answer(&exchange, &body);
            let server =
                FaultServer::answering([answer(&exchange, &exchange.body()), empty.clone(), empty])
                    .await
                    .unwrap();
            let memory = MessageWindowChatMemory::builder().max_messages(20).build().unwrap();
            let notes = NotesService::builder()
                .chat_model(exchange.client(&server))
                .chat_memory(memory)
                .tools(weather::tool())
                .build()
                .unwrap();
            let first = ask(&notes, &exchange, "note the weather").await;
            assert_eq!((first.value.as_str(), first.tool_executions.len()), ("", 1), "{context}");
            let memory = notes.shared_chat_memory().unwrap();
            assert_eq!(memory.messages().await.unwrap().len(), 4, "{context}");
            let second = ask(&notes, &exchange, "thanks").await;
            assert_eq!(second.value, "", "{context}");
            assert_eq!(server.requests().len(), 3, "{context}");
            let sent = &server.requests()[2];
            check_request(exchange.protocol.name, &sent.json(), &context);
        }
    }
}

/// Checks that a request has no message that the protocol rejects, and all others.
fn check_request(protocol: &str, body: &Value, context: &str) {
    let text = body.to_string();
    assert!(text.contains("thanks") && text.contains("rain in Oslo"), "{context}");
    let (messages, parts) = match protocol {
        "anthropic" => ("messages", "content"),
        "gemini" => ("contents", "parts"),
        // The others accept an empty text.
        _ => return,
    };
    for message in body[messages].as_array().unwrap() {
        let parts = message[parts].as_array().unwrap();
        assert!(!parts.is_empty(), "{context}: {body}");
        assert!(parts.iter().all(|part| part["text"] != ""), "{context}: {body}");
    }
}

#[tokio::test]
async fn empty_answer_of_a_typed_method_is_requested_again() {
    for exchange in exchanges().filter(|exchange| exchange.mode == Mode::Whole) {
        for body in bodies(&exchange) {
            let empty = answer(&exchange, &body);
            let server = FaultServer::answering([empty.clone(), empty]).await.unwrap();
            let notes =
                NotesService::builder().chat_model(exchange.client(&server)).build().unwrap();
            let error = notes.number("how many?").await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Output, "{exchange:?} {body}: {error}");
            assert_eq!(server.requests().len(), 2);
        }
    }
}
