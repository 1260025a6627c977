//! Moderation of the user message, concurrent with the first model call, and of the answer.

use super::call::ServiceCall;
use crate::event::Event;
use crate::guardrail::GuardrailStage;
use crate::message::UserMessage;
use crate::model::{Moderation, ModerationModel};
use crate::{Error, ErrorKind, Result};
use ai_services_core::trace::StepSpan;
use futures_util::future::{self, BoxFuture, Either, FutureExt};
use std::future::Future;
use std::pin::Pin;
use std::time::Instant;
use tracing::{Span, field};

/// The moderation of the user message, running or passed.
pub(super) enum PendingModeration<'a> {
    Running(BoxFuture<'a, Result<()>>),
    Passed,
}

impl<'a> PendingModeration<'a> {
    /// Prepares the moderation of `message`, if the method asks for one. Nothing is sent before the
    /// first poll.
    pub(super) fn new(call: &'a ServiceCall, message: &'a UserMessage) -> Self {
        match call.message_moderation() {
            Some(model) => Self::Running(moderate_message(call, model, message).boxed()),
            None => Self::Passed,
        }
    }

    /// Runs `work` and the moderation concurrently, until `work` is done. A flagged message ends the
    /// work immediately.
    pub(super) async fn alongside<T>(
        &mut self,
        work: Pin<&mut (impl Future<Output = Result<T>> + Send)>,
    ) -> Result<T> {
        let Self::Running(moderation) = self else { return work.await };
        match future::select(moderation, work).await {
            Either::Left((outcome, work)) => {
                outcome?;
                *self = Self::Passed;
                work.await
            }
            Either::Right((result, _)) => result,
        }
    }

    /// Waits until the message passed. Must precede everything that has an effect.
    ///
    /// # Errors
    ///
    /// If the message was flagged, or if the moderation model failed.
    pub(super) async fn passed(&mut self) -> Result<()> {
        if let Self::Running(moderation) = self {
            moderation.await?;
            *self = Self::Passed;
        }
        Ok(())
    }
}

async fn moderate_message(
    call: &ServiceCall,
    model: &dyn ModerationModel,
    message: &UserMessage,
) -> Result<()> {
    let moderation = ModerationCall { call, model, stage: GuardrailStage::Input };
    moderation.run(async { model.moderate_message(message).await }).await
}

/// Moderates an answer.
///
/// # Errors
///
/// If the answer was flagged, or if the moderation model failed.
pub(super) async fn moderate_answer(
    call: &ServiceCall,
    model: &dyn ModerationModel,
    answer: &str,
) -> Result<()> {
    let moderation = ModerationCall { call, model, stage: GuardrailStage::Output };
    moderation.run(async { model.moderate(answer).await }).await
}

/// One call of a moderation model.
struct ModerationCall<'a> {
    call: &'a ServiceCall,
    model: &'a dyn ModerationModel,
    stage: GuardrailStage,
}

impl ModerationCall<'_> {
    /// Waits for the result, emits an event, and fails if the content was flagged.
    async fn run(self, moderation: impl Future<Output = Result<Moderation>>) -> Result<()> {
        let Self { call, model, stage } = self;
        let (model, mut step) = (model.name(), StepSpan::new(self.span()));
        let started = Instant::now();
        let outcome = step.run(moderation).await;
        step.end(&outcome);
        let verdict = outcome?;
        step.span().record("ai_services.moderation.flagged", verdict.is_flagged());
        let duration = started.elapsed();
        call.emit_in(step.span(), &Event::Moderated { model, stage, verdict: &verdict, duration });
        if verdict.is_flagged() { Err(flagged(stage, verdict)) } else { Ok(()) }
    }

    fn span(&self) -> Span {
        let model = self.model.name();
        tracing::info_span!(
            "moderation",
            otel.name = %format_args!("moderation {model}"),
            otel.status_code = field::Empty,
            gen_ai.conversation.id = field::Empty,
            // `gen_ai.request.model` would make it a generation for some back-ends.
            ai_services.moderation.model = model,
            ai_services.moderation.stage = match self.stage {
                GuardrailStage::Input => "input",
                GuardrailStage::Output => "output",
            },
            ai_services.moderation.flagged = field::Empty,
            error.r#type = field::Empty,
        )
    }
}

fn flagged(stage: GuardrailStage, verdict: Moderation) -> Error {
    let content = match stage {
        GuardrailStage::Input => "user message",
        GuardrailStage::Output => "answer",
    };
    let message = format!("the {content} violates the content policy: {verdict}");
    Error::new(ErrorKind::Moderation, message).with_source(verdict)
}
