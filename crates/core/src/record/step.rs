//! The steps of a recorded turn.

use super::wire;
use crate::error::Error;
use crate::guardrail::{InputVerdict, OutputVerdict};
use crate::message::ChatMessage;
use crate::model::{ChatRequestParameters, ChatResponse, TokenUsage, ToolSpecifications};
use crate::rag::{RetrievedContent, SkippedRetrieval};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// A step of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TurnStep {
    /// The time from the start of the call to the event of this step.
    #[serde(rename = "at_us", with = "wire::microseconds")]
    pub at: Duration,
    /// The kind of the step.
    #[serde(rename = "step")]
    pub kind: StepKind,
}

impl TurnStep {
    /// Creates a step.
    #[must_use]
    pub fn new(at: Duration, kind: StepKind) -> Self {
        Self { at, kind }
    }
}

/// The kind of a step, with its data. Each variant is the event of the same name in [`Event`](crate::event::Event).
///
/// [`ToolProgressed`](crate::event::Event::ToolProgressed) is not recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are those of the events")]
pub enum StepKind {
    /// The conversation was loaded.
    MemoryLoaded { version: Option<u64>, messages: usize },
    /// The stored history was malformed, and was repaired.
    HistoryRepaired { dropped: usize, added: usize, is_reordered: bool },
    /// The call goes on with this open turn.
    TurnResumed { turn: Box<str> },
    /// Content was retrieved.
    Retrieved {
        #[serde(with = "wire::sources")]
        contents: Vec<RetrievedContent>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        skipped: Vec<SkippedSource>,
    },
    /// An input guardrail has checked the user message.
    InputChecked { guardrail: Box<str>, verdict: RecordedVerdict },
    /// The oldest turns were folded into a summary, or evicted because the summary failed.
    HistorySummarized {
        model: Box<str>,
        messages: usize,
        /// The summary, or the error.
        summary: Result<Box<str>, RecordedError>,
        usage: TokenUsage,
        #[serde(rename = "duration_us", with = "wire::microseconds")]
        duration: Duration,
    },
    /// A request was sent to the model.
    RequestIssued(Box<RecordedRequest>),
    /// The model has not answered.
    RequestFailed(Box<RecordedError>),
    /// The model has answered. Retries and fallbacks are in [`attempts`](ChatResponse::attempts) and
    /// [`origin`](ChatResponse::origin).
    ResponseReceived(#[serde(with = "wire::response")] Box<ChatResponse>),
    /// The moderation model has judged the user message (`input`) or the answer (`output`).
    Moderated {
        model: Box<str>,
        stage: Box<str>,
        violations: Vec<RecordedViolation>,
        #[serde(rename = "duration_us", with = "wire::microseconds")]
        duration: Duration,
    },
    /// A tool was started.
    ToolStarted { id: Box<str>, name: Box<str>, arguments: Box<str> },
    /// A tool has run, or failed.
    ToolFinished {
        id: Box<str>,
        /// The result that the model received.
        result: ChatMessage,
        #[serde(rename = "duration_us", with = "wire::microseconds")]
        duration: Duration,
        has_unknown_outcome: bool,
    },
    /// An output guardrail has checked an answer.
    OutputChecked { guardrail: Box<str>, verdict: RecordedVerdict },
    /// The answer could not be read as the return type of the method.
    AnswerUnreadable(Box<RecordedError>),
    /// Another writer has changed the conversation.
    TurnReplayed(Box<RecordedError>),
    /// The turn was stored.
    TurnStored { based_on: Option<u64>, messages: usize },
}

/// A request as it was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// Number of messages at the start that are those of the request before it in the turn.
    /// [`TurnRecord::messages_of`](super::TurnRecord::messages_of) returns all messages.
    #[serde(default)]
    pub shared: usize,
    /// The messages after the shared ones.
    pub messages: Vec<ChatMessage>,
    /// The tools. `None` if they are those of the request before it.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "wire::tools")]
    pub tools: Option<ToolSpecifications>,
    /// The parameters.
    #[serde(with = "wire::parameters")]
    pub parameters: Arc<ChatRequestParameters>,
}

