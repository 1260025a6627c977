//! Judging the user's message beside the first call of the model, and the answer before anybody is told.

use crate::error::{Error, ErrorKind, Result};
use crate::message::UserMessage;
use crate::model::{Moderation, ModerationModel};
use futures_util::future::{self, BoxFuture, Either, FutureExt};
use std::future::Future;

/// A verdict that is there, or on its way.
pub(super) enum Verdict<'a> {
    Pending(BoxFuture<'a, Result<()>>),
    Passed,
}

impl<'a> Verdict<'a> {
    /// Asks for a verdict, if there is somebody to ask. Nothing happens before the first await.
    pub(super) fn ask(model: Option<&'a dyn ModerationModel>, message: &'a UserMessage) -> Self {
        match model {
            Some(model) => Self::Pending(judge(model, message).boxed()),
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
pub(super) async fn judge_answer(model: &dyn ModerationModel, answer: &str) -> Result<()> {
    let verdict = model.moderate(answer).await?;
    if verdict.is_flagged() { Err(flagged("answer", verdict)) } else { Ok(()) }
}

async fn judge(model: &dyn ModerationModel, message: &UserMessage) -> Result<()> {
    let verdict = model.moderate_message(message).await?;
    if verdict.is_flagged() { Err(flagged("user message", verdict)) } else { Ok(()) }
}

fn flagged(what: &str, verdict: Moderation) -> Error {
    Error::new(ErrorKind::Moderation, format!("the {what} violates the content policy: {verdict}"))
        .with_source(verdict)
}
