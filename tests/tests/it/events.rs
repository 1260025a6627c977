//! Events that listeners receive, and their order.

use ai_services::event::{Call, Event};
use ai_services::memory::{MemoryId, MessageWindowChatMemory};
use ai_services::message::{AiMessage, ChatMessage, ToolCall, ToolResult};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{ErrorKind, ai_service, tool};
use futures_util::FutureExt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[ai_service]
trait Agent {
    async fn chat(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<String>;
}

/// Says hello.
#[tool]
fn hello() -> &'static str {
    "hello"
}

fn agent(model: ScriptedChatModel) -> (AgentService, Arc<Mutex<Vec<String>>>) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&events);
    let agent = AgentService::builder()
        .chat_model(model)
        .chat_memory_provider(|id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(9).build()
        })
        .tools(hello::tool())
        .listener(move |call: &Call<'_>, event: &Event<'_>| {
            let description = match event {
                Event::Started => "started".to_owned(),
                Event::PromptsRendered { system: None, user } => {
                    format!("prompt {}", user.text().unwrap_or_default())
                }
                Event::MemoryLoaded { version: Some(_), messages } => format!("loaded {messages}"),
                Event::HistoryRepaired { dropped, added, is_reordered } => {
                    let order = if *is_reordered { " reordered" } else { "" };
                    format!("repaired {dropped} {added}{order}")
                }
                Event::RequestIssued { request } => format!("request {}", request.message_count()),
                Event::RequestFailed { error } => format!("no response {:?}", error.kind()),
                Event::ResponseReceived { .. } => "response".to_owned(),
                Event::ToolStarted { call } => format!("running {}", call.name()),
                Event::ToolFinished { execution } => {
                    format!("ran {}", execution.result().text().unwrap_or_default())
                }
                Event::TurnStored { based_on: Some(_), messages } => format!("stored {messages}"),
                Event::Completed { cost: None, .. } => "completed".to_owned(),
                Event::Failed { error } => format!("failed {:?}", error.kind()),
                Event::Cancelled => "cancelled".to_owned(),
                other => panic!("unknown event {other:?}"),
            };
            assert_eq!((call.service, call.method), ("Agent", "chat"));
            assert_eq!(call.memory_id.unwrap().as_str(), "ann");
            recorded.lock().unwrap().push(description);
        })
        .build()
        .unwrap();
    (agent, events)
}

#[tokio::test]
async fn events_follow_the_turn() {
    let model = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([ToolCall::new("1", "hello", "{}")]),
        ScriptedAnswer::text("done"),
    ]);
    let (agent, events) = agent(model);
    agent.chat("ann", "go").await.unwrap();
    assert_eq!(
        *events.lock().unwrap(),
        [
            "started",
            "prompt go",
            "loaded 0",
            "request 1",
            "response",
            "running hello",
            "ran hello",
            "request 3",
            "response",
            "stored 4",
            "completed",
        ]
    );
}

#[tokio::test]
async fn failure_and_repair_are_reported() {
    let model = ScriptedChatModel::new([ScriptedAnswer::error(ErrorKind::Unavailable, "down")]);
    let (agent, events) = agent(model);
    agent.chat_memory("ann").unwrap().add(ChatMessage::ai("orphan")).await.unwrap();
    agent.chat("ann", "go").await.unwrap_err();
    assert_eq!(
        *events.lock().unwrap(),
        [
            "started",
            "prompt go",
            "loaded 1",
            "repaired 1 0",
            "request 1",
            "no response Unavailable",
            "failed Unavailable",
        ]
    );
}

#[tokio::test]
async fn repair_that_only_reorders_is_reported() {
    let model = ScriptedChatModel::replies(["done"]);
    let (agent, events) = agent(model.clone());
    let calls = ["1", "2"].map(|id| ToolCall::new(id, "hello", "{}"));
    let result = |id| ChatMessage::from(ToolResult::new(id, "hello", "hello"));
    let calls = ChatMessage::from(AiMessage::builder().tool_calls(calls).build());
    let (asked, answered) = (ChatMessage::user("Hi!"), ChatMessage::ai("hello"));
    let memory = agent.chat_memory("ann").unwrap();
    for message in [&asked, &calls, &result("2"), &result("1"), &answered] {
        memory.add(message.clone()).await.unwrap();
    }
    agent.chat("ann", "go").await.unwrap();
    let sent = [asked, calls, result("1"), result("2"), answered, ChatMessage::user("go")];
    assert_eq!(model.messages_of(0), sent);
    let expected = [
        "started",
        "prompt go",
        "loaded 5",
        "repaired 0 0 reordered",
        "request 6",
        "response",
        "stored 2",
        "completed",
    ];
    assert_eq!(*events.lock().unwrap(), expected);
}

#[tokio::test]
async fn dropped_call_is_reported_as_cancelled() {
    let model =
        ScriptedChatModel::new([ScriptedAnswer::text("never").after(Duration::from_secs(60))]);
    let (agent, events) = agent(model);
    assert!(agent.chat("ann", "go").now_or_never().is_none());
    assert_eq!(
        *events.lock().unwrap(),
        ["started", "prompt go", "loaded 0", "request 1", "cancelled"]
    );
}
