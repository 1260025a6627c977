//! The entries of a turn's journal: JSON with a type.

use crate::approval::{Decided, Suspension, Waiting};
use crate::document::{Metadata, TextSegment};
use crate::message::{ChatMessage, ToolCall, ToolResult, UserMessage};
use crate::model::{ChatRequestParameters, ChatResponse, FinishReason, TokenUsage};
use crate::rag::RetrievedContent;
use crate::service::spent::{Prices, Spent};
use crate::tool::ToolExecution;
use crate::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The format version of the entries, in the first one.
pub(super) const FORMAT_VERSION: u32 = 1;

/// An entry of a turn's journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Entry {
    /// The turn has called its first tools.
    Began(Box<Began>),
    /// The model has answered with tool calls.
    Answered(Box<Answered>),
    /// A tool may take effect from now on.
    Started(Started),
    /// A tool has a result.
    Finished(Box<Finished>),
    /// The turn waits for decisions about calls of its last answer.
    Waiting(Waiting),
    /// The decisions about the calls of the last waiting entry.
    Decided(Decided),
    /// A tool call waits, or has recorded the state with which it goes on.
    Suspended(Box<Suspended>),
    /// A process has resumed the turn.
    Resumed,
}

/// The start of a turn: everything that cannot be computed again.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::service) struct Began {
    /// The format version of all entries.
    pub(super) v: u32,
    pub(in crate::service) service: String,
    pub(in crate::service) method: String,
    /// The id of the application's request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::service) request: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::service) system: Option<ChatMessage>,
    /// The user message after the input guardrails.
    pub(in crate::service) user: ChatMessage,
    /// The user message with the retrieved content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::service) augmented: Option<ChatMessage>,
    /// The user message with instructions on the form of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::service) instructed: Option<ChatMessage>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sources: Vec<Source>,
    /// The parameters of the call, if they are not those of its method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::service) parameters: Option<ChatRequestParameters>,
}

/// A retrieved content.
#[derive(Debug, Serialize, Deserialize)]
struct Source {
    text: String,
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    metadata: Metadata,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<Box<str>>,
}

/// A response of the model that calls tools.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Answered {
    message: ChatMessage,
    usage: TokenUsage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    finish_reason: Option<FinishReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<Box<str>>,
    /// The amounts that the turn has spent, this answer included. `None` in journals of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) spent: Option<Spent>,
}

/// An attempt at a tool call.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Started {
    /// The number of the round, from 1.
    pub(super) round: u32,
    /// The index of the call in the answer of the model.
    pub(super) index: usize,
    pub(super) attempt: u32,
}

/// A tool call that waits.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Suspended {
    /// The number of the round, from 1.
    pub(super) round: u32,
    /// The index of the call in the answer of the model.
    pub(super) index: usize,
    /// The reason. In journals of earlier versions always `pending`, a turn of another conversation.
    #[serde(flatten)]
    pub(super) suspension: Suspension,
}

/// The result of a tool call.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Finished {
    /// The number of the round, from 1.
    pub(super) round: u32,
    /// The index of the call in the answer of the model.
    pub(super) index: usize,
    result: ChatMessage,
    /// The duration in milliseconds.
    ms: u64,
    /// `true` if the call may or may not have taken effect.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unknown: bool,
    /// The amounts that the turn has spent, if they have grown since the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) spent: Option<Spent>,
}

impl Entry {
    pub(super) fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|source| {
            Error::new(ErrorKind::Store, "cannot write an entry of a journal").with_source(source)
        })
    }

    /// Reads an entry. The error names its number.
    pub(super) fn from_json(number: usize, json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|source| {
            let message = format!("entry {number} of the journal cannot be read: {source}");
            Error::new(ErrorKind::Store, message).with_source(source)
        })
    }
}

impl Began {
    /// Creates the entry of a turn whose user message has only one form.
    pub(in crate::service) fn new(service: &str, method: &str, user: &UserMessage) -> Self {
        Self {
            v: FORMAT_VERSION,
            service: service.to_owned(),
            method: method.to_owned(),
            request: None,
            system: None,
            user: user.clone().into(),
            augmented: None,
            instructed: None,
            sources: Vec::new(),
            parameters: None,
        }
    }

