//! A tool call as the journal of its turn describes it.

use super::entry::Finished;
use crate::approval::{
    Awaited, Continuation, Decision, Elicitation, ElicitationAnswer, Suspension,
};
use crate::message::ToolCall;
use crate::tool::{PriorCall, ToolExecution};
use std::sync::Arc;

/// The state of a tool call.
#[derive(Debug, Default)]
pub(super) struct JournaledCall {
    attempts: u32,
    /// The last reason why the call was suspended.
    suspension: Option<Suspension>,
    /// `true` if another attempt has started since then.
    is_continued: bool,
    /// The answers to the questions of the suspension.
    pub(super) answers: Option<Vec<ElicitationAnswer>>,
    pub(super) finished: Option<Finished>,
    pub(super) decision: Option<JournaledDecision>,
}

/// The decision about a tool call, and the definition of the tool that it was made for.
#[derive(Clone, Debug)]
pub(super) struct JournaledDecision {
    pub(super) decision: Decision,
    pub(super) definition: String,
}

impl JournaledCall {
    /// Records the start of an attempt.
    pub(super) fn start(&mut self, attempt: u32) {
        (self.attempts, self.is_continued) = (attempt, true);
    }

    /// Records a suspension, which ends an attempt.
    pub(super) fn suspend(&mut self, suspension: Suspension) {
        (self.suspension, self.is_continued, self.answers) = (Some(suspension), false, None);
    }

    /// Returns the reason for which the call is suspended, if it is.
    pub(super) fn suspension(&self) -> Option<&Suspension> {
        self.suspension.as_ref().filter(|_| !self.is_continued && self.finished.is_none())
    }

    /// Returns the questions for which the call is suspended.
    pub(super) fn questions(&self) -> &[Elicitation] {
        match self.suspension() {
            Some(Suspension::Awaits(awaited)) => &awaited.elicitations,
            Some(Suspension::Pending(_)) | None => &[],
        }
    }

    /// Returns the state of the call. `is_expired` if its questions can no longer be answered.
    pub(super) fn prior(&self, call: &ToolCall, is_expired: bool) -> PriorCall {
        if let Some(finished) = &self.finished
            && let Some(result) = finished.result()
        {
            let execution = ToolExecution::new(call, result.clone(), finished.duration());
            return PriorCall::Finished(match finished.has_unknown_outcome() {
                true => execution.with_unknown_outcome(),
                false => execution,
            });
        }
        let attempts = self.attempts;
        let continuation = match &self.suspension {
            Some(Suspension::Awaits(awaited)) => match self.continuation(awaited, is_expired) {
                Some(continuation) => Some(Arc::new(continuation)),
                None => return PriorCall::Waiting(awaited.clone()),
            },
            Some(Suspension::Pending(_)) | None => None,
        };
        match &self.suspension {
            Some(_) if !self.is_continued => PriorCall::Suspended { attempts, continuation },
            _ if attempts == 0 => PriorCall::NotStarted,
            _ => PriorCall::Started { attempts, continuation },
        }
    }

    /// Returns the data of the next attempt. `None` if answers are missing.
    fn continuation(&self, awaited: &Awaited, is_expired: bool) -> Option<Continuation> {
        let questions = awaited.elicitations.len();
        match &self.answers {
            Some(answers) => Some(awaited.continued(answers.clone())),
            None if questions == 0 => Some(awaited.continued(Vec::new())),
            None if is_expired => {
                Some(awaited.continued(vec![ElicitationAnswer::Cancel; questions]))
            }
            None => None,
        }
    }
}
