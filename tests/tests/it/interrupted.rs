//! Guardrails that run again, that panic, and that are cancelled.

use super::journal::{Desk, Journal, calling, opinionated, remembered, turn};
use ai_services::async_trait;
use ai_services::guardrail::{
    InputGuardrail, InputGuardrailRequest, InputVerdict, OutputGuardrail, OutputGuardrailRequest,
    OutputVerdict,
};
use ai_services::message::ChatMessage;
use ai_services::testing::ScriptedAnswer;
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;

#[tokio::test]
async fn reprompting_does_not_run_tools_again() {
    let journal = Journal::default();
    let text = ScriptedAnswer::text;
    let model = journal.model([calling("act"), text("again"), text("ask"), text("good")]);
    let desk = opinionated(&journal, &model);
    assert_eq!(desk.ask("ann", "?").await.unwrap().value, "good");
    let acted = journal.entries().iter().filter(|entry| *entry == "acted").count();
    assert_eq!(acted, 1);
    assert_eq!(model.messages_of(2), model.messages_of(1), "the results are still there");
    assert_eq!(model.messages_of(3).len(), model.messages_of(1).len() + 2);
    let kept = remembered(&desk, "ann").await;
    assert_eq!(kept[..3], model.messages_of(1)[1..]);
    assert_eq!(kept[3..], [ChatMessage::ai("good")]);
}

/// Panics, or never answers.
#[derive(Clone, Copy)]
enum Odd {
    Panics,
    Hangs,
}

impl Odd {
    async fn think(self, text: &str) {
        match self {
            Self::Panics if text.contains("odd") => panic!("odd"),
            Self::Hangs if text.contains("odd") => std::future::pending().await,
            _ => {}
        }
    }
}

#[async_trait]
impl InputGuardrail for Odd {
    async fn check(&self, request: InputGuardrailRequest<'_>) -> ai_services::Result<InputVerdict> {
        self.think(&request.text()).await;
        Ok(InputVerdict::Success)
    }

    fn name(&self) -> &str {
        "odd"
    }
}

#[async_trait]
impl OutputGuardrail for Odd {
    async fn check(
        &self,
        request: OutputGuardrailRequest<'_>,
    ) -> ai_services::Result<OutputVerdict> {
        self.think(request.text()).await;
        Ok(OutputVerdict::Success)
    }

    fn name(&self) -> &str {
        "odd"
    }
}

#[tokio::test]
async fn conversation_continues_after_a_hanging_or_panicking_guardrail() {
    for odd in [Odd::Panics, Odd::Hangs] {
        for (question, answers) in [("odd", ["good"].as_slice()), ("?", &["odd", "good"])] {
            let journal = Journal::default();
            let model = journal.model(answers.iter().map(|text| ScriptedAnswer::text(*text)));
            let desk =
                journal.desk(&model).input_guardrail(odd).output_guardrail(odd).build().unwrap();
            // A hanging call is dropped; a panicking call unwinds.
            let first = AssertUnwindSafe(desk.ask("ann", question)).catch_unwind().now_or_never();
            assert!(first.is_none_or(|outcome| outcome.is_err()));
            assert!(remembered(&desk, "ann").await.is_empty());
            assert_eq!(desk.ask("ann", "hi").await.unwrap().value, "good");
            assert_eq!(remembered(&desk, "ann").await, turn("hi", "good"));
        }
    }
}
