//! Tolerant reading of whole answers.

use super::wire::{Message, finish_reason, usage};
use crate::http::Answer;
use crate::protocol::tolerant::{Text, first};
use ai_services_core::model::{ChatResponse, TokenUsage};
use ai_services_core::{Error, ErrorKind, Result};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Completion<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(borrow, default, deserialize_with = "first")]
    choices: Option<Choice<'a>>,
    #[serde(default, deserialize_with = "usage")]
    usage: Option<TokenUsage>,
    /// Gateways report errors with status 200.
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    message: Option<Message<'a>>,
    #[serde(borrow, default)]
    finish_reason: Text<'a>,
}

/// Reads an answer.
///
/// # Errors
///
/// The error that the answer reports, and [`ErrorKind::InvalidResponse`] for anything else that is
/// not a completion.
pub(super) fn read(answer: &Answer) -> Result<ChatResponse> {
    let completion: Completion<'_> =
        serde_json::from_slice(&answer.body).map_err(|error| answer.unreadable(error))?;
    if completion.error.is_some() {
        return Err(answer.reported());
    }
    let usage = completion.usage.unwrap_or_default();
    let invalid = |message| {
        let error = Error::new(ErrorKind::InvalidResponse, message);
        answer.annotate(error.with_usage(usage))
    };
    let first = completion.choices.ok_or_else(|| invalid("the answer has no choices"))?;
    let message = first.message.ok_or_else(|| invalid("the answer has no message"))?;
    Ok(ChatResponse {
        usage,
        finish_reason: finish_reason(first.finish_reason),
        model: completion.model.into_owned(),
        id: completion.id.into_owned(),
        attempts: Some(answer.attempts),
        ..ChatResponse::new(message)
    })
}
