//! Earlier thinking is sent back if configured.

use super::{client, hi};
use ai_services::message::{AiMessage, ChatMessage, ToolCall, ToolResult};
use ai_services::model::{ChatModel, ChatRequest};
use ai_services::providers::openai::ThinkingReplay::{self, Always, CurrentTurn, Never};
use ai_services_tests::fault_server::FaultServer;
use ai_services_tests::fault_server::Step::{Request, Send};
use serde_json::{Value, json};

fn calling(thinking: &str) -> ChatMessage {
    let call = ToolCall::new("c", "f", "{}");
    AiMessage::builder().thinking(thinking).tool_calls([call]).build().into()
}

/// A complete turn, then a turn with two tool calls.
fn conversation() -> Vec<ChatMessage> {
    let result = || ChatMessage::from(ToolResult::new("c", "f", "1"));
    vec![
        ChatMessage::user("old"),
        AiMessage::builder().thinking("old thinking").text("old answer").build().into(),
        ChatMessage::user("new"),
        calling("first"),
        result(),
        calling("second"),
        result(),
    ]
}

/// Returns the thinking in the request, per message.
async fn sent(replays: &[ThinkingReplay], request: &ChatRequest) -> Vec<Vec<Value>> {
    let server =
        FaultServer::start(replays.iter().map(|_| vec![Request, Send(hi())])).await.unwrap();
    let mut sent = Vec::new();
    for replay in replays {
        let model = client(&server).thinking_replay(*replay).build().unwrap();
        model.chat(request).await.unwrap();
        let body = server.requests().last().unwrap().json();
        let messages = body["messages"].as_array().unwrap().clone();
        sent.push(messages.iter().map(|message| message["reasoning_content"].clone()).collect());
    }
    sent
}

fn expected(replay: ThinkingReplay) -> Vec<Value> {
    let old = if replay == Always { json!("old thinking") } else { Value::Null };
    let new = |text: &str| if replay == Never { Value::Null } else { json!(text) };
    vec![Value::Null, old, Value::Null, new("first"), Value::Null, new("second"), Value::Null]
}

#[tokio::test]
async fn thinking_is_sent_as_configured() {
    // All settings share one request, so a cached encoding of another setting would be noticed.
    let replays = [Never, CurrentTurn, Always, CurrentTurn, Never];
    let request = ChatRequest::new(conversation());
    assert_eq!(sent(&replays, &request).await, replays.map(expected));
}

#[tokio::test]
async fn turn_begins_with_the_last_user_message() {
    let mut history = conversation();
    let turn = history.split_off(2);
    let request = ChatRequest::builder().history(history.into_iter().collect()).messages(turn);
    assert_eq!(sent(&[CurrentTurn], &request.build()).await, [expected(CurrentTurn)]);
}

#[tokio::test]
async fn thinking_is_not_sent_by_default() {
    let server = FaultServer::answering([hi()]).await.unwrap();
    client(&server).build().unwrap().chat(&ChatRequest::new(conversation())).await.unwrap();
    let body = String::from_utf8(server.requests()[0].body.clone()).unwrap();
    assert!(!body.contains("thinking") && !body.contains("reasoning"), "{body}");
}
