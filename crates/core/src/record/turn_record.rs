//! The record of one turn.

use super::step::{RecordedError, RecordedRequest, StepKind, TurnStep};
use super::wire;
use crate::approval::PendingTurn;
use crate::error::{Error, ErrorKind, Result};
use crate::event::CallId;
use crate::message::ChatMessage;
use crate::model::{Cost, TokenUsage};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The version of the format that this build writes, and the newest one that it reads.
const VERSION: u32 = 1;

/// One call of a service method, from its start to its end.
///
/// A [`TurnRecorder`](super::TurnRecorder) creates it. [`to_json`](Self::to_json) and [`from_json`](Self::from_json) are inverse: the record
/// that is read equals the one that was written. Times are in whole microseconds. Numbers that the application chose
/// (parameters of the model, metadata of sources) keep 15 significant digits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TurnRecord {
    /// The version of the format.
    version: u32,
    /// The id of the call.
    pub id: CallId,
    /// The call whose model called this one as a tool, if its service has a listener.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outer: Option<CallId>,
    /// The name of the trait.
    pub service: Box<str>,
    /// The name of the method.
    pub method: Box<str>,
    /// The memory id of the call, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_id: Option<Box<str>>,
    /// The id of the application's request, if it has set a [`RequestId`](crate::memory::RequestId).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Box<str>>,
    /// The start of the call, in milliseconds since 1970.
    pub started_ms: u64,
    /// The time from the start to the end.
    #[serde(rename = "duration_us", with = "wire::microseconds")]
    pub duration: Duration,
    /// The system message of the method, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_message: Option<ChatMessage>,
    /// The user message, as rendered from the template of the method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_message: Option<ChatMessage>,
    /// The steps, in the order in which they ended. At most 1,000.
    #[serde(default)]
    pub steps: Vec<TurnStep>,
    /// Number of further steps, which are not recorded.
    #[serde(default, skip_serializing_if = "wire::is_zero")]
    pub omitted_steps: u32,
    /// The end of the call.
    pub outcome: TurnOutcome,
    /// The usage of all model calls together, also of a call that failed.
    #[serde(default)]
    pub usage: TokenUsage,
    /// The cost of all model calls together. `None` without a price table.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "wire::cost")]
    pub cost: Option<Cost>,
}

/// The end of a recorded call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TurnOutcome {
    /// The call succeeded.
    Completed,
    /// The turn waits for decisions about its tool calls.
    Suspended(Box<PendingTurn>),
    /// The call failed.
    Failed(Box<RecordedError>),
    /// The call was dropped, or a part of the application panicked in it.
    Cancelled,
}

impl TurnRecord {
    /// Creates the record of a call that has no steps yet and counts as cancelled, for tests and for listeners of
    /// your own.
    #[must_use]
    pub fn new(id: CallId, service: impl Into<Box<str>>, method: impl Into<Box<str>>) -> Self {
        Self {
            version: VERSION,
            id,
            outer: None,
            service: service.into(),
            method: method.into(),
            memory_id: None,
            request_id: None,
            started_ms: 0,
            duration: Duration::ZERO,
            system_message: None,
            user_message: None,
            steps: Vec::new(),
            omitted_steps: 0,
            outcome: TurnOutcome::Cancelled,
            usage: TokenUsage::default(),
            cost: None,
        }
    }

    /// Returns the messages of a request as it was sent, in order. `request` counts the requests of the turn from 0.
    /// Empty if there is no such request.
    #[must_use]
    pub fn messages_of(&self, request: usize) -> Vec<&ChatMessage> {
        if self.requests().count() <= request {
            return Vec::new();
        }
        joined(self.requests().take(request.saturating_add(1)))
    }

    /// Returns the messages of the last request.
    pub(super) fn last_messages(&self) -> Vec<&ChatMessage> {
        joined(self.requests())
    }

    fn requests(&self) -> impl Iterator<Item = &RecordedRequest> {
        self.steps.iter().filter_map(|step| match &step.kind {
            StepKind::RequestIssued(request) => Some(&**request),
            _ => None,
        })
    }

    /// Returns the record as one line of JSON, without its end.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`] if a part of the record cannot be written as JSON.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|source| {
            Error::configuration("the record cannot be written as JSON").with_source(source)
        })
    }

    /// Reads a record from a line of JSON.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`] if the line is not a record, or if a newer version of this crate has
    /// written it.
    pub fn from_json(line: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let invalid = |source: serde_json::Error| {
            let message = format!("the line is not the record of a turn: {source}");
            Error::new(ErrorKind::Configuration, message).with_source(source)
        };
        let Version { version } = serde_json::from_str(line).map_err(invalid)?;
        if version > VERSION {
            return Err(Error::configuration(format!(
                "the record has format version {version}; this build reads up to {VERSION}"
            )));
        }
        serde_json::from_str(line).map_err(invalid)
    }
}

/// Returns the messages of the last one of these requests.
fn joined<'a>(requests: impl Iterator<Item = &'a RecordedRequest>) -> Vec<&'a ChatMessage> {
    let mut messages = Vec::new();
    for request in requests {
        messages.truncate(request.shared);
        messages.extend(&request.messages);
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_versions_and_other_lines_are_rejected() {
        let json = TurnRecord::new(CallId::new(), "Agent", "chat").to_json().unwrap();
        assert!(TurnRecord::from_json(&json).is_ok());
        let newer = json.replace("\"version\":1", "\"version\":2");
        let error = TurnRecord::from_json(&newer).unwrap_err();
        assert!(
            error.to_string().ends_with("format version 2; this build reads up to 1"),
            "{error}"
        );
        for line in ["", "{}", "[]", "{\"version\":1}"] {
            let error = TurnRecord::from_json(line).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration, "{line}");
        }
    }
}
