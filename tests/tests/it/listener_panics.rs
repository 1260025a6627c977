//! Listeners that panic.

use super::journal::{Desk as _, DeskService, Journal, remembered, turn};
use ai_services::ErrorKind;
use ai_services::event::{Call, Event};
use ai_services::guardrail::{InputGuardrail, InputGuardrailRequest, InputVerdict};
use ai_services::testing::ScriptedAnswer;
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

/// A service with a listener that panics at every event, and one that counts them.
fn desk(
    journal: &Journal,
    answers: impl IntoIterator<Item = ScriptedAnswer>,
    guardrail: impl InputGuardrail + 'static,
) -> DeskService {
    let notes = journal.clone();
    journal
        .desk(&journal.model(answers))
        .input_guardrail(guardrail)
        .listener(|_, _| panic!("deliberate"))
        .listener(move |_, event| match event {
            Event::Completed { .. } => notes.note("completed"),
            Event::Failed { error } => notes.note(format!("failed {:?}", error.kind())),
            Event::Cancelled => notes.note("cancelled"),
            _ => {}
        })
        .build()
        .unwrap()
}

struct Passes;

#[ai_services::async_trait]
impl InputGuardrail for Passes {
    async fn check(&self, _: InputGuardrailRequest<'_>) -> ai_services::Result<InputVerdict> {
        Ok(InputVerdict::Success)
    }

    fn name(&self) -> &str {
        "passes"
    }
}

struct Panics;

#[ai_services::async_trait]
impl InputGuardrail for Panics {
    async fn check(&self, _: InputGuardrailRequest<'_>) -> ai_services::Result<InputVerdict> {
        panic!("in the guardrail")
    }

    fn name(&self) -> &str {
        "panics"
    }
}

fn ending(journal: &Journal) -> String {
    journal.entries().pop().unwrap_or_default()
}

#[tokio::test]
async fn call_with_a_panicking_listener_succeeds() {
    let journal = Journal::default();
    let desk = desk(&journal, [ScriptedAnswer::text("hi")], Passes);
    assert_eq!(desk.ask("ann", "hello").await.unwrap().value, "hi");
    assert_eq!(ending(&journal), "completed", "later listeners receive the events");
    assert_eq!(remembered(&desk, "ann").await, turn("hello", "hi"));
}

#[tokio::test]
async fn error_of_a_call_with_a_panicking_listener_is_returned() {
    let journal = Journal::default();
    let desk = desk(&journal, [ScriptedAnswer::error(ErrorKind::Unavailable, "down")], Passes);
    assert_eq!(desk.ask("ann", "hello").await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(ending(&journal), "failed Unavailable");
}

#[tokio::test]
async fn dropped_call_with_a_panicking_listener_is_cancelled() {
    let journal = Journal::default();
    let slow = ScriptedAnswer::text("never").after(Duration::from_secs(60));
    let desk = desk(&journal, [slow, ScriptedAnswer::text("hi")], Passes);
    assert!(desk.ask("ann", "hello").now_or_never().is_none());
    assert_eq!(ending(&journal), "cancelled");
    assert_eq!(desk.ask("ann", "hello").await.unwrap().value, "hi");
}

#[tokio::test]
async fn panicking_listener_does_not_abort_a_call_that_unwinds() {
    let journal = Journal::default();
    let at_the_end = |_: &Call<'_>, event: &Event<'_>| {
        assert!(!matches!(event, Event::Cancelled), "in a destructor, during unwinding");
    };
    let builder = journal.desk(&journal.replies(["hi"])).input_guardrail(Panics);
    let desk = builder.listener(at_the_end).build().unwrap();
    let outcome = AssertUnwindSafe(desk.ask("ann", "hello")).catch_unwind().await;
    assert_eq!(outcome.unwrap_err().downcast_ref(), Some(&"in the guardrail"));
    assert!(remembered(&desk, "ann").await.is_empty());
}
