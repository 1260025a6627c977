//! A process that is paused while another one goes on with its conversation.

use super::process::{NEVER, Process, World};
use ai_services::memory::{Change, ChatMemoryStore, RequestId};
use ai_services::message::ChatMessage;
use ai_services::{DurableTurns, ErrorKind, InvocationContext};
use ai_services_tests::durable::outside::{Happened, Outside};
use ai_services_tests::durable::till::Till;
use std::pin::pin;

fn request(id: &str) -> InvocationContext {
    InvocationContext::new().with(RequestId::new(id).unwrap())
}

/// Pauses a process before its first append, repeats its request in another process, and lets it go on.
async fn repeat_paused_request(world: &World) -> Process {
    let paused = world.start_until("before an append", DurableTurns::new());
    let mut call = pin!(paused.till.handle_as("ann", "order-1", request("request-1")));
    assert!(paused.run(call.as_mut()).await.is_none());
    let other = world.start(NEVER);
    other.till.handle_as("ann", "order-1", request("request-1")).await.unwrap();
    paused.go_on();
    // The paused process finds the answer of the other one.
    assert_eq!(call.await.unwrap().value, "done order-1");
    other
}

#[tokio::test]
async fn request_of_a_paused_process_runs_its_tools_once() {
    let world = World::default();
    repeat_paused_request(&world).await;
    let lines = world.outside.lines("order-1").await;
    assert_eq!(lines.iter().filter(|line| line.event == Happened::Mailed).count(), 1, "{lines:?}");
}

#[tokio::test]
async fn request_whose_answer_was_evicted_runs_its_tools_once() {
    let world = World::default();
    let paused = world.start_until("before an append", DurableTurns::new());
    let mut call = pin!(paused.till.handle_as("ann", "order-1", request("request-1")));
    assert!(paused.run(call.as_mut()).await.is_none());
    let other = world.start(NEVER);
    other.till.handle_as("ann", "order-1", request("request-1")).await.unwrap();
    for later in 2..20 {
        other.till.handle("ann", &format!("order-{later}")).await.unwrap();
    }
    paused.go_on();
    let error = call.await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Conflict, false));
    let lines = world.outside.lines("order-1").await;
    assert_eq!(lines.iter().filter(|line| line.event == Happened::Mailed).count(), 1, "{lines:?}");
    assert_eq!(world.store.load(&"ann".into()).await.unwrap().journal(), None);
}

#[tokio::test]
async fn late_repetition_of_a_request_is_refused_before_the_model_is_asked() {
    let world = World::default();
    let process = world.start(NEVER);
    process.till.handle_as("ann", "order-1", request("request-1")).await.unwrap();
    for later in 2..20 {
        process.till.handle("ann", &format!("order-{later}")).await.unwrap();
    }
    let asked = world.outside.lines("order-1").await.len();
    let error = process.till.handle_as("ann", "order-1", request("request-1")).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Conflict, false));
    assert_eq!(world.outside.lines("order-1").await.len(), asked);
}

#[tokio::test]
async fn turn_whose_request_was_answered_elsewhere_leaves_no_journal() {
    let world = World::default();
    let other = repeat_paused_request(&world).await;
    let _ = other.till.resume("ann").await;
    assert_eq!(world.store.load(&"ann".into()).await.unwrap().journal(), None);
    other.till.handle("ann", "order-2").await.unwrap();
}

#[tokio::test]
async fn turn_whose_commit_is_refused_leaves_no_journal() {
    let world = World::default();
    let paused = world.start_until("before the commit", DurableTurns::new());
    let mut call = pin!(paused.till.handle_as("ann", "order-1", request("request-1")));
    assert!(paused.run(call.as_mut()).await.is_none());
    // Another program answers the request without tools.
    let turn = vec![ChatMessage::user("order-1"), ChatMessage::ai("no")];
    let change = Change::advance(None, 0..0, turn);
    let change = change.with_request(RequestId::new("request-1").unwrap());
    world.store.commit(&"ann".into(), change).await.unwrap();
    paused.go_on();
    let error = call.await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Conflict, false));
    assert_eq!(world.store.load(&"ann".into()).await.unwrap().journal(), None);
    world.start(NEVER).till.handle("ann", "order-2").await.unwrap();
}

#[tokio::test]
async fn resumption_that_was_paused_leaves_the_next_turn_alone() {
    let world = World::default();
    let first = world.start_until("after mail", DurableTurns::new());
    let call = first.till.handle_as("ann", "order-1", request("request-1"));
    assert!(first.run(call).await.is_none());
    // The process has loaded the conversation, and is about to read the journal.
    let paused = world.start_until("after an open turn was found", DurableTurns::new());
    let mut resumption = pin!(paused.till.resume("ann"));
    assert!(paused.run(resumption.as_mut()).await.is_none());
    world.start(NEVER).till.resume("ann").await.unwrap().unwrap();
    let next = world.start_until("after mail", DurableTurns::new());
    let call = next.till.handle_as("ann", "order-2", request("request-2"));
    assert!(next.run(call).await.is_none());
    paused.go_on();
    let error = resumption.await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Conflict, false));
    let resumed = world.start(NEVER).till.resume("ann").await.unwrap().unwrap();
    assert_eq!(resumed.response.value.text(), Some("done order-2"));
}
