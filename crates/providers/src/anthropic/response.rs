//! Tolerant reading of whole answers.

use super::content::{AnswerBlock, BlockContent, message};
use super::wire::{Stop, StopDetails, Usage};
use crate::http::Answer;
use crate::protocol::in_place::{object, read_slice};
use crate::protocol::raw_object::RawObject;
use crate::protocol::tolerant::Text;
use ai_services_core::model::ChatResponse;
use ai_services_core::{Error, ErrorKind, Result};
use serde_json::value::RawValue;

object! {
    struct Message<'a> {
        id: Text<'a> = "id",
        model: Text<'a> = "model",
        content: Option<&'a RawValue> = "content",
        stop_reason: Text<'a> = "stop_reason",
        stop_details: Option<StopDetails<'a>> = "stop_details",
        usage: Option<Usage> = "usage",
        /// Gateways report errors with status 200.
        error: Option<&'a RawValue> = "error",
    }
}

/// Reads an answer.
///
/// # Errors
///
/// The error that the answer reports, and [`ErrorKind::InvalidResponse`] for anything else that is
/// not a message.
pub(super) fn read(answer: &Answer) -> Result<ChatResponse> {
    let unreadable = |error| answer.unreadable(error);
    let mut whole = Message::default();
    read_slice(&answer.body, &mut whole).map_err(unreadable)?;
    if whole.error.is_some() {
        return Err(answer.reported());
    }
    let usage = whole.usage.unwrap_or_default().into();
    let Some(content) = whole.content else {
        let error = Error::new(ErrorKind::InvalidResponse, "the answer has no content");
        return Err(answer.annotate(error.with_usage(usage)));
    };
    let (finish_reason, refusal) =
        Stop { reason: whole.stop_reason, details: whole.stop_details }.read();
    let is_list = content.get().starts_with('[');
    let blocks: Vec<&RawValue> =
        if is_list { serde_json::from_str(content.get()).map_err(unreadable)? } else { Vec::new() };
    let mut parts = Vec::with_capacity(blocks.len());
    for block in &blocks {
        parts.push(AnswerBlock::of(&RawObject::of(block).map_err(unreadable)?));
    }
    // Some servers send a single string instead of a list.
    if let Ok(Some(text)) = serde_json::from_str::<Option<String>>(content.get()) {
        parts.push(AnswerBlock { content: BlockContent::Text(text), is_plain: true });
    }
    let json = |at: usize| blocks.get(at).map_or_else(String::new, |raw| raw.get().to_owned());
    Ok(ChatResponse {
        usage,
        finish_reason,
        model: whole.model.into_owned(),
        id: whole.id.into_owned(),
        attempts: Some(answer.attempts),
        ..ChatResponse::new(message(parts, json, refusal))
    })
}
