//! The ids that join the events of one call.

use ai_services::ai_service;
use ai_services::event::{Call, CallId, Event};
use ai_services::message::ToolCall;
use ai_services::model::{ChatRequest, TokenUsage};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use futures_util::future::join_all;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[ai_service]
trait Agent {
    /// Answers a question.
    #[tool]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;
}

/// The events of each call.
type Log = Arc<Mutex<BTreeMap<CallId, Entry>>>;

#[derive(Default)]
struct Entry {
    outer: Option<CallId>,
    events: Vec<String>,
}

fn last_text(request: &ChatRequest) -> String {
    let last = request.messages().last();
    last.and_then(|message| message.text()).unwrap_or_default().to_owned()
}

fn listener(log: &Log) -> impl Fn(&Call<'_>, &Event<'_>) + Send + Sync + 'static {
    let log = Arc::clone(log);
    move |call, event| {
        let text = match event {
            Event::PromptsRendered { user, .. } => user.text().map(str::to_owned),
            Event::RequestIssued { request } => Some(format!("request {}", last_text(request))),
            Event::ResponseReceived { response } => response.message.text().map(str::to_owned),
            Event::Completed { usage, .. } => Some(format!("completed {:?}", usage.total())),
            _ => None,
        };
        let mut log = log.lock().unwrap();
        let entry = log.entry(call.id).or_default();
        entry.outer = call.outer;
        entry.events.extend(text);
    }
}

#[tokio::test(start_paused = true)]
async fn concurrent_calls_of_one_user_are_told_apart() {
    let log = Log::default();
    let model = ScriptedChatModel::from_fn(|number, request| {
        // The answers arrive in another order than the requests.
        let delay = Duration::from_millis((number as u64 * 37) % 64);
        ScriptedAnswer::text(format!("answer to {}", last_text(request))).after(delay)
    });
    let agent = AgentService::builder().chat_model(model).listener(listener(&log)).build().unwrap();
    let questions: Vec<String> = (0..64).map(|number| format!("question {number:02}")).collect();
    join_all(questions.iter().map(|question| agent.chat(question))).await;

    let log = std::mem::take(&mut *log.lock().unwrap());
    let mut groups: Vec<Vec<String>> = log.into_values().map(|entry| entry.events).collect();
    groups.sort();
    let expected: Vec<Vec<String>> = questions
        .iter()
        .map(|question| {
            let request = format!("request {question}");
            let answer = format!("answer to {question}");
            vec![question.clone(), request, answer, "completed None".to_owned()]
        })
        .collect();
    assert_eq!(groups, expected);
}

#[tokio::test]
async fn nested_call_names_its_outer_call() {
    let log = Log::default();
    let inner =
        ScriptedChatModel::new([ScriptedAnswer::text("inner").with_usage(TokenUsage::new(3, 4))]);
    let inner = AgentService::builder().chat_model(inner).listener(listener(&log)).build().unwrap();
    let outer = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([ToolCall::new("1", "chat", r#"{"text":"from outside"}"#)]),
        ScriptedAnswer::text("outer"),
    ]);
    let outer = AgentService::builder().chat_model(outer).tools(inner.into_tools());
    outer.listener(listener(&log)).build().unwrap().chat("go").await.unwrap();

    let log = log.lock().unwrap();
    let of = |text: &str| log.iter().find(|(_, entry)| entry.events[0] == text).unwrap();
    let ((outer, outer_entry), (inner, inner_entry)) = (of("go"), of("from outside"));
    assert_ne!(outer, inner);
    assert_eq!((outer_entry.outer, inner_entry.outer), (None, Some(*outer)));
    assert_eq!(inner_entry.events.last().unwrap(), "completed Some(7)");
}