impl RecordedRequest {
    /// Creates a request.
    #[must_use]
    pub fn new(
        shared: usize,
        messages: Vec<ChatMessage>,
        tools: Option<ToolSpecifications>,
        parameters: Arc<ChatRequestParameters>,
    ) -> Self {
        Self { shared, messages, tools, parameters }
    }
}

/// The verdict of a guardrail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordedVerdict {
    /// The name of the verdict: `success`, `rewrite`, `retry`, `reprompt`, `failure` or `fatal`.
    pub name: Box<str>,
    /// The reason of an objection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Box<str>>,
    /// The message that replaces the checked one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewritten: Option<ChatMessage>,
    /// The further prompt for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Box<str>>,
}

impl RecordedVerdict {
    fn named(name: &str) -> Self {
        Self { name: name.into(), reason: None, rewritten: None, prompt: None }
    }
}

impl From<&InputVerdict> for RecordedVerdict {
    fn from(verdict: &InputVerdict) -> Self {
        let record = Self::named(verdict.name());
        match verdict {
            InputVerdict::Success => record,
            InputVerdict::Rewrite(message) => {
                Self { rewritten: Some(message.clone().into()), ..record }
            }
            InputVerdict::Failure(reason) | InputVerdict::Fatal(reason) => {
                Self { reason: Some(reason.clone()), ..record }
            }
        }
    }
}

impl From<&OutputVerdict> for RecordedVerdict {
    fn from(verdict: &OutputVerdict) -> Self {
        let record = Self::named(verdict.name());
        match verdict {
            OutputVerdict::Success => record,
            OutputVerdict::Rewrite(text) => {
                Self { rewritten: Some(ChatMessage::ai(text.clone())), ..record }
            }
            OutputVerdict::Reprompt { reason, prompt } => {
                Self { reason: Some(reason.clone()), prompt: Some(prompt.clone()), ..record }
            }
            OutputVerdict::Retry(reason)
            | OutputVerdict::Failure(reason)
            | OutputVerdict::Fatal(reason) => Self { reason: Some(reason.clone()), ..record },
        }
    }
}

/// A category that a text violates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordedViolation {
    /// The category.
    pub category: Box<str>,
    /// The score, between 0 and 1. `None` if it is not a finite number.
    #[serde(with = "wire::score")]
    pub score: Option<f64>,
}

impl RecordedViolation {
    /// Creates a violation.
    #[must_use]
    pub fn new(category: impl Into<Box<str>>, score: f64) -> Self {
        Self { category: category.into(), score: Some(score).filter(|score| score.is_finite()) }
    }
}

/// A retriever that failed and was skipped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkippedSource {
    /// Name of the retriever's route.
    pub route: Box<str>,
    /// Text of the query.
    pub query: Box<str>,
    /// Cause of the failure.
    pub error: RecordedError,
}

impl From<&SkippedRetrieval> for SkippedSource {
    fn from(skipped: &SkippedRetrieval) -> Self {
        Self {
            route: skipped.route.clone(),
            query: (&*skipped.query).into(),
            error: RecordedError::from(&*skipped.error),
        }
    }
}

/// An error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordedError {
    /// The name of the [`ErrorKind`](crate::ErrorKind), for example `Timeout`.
    pub kind: Box<str>,
    /// The message, with its causes.
    pub message: Box<str>,
    /// The HTTP status of the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The error code of the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Box<str>>,
    /// The provider's id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Box<str>>,
    /// Number of times the request was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// `true` if a repetition may succeed.
    pub is_retryable: bool,
}

impl From<&Error> for RecordedError {
    fn from(error: &Error) -> Self {
        Self {
            kind: format!("{:?}", error.kind()).into(),
            message: error.to_string().into(),
            status: error.status(),
            code: error.code().map(Into::into),
            request_id: error.request_id().map(Into::into),
            attempts: error.attempts(),
            is_retryable: error.is_retryable(),
        }
    }
}
