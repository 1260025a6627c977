//! Calls that find an open turn: policies, limits, changed programs.

use super::process::{NEVER, World};
use ai_services::event::Event;
use ai_services::memory::{
    Change, ChatMemory, ChatMemoryStore, InMemoryChatMemoryStore, MemoryId,
    MessageWindowChatMemory, RequestId,
};
use ai_services::message::ChatMessage;
use ai_services::testing::ScriptedChatModel;
use ai_services::{
    DurableTurns, ErrorKind, InvocationContext, OnOpenTurn, Result, UnfinishedTurn, ai_service,
    async_trait,
};
use ai_services_tests::durable::outside::{Happened, Outside};
use ai_services_tests::durable::till::Till;
use std::sync::{Arc, Mutex};

/// The point after the first tool without a class took effect, before its result is stored.
const AFTER_MAIL: &str = "after mail";

/// A world in which a process ended after the effect of `mail`.
async fn interrupted() -> World {
    let world = World::default();
    let process = world.start_until(AFTER_MAIL, DurableTurns::new());
    assert!(process.run(process.till.handle("ann", "order-1")).await.is_none());
    world
}

async fn texts(world: &World) -> Vec<String> {
    let messages = world.store.get_messages(&"ann".into()).await.unwrap();
    messages.iter().map(|message| message.text().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn unknown_outcome_is_reported_to_model_and_caller() {
    let world = interrupted().await;
    let process = world.start(NEVER);
    let turn = process.till.resume("ann").await.unwrap().unwrap();
    assert_eq!((turn.method.as_str(), turn.memory_id.as_str()), ("handle", "ann"));
    assert_eq!(turn.response.value.text(), Some("done order-1"));
    let unknown: Vec<&str> = turn
        .response
        .tool_executions
        .iter()
        .filter(|execution| execution.has_unknown_outcome())
        .map(|execution| execution.call().name())
        .collect();
    assert_eq!(unknown, ["mail"]);
    let told =
        texts(&world).await.iter().filter(|text| text.starts_with("outcome unknown")).count();
    assert_eq!(told, 1);
    assert_eq!(process.till.resume("ann").await.unwrap().map(|turn| turn.turn), None);
}

#[tokio::test]
async fn usage_of_recorded_answers_counts() {
    let world = interrupted().await;
    let turn = world.start(NEVER).till.resume("ann").await.unwrap().unwrap();
    assert_eq!(turn.response.token_usage.input, Some(4 * 10));
    assert_eq!(turn.response.intermediate_responses.len(), 3);
}

#[tokio::test]
async fn call_is_rejected_while_a_turn_is_open() {
    let world = interrupted().await;
    let settings = DurableTurns::new().on_open_turn(OnOpenTurn::Reject);
    let process = world.start_with(NEVER, settings);
    let error = process.till.handle("ann", "order-2").await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Busy, false));
    assert!(texts(&world).await.is_empty());
    process.till.handle("bob", "order-2").await.unwrap();
}

#[tokio::test]
async fn cancelled_turn_leaves_no_trace_in_the_conversation() {
    let by_call = interrupted().await;
    let settings = DurableTurns::new().on_open_turn(OnOpenTurn::Cancel);
    by_call.start_with(NEVER, settings).till.handle("ann", "order-2").await.unwrap();
    let by_method = interrupted().await;
    let process = by_method.start(NEVER);
    assert!(process.till.cancel_open_turn("ann").await.unwrap());
    assert!(!process.till.cancel_open_turn("ann").await.unwrap());
    process.till.handle("ann", "order-2").await.unwrap();
    for world in [by_call, by_method] {
        assert!(!texts(&world).await.contains(&"order-1".to_owned()));
        assert_eq!(world.store.load(&"ann".into()).await.unwrap().journal(), None);
    }
}

#[tokio::test]
async fn repeated_request_gets_the_answer_of_its_open_turn() {
    let world = World::default();
    let process = world.start_until(AFTER_MAIL, DurableTurns::new());
    let request = || InvocationContext::new().with(RequestId::new("request-1").unwrap());
    assert!(process.run(process.till.handle_as("ann", "order-1", request())).await.is_none());
    let answer = world.start(NEVER).till.handle_as("ann", "order-1", request()).await.unwrap();
    assert_eq!(answer.value, "done order-1");
    assert_eq!(texts(&world).await.iter().filter(|text| *text == "order-1").count(), 1);
    let lines = world.outside.lines("order-1").await;
    assert_eq!(lines.iter().filter(|line| line.event == Happened::Mailed).count(), 1);
}

#[tokio::test]
async fn open_turn_keeps_its_own_request() {
    let world = World::default();
    let process = world.start_until(AFTER_MAIL, DurableTurns::new());
    let request = |id: &str| InvocationContext::new().with(RequestId::new(id).unwrap());
    let first = process.till.handle_as("ann", "order-1", request("request-1"));
    assert!(process.run(first).await.is_none());
    let process = world.start(NEVER);
    process.till.handle_as("ann", "order-2", request("request-2")).await.unwrap();
    for id in ["request-1", "request-2"] {
        let state = world.store.commit_state(&"ann".into(), &RequestId::new(id).unwrap()).await;
        assert_eq!(state.unwrap(), ai_services::memory::CommitState::Committed, "{id}");
    }
}

