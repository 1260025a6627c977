//! Tolerant reading of whole answers.

use super::wire::{Message, Usage, finish_reason};
use crate::http::Answer;
use crate::protocol::in_place::{First, object, read_slice};
use crate::protocol::tolerant::Text;
use ai_services_core::model::{ChatResponse, TokenUsage};
use ai_services_core::{Error, ErrorKind, Result};
use serde_json::value::RawValue;
use std::mem::take;

object! {
    struct Completion<'a> {
        id: Text<'a> = "id",
        model: Text<'a> = "model",
        choices: First<Choice<'a>> = "choices",
        usage: Option<Usage> = "usage",
        /// Gateways report errors with status 200.
        error: Option<&'a RawValue> = "error",
    }

    struct Choice<'a> {
        message: Option<Message<'a>> = "message",
        finish_reason: Text<'a> = "finish_reason",
    }
}

/// Reads an answer.
///
/// # Errors
///
/// The error that the answer reports, and [`ErrorKind::InvalidResponse`] for anything else that is
/// not a completion.
pub(super) fn read(answer: &Answer) -> Result<ChatResponse> {
    let mut completion = Completion::default();
    read_slice(&answer.body, &mut completion).map_err(|error| answer.unreadable(error))?;
    if completion.error.is_some() {
        return Err(answer.reported());
    }
    let usage = completion.usage.as_ref().map(TokenUsage::from).unwrap_or_default();
    let invalid = |message| {
        let error = Error::new(ErrorKind::InvalidResponse, message);
        answer.annotate(error.with_usage(usage))
    };
    let choice = completion.choices.0.as_mut();
    let Choice { message, finish_reason: reason } =
        choice.ok_or_else(|| invalid("the answer has no choices"))?;
    let message = message.as_mut().ok_or_else(|| invalid("the answer has no message"))?;
    Ok(ChatResponse {
        usage,
        finish_reason: finish_reason(take(reason)),
        model: completion.model.into_owned(),
        id: completion.id.into_owned(),
        attempts: Some(answer.attempts),
        ..ChatResponse::new(message)
    })
}
