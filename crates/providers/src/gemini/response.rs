//! Answers, whole and streamed. Both consist of the same documents.

use super::answer_parts::AnswerParts;
use super::calls::Ids;
use super::wire::{Candidate, Document, Feedback, finish_reason};
use crate::http::{Answer, Framing};
use crate::protocol::in_place::read_slice;
use crate::protocol::stream::{Assembly, EventError, Progress, too_many_calls};
use crate::protocol::tolerant::Text;
use ai_services_core::model::{
    ChatResponse, FinishReason, ModelStreamEvent, PartialAnswer, TokenUsage,
};
use ai_services_core::{Error, ErrorKind, Result};
use serde_json::value::RawValue;
use std::mem::take;

/// The last data of some gateways. Google's streams end without it.
const DONE: &str = "[DONE]";

/// The answer received so far.
#[derive(Debug)]
pub(super) struct GeminiAssembly {
    id: Option<Box<str>>,
    model: Option<Box<str>>,
    parts: AnswerParts,
    usage: TokenUsage,
    finish_reason: Option<FinishReason>,
    /// `true` once a candidate arrived, even an empty one.
    has_begun: bool,
}

impl GeminiAssembly {
    /// Creates the assembly of an answer whose calls get ids from `ids` if they have none.
    pub(super) fn with_ids(ids: Ids) -> Self {
        Self {
            id: None,
            model: None,
            parts: AnswerParts::new(ids),
            usage: TokenUsage::default(),
            finish_reason: None,
            has_begun: false,
        }
    }

    /// Adds a document, or a list of documents: the form of a stream without `alt=sse`.
    fn add_json(
        &mut self,
        json: &[u8],
        emit: &mut dyn FnMut(ModelStreamEvent),
    ) -> Result<(), EventError> {
        if !json.trim_ascii_start().starts_with(b"[") {
            return self.add_document(json, emit);
        }
        let list: Vec<&RawValue> = serde_json::from_slice(json).map_err(EventError::Unreadable)?;
        for document in list {
            self.add_document(document.get().as_bytes(), emit)?;
        }
        Ok(())
    }

    fn add_document(
        &mut self,
        json: &[u8],
        emit: &mut dyn FnMut(ModelStreamEvent),
    ) -> Result<(), EventError> {
        let mut document = Document::default();
        read_slice(json, &mut document).map_err(EventError::Unreadable)?;
        if document.error.is_some() {
            return Err(EventError::Reported);
        }
        keep_first(&mut self.id, &mut document.response_id);
        keep_first(&mut self.model, &mut document.model_version);
        let usage = document.usage_metadata.as_ref().map(TokenUsage::from);
        if let Some(usage) = usage.filter(|usage| !usage.is_empty()) {
            self.usage = usage;
        }
        match &mut document.candidates.0 {
            Some(candidate) if candidate.is_first() => self.add_candidate(candidate, emit),
            Some(_) => Ok(()),
            None => match document.prompt_feedback.and_then(|feedback| blocked(feedback)) {
                Some(error) => Err(EventError::Failed(error)),
                None => Ok(()),
            },
        }
    }

    fn add_candidate(
        &mut self,
        candidate: &mut Candidate<'_>,
        emit: &mut dyn FnMut(ModelStreamEvent),
    ) -> Result<(), EventError> {
        self.has_begun = true;
        // A part may be `null`.
        for part in candidate.content.iter().flat_map(|content| content.parts.iter()).flatten() {
            self.parts.add(part, emit)?;
        }
        let reason = take(&mut candidate.finish_reason);
        if let Some(reason) = finish_reason(reason, self.parts.has_calls()) {
            self.finish_reason = Some(reason);
        }
        Ok(())
    }
}

impl Assembly for GeminiAssembly {
    const FRAMING: Framing = Framing::Events;

    fn new() -> Self {
        Self::with_ids(Ids::random())
    }

    fn add(
        &mut self,
        data: &str,
        emit: &mut dyn FnMut(ModelStreamEvent),
    ) -> Result<Progress, EventError> {
        match data.trim_ascii() {
            "" => Ok(Progress::More),
            DONE => Ok(Progress::Done),
            data => self.add_json(data.as_bytes(), emit).map(|()| Progress::More),
        }
    }

    fn is_complete(&self) -> bool {
        self.finish_reason.is_some()
    }

    fn ends_with_body(&self) -> bool {
        true
    }

    fn usage(&self) -> TokenUsage {
        self.usage
    }

    fn into_response(self, attempts: u32) -> ChatResponse {
        ChatResponse {
            usage: self.usage,
            finish_reason: self.finish_reason,
            model: self.model,
            id: self.id,
            attempts: Some(attempts),
            ..ChatResponse::new(self.parts.into_message())
        }
    }

    fn into_partial(self) -> PartialAnswer {
        self.parts.into_partial()
    }

    fn read_whole(answer: &Answer) -> Result<ChatResponse> {
        read(answer)
    }
}

/// Reads a whole answer.
///
/// # Errors
///
/// The error that the answer reports; [`ErrorKind::Refused`] if the content filter blocked the
/// request; [`ErrorKind::InvalidResponse`] for anything else that is not an answer.
pub(super) fn read(answer: &Answer) -> Result<ChatResponse> {
    let mut assembly = GeminiAssembly::new();
    let annotate = |error: Error, usage| answer.annotate(error.with_usage(usage));
    match assembly.add_json(&answer.body, &mut |_| {}) {
        Ok(()) if assembly.has_begun => Ok(assembly.into_response(answer.attempts)),
        Ok(()) => {
            let error = Error::new(ErrorKind::InvalidResponse, "the answer has no candidates");
            Err(annotate(error, assembly.usage))
        }
        Err(EventError::Reported) => Err(answer.reported()),
        Err(EventError::Unreadable(error)) => Err(answer.unreadable(error)),
        Err(EventError::Failed(error)) => Err(annotate(error, assembly.usage)),
        Err(EventError::TooManyCalls) => Err(annotate(too_many_calls(), assembly.usage)),
    }
}

/// Returns the error of a request that the content filter blocked.
fn blocked(feedback: Feedback<'_>) -> Option<Error> {
    let reason = feedback.block_reason.into_some()?;
    let mut message = format!("the provider's filter refused the request: {}", short(&reason));
    if let Some(why) = feedback.block_reason_message.into_some() {
        message.push_str(": ");
        message.push_str(&short(&why));
    }
    Some(Error::new(ErrorKind::Refused, message).with_code(short(&reason)))
}

/// Shortens a text for an error message of one line.
fn short(text: &str) -> String {
    text.chars().take(500).filter(|character| !character.is_control()).collect()
}

/// Keeps the first value that is not empty. Every document repeats it.
fn keep_first(kept: &mut Option<Box<str>>, text: &mut Text<'_>) {
    if kept.is_none() {
        *kept = take(text).into_some().map(Into::into);
    }
}