#[tokio::test]
async fn turn_that_ends_every_process_is_resumed_a_limited_number_of_times() {
    let world = interrupted().await;
    let settings = DurableTurns::new().max_resumes(3);
    for _ in 0..3 {
        let process = world.start_until("before an answer", settings);
        assert!(process.run(process.till.resume("ann")).await.is_none());
    }
    let process = world.start_with(NEVER, settings);
    let errors = [
        process.till.resume("ann").await.map(drop).unwrap_err(),
        process.till.handle("ann", "order-2").await.map(drop).unwrap_err(),
    ];
    for error in errors {
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Busy, false));
        assert!(error.to_string().contains("resumed 3 times"), "{error}");
    }
    assert!(process.till.cancel_open_turn("ann").await.unwrap());
    process.till.handle("ann", "order-2").await.unwrap();
}

#[tokio::test]
async fn change_of_the_conversation_replays_the_turn_from_its_journal() {
    let world = World::default();
    let process = world.start_until("before the commit", DurableTurns::new());
    assert!(process.run(process.till.handle("ann", "order-1")).await.is_none());
    // Another writer adds messages while the turn is open.
    let other = vec![ChatMessage::user("Hi."), ChatMessage::ai("Hello.")];
    world.store.commit(&"ann".into(), Change::advance(None, 0..0, other)).await.unwrap();
    world.start(NEVER).till.resume("ann").await.unwrap().unwrap();
    let texts = texts(&world).await;
    assert_eq!((texts.first().unwrap().as_str(), texts.len()), ("Hi.", 2 + 11));
}

#[tokio::test]
async fn recover_resumes_the_open_turns_of_the_service() {
    let world = World::default();
    for customer in ["ann", "bob", "cleo"] {
        let process = world.start_until(AFTER_MAIL, DurableTurns::new());
        assert!(process.run(process.till.handle(customer, "order-1")).await.is_none());
    }
    let process = world.start(NEVER);
    let recovery = process.till.recover(&world.store, 2).await.unwrap();
    assert_eq!((recovery.resumed.len(), recovery.failed.len(), recovery.busy), (2, 0, 0));
    let recovery = process.till.recover(&world.store, 2).await.unwrap();
    assert_eq!(recovery.resumed.len(), 1);
    assert!(process.till.recover(&world.store, 2).await.unwrap().resumed.is_empty());
}

#[ai_service]
trait Other {
    async fn chat(&self, #[memory_id] user: &str, #[user_message] text: &str) -> Result<String>;
}

fn other(
    memory: impl Fn(&MemoryId) -> Result<Arc<dyn ChatMemory>> + Send + Sync + 'static,
) -> OtherService {
    OtherService::builder()
        .chat_model(ScriptedChatModel::replies(["Hello."]))
        .tools(ai_services_tests::durable::till::tools(
            &(Arc::new(ai_services_tests::durable::outside::InMemoryOutside::default())
                as Arc<dyn Outside>),
        ))
        .chat_memory_provider(memory)
        .durable_turns(DurableTurns::new())
        .build()
        .unwrap()
}

#[tokio::test]
async fn turn_of_another_service_is_left_alone() {
    let world = interrupted().await;
    let store = world.store.clone();
    let other = other(move |id| {
        let window = MessageWindowChatMemory::builder().id(id).max_messages(100);
        Ok(Arc::new(window.store(store.clone()).build()?))
    });
    let recovery = other.recover(&world.store, 10).await.unwrap();
    assert_eq!((recovery.resumed.len(), recovery.failed.len()), (0, 0));
    let error = other.resume("ann").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("method `handle` of `Till`"), "{error}");
    assert!(world.start(NEVER).till.resume("ann").await.unwrap().is_some());
}

/// A store without journals.
struct Plain(InMemoryChatMemoryStore);

#[async_trait]
impl ChatMemoryStore for Plain {
    async fn get_messages(&self, id: &MemoryId) -> Result<Vec<ChatMessage>> {
        self.0.get_messages(id).await
    }

    async fn update_messages(&self, id: &MemoryId, messages: &[ChatMessage]) -> Result<()> {
        self.0.update_messages(id, messages).await
    }

    async fn delete_messages(&self, id: &MemoryId) -> Result<()> {
        self.0.delete_messages(id).await
    }
}

#[tokio::test]
async fn store_without_journals_is_an_error_that_names_the_method() {
    let store = Arc::new(Plain(InMemoryChatMemoryStore::new()));
    let other = other(move |id| {
        let window = MessageWindowChatMemory::builder().id(id).max_messages(100);
        Ok(Arc::new(window.store(Arc::clone(&store)).build()?))
    });
    let error = other.chat("ann", "Hi.").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("a call of `chat` cannot be durable"), "{error}");
}

#[tokio::test]
async fn events_report_the_resumed_turn() {
    let world = interrupted().await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let process = world.start_listening(NEVER, {
        let seen = Arc::clone(&seen);
        move |call, event| {
            let name = match event {
                Event::Started => "started",
                Event::TurnResumed { .. } => "resumed",
                Event::ToolFinished { execution } if execution.has_unknown_outcome() => "unknown",
                Event::Completed { .. } => "completed",
                _ => return,
            };
            seen.lock().unwrap().push(format!("{} {name}", call.method));
        }
    });
    process.till.resume("ann").await.unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(*seen, ["handle started", "handle resumed", "handle unknown", "handle completed"]);
}

#[tokio::test]
async fn failed_turn_keeps_its_journal_only_if_it_may_succeed_later() {
    for (kind, is_kept) in [(ErrorKind::Unavailable, true), (ErrorKind::Refused, false)] {
        let world = World::default();
        let process = world.start_failing("4", kind);
        let error = process.till.handle("ann", "order-1").await.unwrap_err();
        assert_eq!(error.detail::<UnfinishedTurn>().unwrap().tool_executions.len(), 6);
        let resumed = world.start(NEVER).till.resume("ann").await.unwrap();
        assert_eq!(resumed.is_some(), is_kept, "{kind:?}");
        assert_eq!(texts(&world).await.is_empty(), !is_kept);
    }
}