    pub(in crate::service) fn with_sources(mut self, sources: &[RetrievedContent]) -> Self {
        self.sources = sources.iter().map(Source::from).collect();
        self
    }

    pub(in crate::service) fn sources(&self) -> impl Iterator<Item = RetrievedContent> {
        self.sources.iter().map(RetrievedContent::from)
    }
}

impl From<&RetrievedContent> for Source {
    fn from(content: &RetrievedContent) -> Self {
        let RetrievedContent { segment, score, id, .. } = content;
        let (text, metadata) = (segment.text().to_owned(), segment.metadata().clone());
        Self { text, metadata, score: *score, id: id.clone() }
    }
}

impl From<&Source> for RetrievedContent {
    fn from(source: &Source) -> Self {
        let Source { text, metadata, score, id } = source;
        let mut content =
            Self::new(TextSegment::new(text.as_str()).with_metadata(metadata.clone()));
        (content.score, content.id) = (*score, id.clone());
        content
    }
}

impl From<&ChatResponse> for Answered {
    fn from(response: &ChatResponse) -> Self {
        let ChatResponse { message, usage, finish_reason, model, id, .. } = response;
        Self {
            message: message.clone().into(),
            usage: *usage,
            finish_reason: finish_reason.clone(),
            model: model.clone(),
            id: id.clone(),
            spent: None,
        }
    }
}

impl Answered {
    pub(super) fn tool_calls(&self) -> &[ToolCall] {
        self.message.tool_calls()
    }

    /// Adds the answer to the amounts that its turn has spent.
    pub(super) fn add_to(&self, spent: &mut Spent, prices: Option<Prices<'_>>) {
        let model = self.model.as_deref().or(prices.map(|prices| prices.model));
        spent.add_usage(model.unwrap_or_default(), self.usage, prices);
        spent.model_calls += 1;
        spent.tool_rounds += 1;
        spent.tool_calls += self.tool_calls().len() as u64;
    }

    /// Returns the response as it was, without the data of its transport. `None` if the entry does not contain a
    /// message of a model.
    pub(super) fn into_response(self) -> Option<ChatResponse> {
        let Self { message: ChatMessage::Ai(message), usage, finish_reason, model, id, .. } = self
        else {
            return None;
        };
        Some(ChatResponse { usage, finish_reason, model, id, ..ChatResponse::new(message) })
    }
}

impl Finished {
    pub(super) fn new(round: u32, index: usize, execution: &ToolExecution) -> Self {
        Self {
            spent: None,
            round,
            index,
            result: execution.result().clone().into(),
            ms: u64::try_from(execution.duration().as_millis()).unwrap_or(u64::MAX),
            unknown: execution.has_unknown_outcome(),
        }
    }

    /// Sets the amounts that the turn has spent.
    pub(super) fn with_spent(mut self, spent: Option<Spent>) -> Self {
        self.spent = spent;
        self
    }

    pub(super) fn result(&self) -> Option<&ToolResult> {
        match &self.result {
            ChatMessage::ToolResult(result) => Some(result),
            _ => None,
        }
    }

    pub(super) fn duration(&self) -> Duration {
        Duration::from_millis(self.ms)
    }

    pub(super) fn has_unknown_outcome(&self) -> bool {
        self.unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suspended_entry_of_earlier_versions_is_read_and_written_again() {
        let call =
            r#"{"tool":"refund","description":"Refunds.","arguments":"{}","definition":"d"}"#;
        let pending =
            format!(r#"{{"memory_id":"ann","position":"7:3","calls":[{call}],"expires":9}}"#);
        let json = format!(r#"{{"type":"suspended","round":1,"index":0,"pending":{pending}}}"#);
        let entry = Entry::from_json(1, &json).unwrap();
        let Entry::Suspended(suspended) = &entry else { panic!("{entry:?}") };
        let Suspension::Pending(turn) = &suspended.suspension else { panic!("{suspended:?}") };
        assert_eq!((&*turn.memory_id, &*turn.calls[0].tool), ("ann", "refund"));
        assert_eq!(entry.to_json().unwrap(), json);
    }
}
