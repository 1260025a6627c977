//! The state of a suspended call, in the journal of its turn.

use ai_services_core::approval::{Awaited, Elicitation, NextAttempt, now};
use ai_services_core::tool::ToolError;
use rmcp::model::InputResponses;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// Bounds of the time between two polls of a task, and its default, in milliseconds.
const MIN_INTERVAL: u64 = 100;
const MAX_INTERVAL: u64 = 60_000;
const DEFAULT_INTERVAL: u64 = 1_000;

/// Longest time for which a task is followed, in milliseconds: 30 days.
const MAX_AGE: u64 = 30 * 24 * 60 * 60 * 1_000;

/// Most bytes of the id of a task.
const MAX_ID: usize = 4_096;

/// The state of a suspended call.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CallState {
    /// The server asked for input. The call is sent again with the answers.
    Input {
        /// The number of requests for input so far.
        round: u32,
        /// The keys of the questions.
        keys: Vec<String>,
        /// The state that the server wants back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_state: Option<String>,
    },
    /// The server refused the call until the user has visited web pages. The call is sent again.
    Visits,
    /// The server handles the call as a task, which is polled.
    Task(Task),
}

impl CallState {
    /// Reads a state from a journal.
    ///
    /// # Errors
    ///
    /// Fails if another version of this crate wrote it. The call may have taken effect.
    pub(super) fn read(state: Value) -> Result<Self, ToolError> {
        serde_json::from_value(state).map_err(|_| {
            ToolError::outcome_unknown("the recorded state of the call cannot be read")
        })
    }

    /// Returns the data of a call that waits with this state.
    pub(super) fn awaiting(self, elicitations: Vec<Elicitation>) -> Result<Awaited, ToolError> {
        let (next, not_before) = match &self {
            Self::Input { .. } | Self::Visits => (NextAttempt::Acts, 0),
            Self::Task(task) => (NextAttempt::Observes, task.next_poll()),
        };
        let state = serde_json::to_value(self).map_err(ToolError::concealed)?;
        let not_before = if elicitations.is_empty() { not_before } else { 0 };
        Ok(Awaited { elicitations, state, next, not_before })
    }
}

/// A task of a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) id: String,
    /// The time of the handle in milliseconds since 1970, by the clock of this process.
    since: u64,
    /// The time between two polls in milliseconds.
    interval: u64,
    /// The number of requests for input.
    #[serde(default)]
    pub(super) rounds: u32,
    /// The keys of the questions for which the turn is suspended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) asked: Vec<String>,
    /// The keys of the questions that were answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) answered: Vec<String>,
    /// The answers that the server has not confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) responses: Option<InputResponses>,
}

impl Task {
    /// Describes a task that has just begun.
    ///
    /// # Errors
    ///
    /// Fails if the id is larger than 4 KiB. The outcome of the call is then unknown.
    pub(super) fn new(task: &rmcp::model::Task) -> Result<Self, ToolError> {
        if task.task_id.len() > MAX_ID {
            let message = "the id of the server's task is larger than 4 KiB";
            return Err(ToolError::outcome_unknown(message));
        }
        let mut new = Self {
            id: task.task_id.clone(),
            since: now(),
            interval: DEFAULT_INTERVAL,
            rounds: 0,
            asked: Vec::new(),
            answered: Vec::new(),
            responses: None,
        };
        new.set_interval(task.poll_interval_ms);
        Ok(new)
    }

    /// Sets the interval that the server suggests, within the bounds.
    pub(super) fn set_interval(&mut self, suggested: Option<u64>) {
        if let Some(suggested) = suggested {
            self.interval = suggested.clamp(MIN_INTERVAL, MAX_INTERVAL);
        }
    }

    /// Returns the time between two polls.
    pub(super) fn interval(&self) -> Duration {
        Duration::from_millis(self.interval)
    }

    /// Returns the time of the next poll of a suspended task, in milliseconds since 1970: after the interval, and after
    /// 5 % of the time that the task has taken. The number of polls, and with it the journal, stays small.
    fn next_poll(&self) -> u64 {
        let now = now();
        let age = now.saturating_sub(self.since);
        now.saturating_add(self.interval.max(age / 20))
    }

    /// Returns `true` if the task has taken so long that it counts as lost.
    pub(super) fn is_too_old(&self) -> bool {
        now().saturating_sub(self.since) > MAX_AGE
    }

    /// Keeps answers of the user to the questions with these keys.
    pub(super) fn respond(&mut self, responses: InputResponses) {
        self.asked.clear();
        self.answered.extend(responses.keys().cloned());
        self.responses = Some(responses);
    }

    /// Returns the task as it waits for answers to the questions with these keys.
    pub(super) fn asking(&self, keys: Vec<String>) -> Self {
        Self { asked: keys, ..self.clone() }
    }
}
