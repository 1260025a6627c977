//! Reading whole answers.

use super::wire::{Outcome, Response};
use crate::http::Answer;
use crate::protocol::in_place::read_slice;
use ai_services_core::model::ChatResponse;
use ai_services_core::{Error, ErrorKind, Result};

/// Reads an answer.
///
/// # Errors
///
/// The error that the answer reports, and [`ErrorKind::InvalidResponse`] for anything else that is
/// not an answer.
pub(super) fn read(answer: &Answer) -> Result<ChatResponse> {
    let mut response = Response::default();
    read_slice(&answer.body, &mut response).map_err(|error| answer.unreadable(error))?;
    let usage = response.usage().unwrap_or_default();
    let wrong = |kind, message| answer.annotate(Error::new(kind, message).with_usage(usage));
    let stopped = match response.outcome() {
        Outcome::Completed => None,
        Outcome::Incomplete(reason) => Some(reason),
        Outcome::Failed if response.error.is_some() => {
            return Err(answer.reported().with_usage(usage));
        }
        Outcome::Failed => return Err(wrong(ErrorKind::Unavailable, FAILED)),
        Outcome::Missing => return Err(wrong(ErrorKind::InvalidResponse, MISSING)),
    };
    let Some(items) = response.take_items() else {
        return Err(wrong(ErrorKind::InvalidResponse, "the answer has no output"));
    };
    let content = items.content();
    let finish_reason = stopped.clone().unwrap_or_else(|| content.finish_reason());
    // Items of a truncated answer are not sent back.
    let kept_items = if stopped.is_none() { items.to_keep() } else { None };
    Ok(ChatResponse {
        usage,
        finish_reason: Some(finish_reason),
        model: response.model.into_owned(),
        id: response.id.into_owned(),
        attempts: Some(answer.attempts),
        ..ChatResponse::new(content.into_message(kept_items))
    })
}

pub(super) const FAILED: &str = "the provider failed to answer";
pub(super) const MISSING: &str = "the answer was cancelled, or is written in the background";
