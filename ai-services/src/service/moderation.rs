//! Judging the user's message beside the first call of the model, and the answer before anybody is told.

use super::invocation::Invocation;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Event;
use crate::guardrail::GuardrailStage;
use crate::message::UserMessage;
use crate::model::{Moderation, ModerationModel};
use futures_util::future::{self, BoxFuture, Either, FutureExt};
use std::future::Future;
use std::time::Instant;
use tracing::{Instrument, Span, field};

/// A verdict that is there, or on its way.
pub(super) enum Verdict<'a> {
    Pending(BoxFuture<'a, Result<()>>),
    Passed,
}

impl<'a> Verdict<'a> {
    /// Asks for a verdict, if there is somebody to ask. Nothing happens before the first await.
    pub(super) fn ask(invocation: &'a Invocation<'_>, message: &'a UserMessage) -> Self {
        match invocation.moderation_model() {
            Some(model) => Self::Pending(judge_message(invocation, model, message).boxed()),
            None => Self::Passed,
        }
    }

    /// Waits for `work`, and for the verdict beside it. A bad verdict ends the work at once.
    pub(super) async fn beside<T>(
        &mut self,
        work: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        let Self::Pending(verdict) = self else { return work.await };
        let work = std::pin::pin!(work);
        match future::select(verdict, work).await {
            Either::Left((verdict, work)) => {
                verdict?;
                *self = Self::Passed;
                work.await
            }
            Either::Right((result, _)) => result,
        }
    }

    /// Waits for the verdict, before anything has an effect.
    pub(super) async fn verify(&mut self) -> Result<()> {
        if let Self::Pending(verdict) = self {
            verdict.await?;
            *self = Self::Passed;
        }
        Ok(())
    }
}

/// Asks for a verdict on an answer.
pub(super) async fn judge_answer(
    invocation: &Invocation<'_>,
    model: &dyn ModerationModel,
    answer: &str,
) -> Result<()> {
    let judge = Judge { invocation, model, stage: GuardrailStage::Output };
    judge.pass(async { model.moderate(answer).await }).await
}

async fn judge_message(
    invocation: &Invocation<'_>,
    model: &dyn ModerationModel,
    message: &UserMessage,
) -> Result<()> {
    let judge = Judge { invocation, model, stage: GuardrailStage::Input };
    judge.pass(async { model.moderate_message(message).await }).await
}

/// Who judges what.
struct Judge<'a> {
    invocation: &'a Invocation<'a>,
    model: &'a dyn ModerationModel,
    stage: GuardrailStage,
}

impl Judge<'_> {
    /// Waits for a verdict, tells of it, and fails if it is a bad one.
    async fn pass(self, verdict: impl Future<Output = Result<Moderation>>) -> Result<()> {
        let Self { invocation, model, stage } = self;
        let (model, span) = (model.name(), self.span());
        let started = Instant::now();
        let outcome = verdict.instrument(span.clone()).await;
        let verdict = outcome.inspect_err(|error| {
            span.record("error.type", field::debug(error.kind()));
        })?;
        span.record("ai_services.moderation.flagged", verdict.is_flagged());
        let duration = started.elapsed();
        invocation.emit(&Event::Moderated { model, stage, verdict: &verdict, duration });
        match verdict.is_flagged() {
            true => Err(flagged(stage, verdict)),
            false => Ok(()),
        }
    }

    fn span(&self) -> Span {
        let model = self.model.name();
        tracing::info_span!(
            "moderation",
            otel.name = %format_args!("moderation {model}"),
            gen_ai.request.model = model,
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
    let what = match stage {
        GuardrailStage::Input => "user message",
        GuardrailStage::Output => "answer",
    };
    Error::new(ErrorKind::Moderation, format!("the {what} violates the content policy: {verdict}"))
        .with_source(verdict)
}
