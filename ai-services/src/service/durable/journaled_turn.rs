//! A turn as its journal describes it.

use super::entry::{Answered, Began, Entry, FORMAT_VERSION, Finished, Started, Suspended};
use crate::approval::{Decision, PendingTurn, Waiting, WaitingCall};
use crate::memory::{JournalPosition, MemoryId, TurnId, TurnJournal};
use crate::message::ToolCall;
use crate::model::ChatResponse;
use crate::service::spent::{Prices, Spent};
use crate::tool::{PriorCall, ToolExecution};
use crate::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, VecDeque};

/// A turn as its journal describes it.
#[derive(Debug)]
pub(in crate::service) struct JournaledTurn {
    pub(super) position: JournalPosition,
    began: Began,
    /// Number of times that the turn was resumed, since a tool has suspended it.
    resumes: usize,
    /// The answers of the model that called tools, without those that were replayed.
    answers: VecDeque<Answered>,
    calls: BTreeMap<(u32, usize), JournaledCall>,
    /// The last entry that waits for decisions, unless they were made.
    waiting: Option<Waiting>,
    /// The newest recorded amounts. `None` in journals of earlier versions.
    spent: Option<Spent>,
}

/// The state of a tool call.
#[derive(Debug, Default)]
struct JournaledCall {
    attempts: u32,
    /// The turn that the call waits for.
    pending: Option<PendingTurn>,
    finished: Option<Finished>,
    decision: Option<JournaledDecision>,
}

/// The decision about a tool call, and the definition of the tool that it was made for.
#[derive(Clone, Debug)]
pub(super) struct JournaledDecision {
    pub(super) decision: Decision,
    pub(super) definition: String,
}

impl JournaledTurn {
    /// Reads the entries of a journal.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Store`] if an entry is not readable, or was written by a newer version.
    pub(in crate::service) fn read(journal: &TurnJournal) -> Result<Self> {
        let mut entries = journal.records.iter().enumerate();
        let mut entry =
            || entries.next().map(|(number, json)| Entry::from_json(number + 1, json)).transpose();
        let Some(Entry::Began(began)) = entry()? else {
            return Err(Error::new(ErrorKind::Store, "a journal does not begin with its turn"));
        };
        if began.v != FORMAT_VERSION {
            return Err(newer_format(began.v));
        }
        let mut turn = Self {
            position: journal.position(),
            began: *began,
            resumes: 0,
            answers: VecDeque::new(),
            calls: BTreeMap::new(),
            waiting: None,
            spent: None,
        };
        while let Some(entry) = entry()? {
            match entry {
                Entry::Began(_) => {}
                Entry::Resumed => turn.resumes += 1,
                Entry::Waiting(waiting) => turn.waiting = Some(waiting),
                Entry::Decided(decided) => turn.decide(decided.decisions),
                Entry::Answered(answered) => {
                    turn.spent = answered.spent.or(turn.spent);
                    turn.answers.push_back(*answered);
                }
                Entry::Started(Started { round, index, attempt }) => {
                    let call = turn.calls.entry((round, index)).or_default();
                    (call.attempts, call.pending) = (attempt, None);
                }
                Entry::Suspended(suspended) => {
                    let Suspended { round, index, pending } = *suspended;
                    turn.calls.entry((round, index)).or_default().pending = Some(pending);
                    // A turn may wait longer than the largest number of resumptions.
                    turn.resumes = 0;
                }
                Entry::Finished(finished) => {
                    turn.spent = finished.spent.or(turn.spent);
                    let call = turn.calls.entry((finished.round, finished.index)).or_default();
                    call.finished = Some(*finished);
                }
            }
        }
        Ok(turn)
    }

    /// Assigns decisions to the calls that wait.
    fn decide(&mut self, decisions: Vec<Decision>) {
        let Some(Waiting { round, calls, .. }) = self.waiting.take() else { return };
        for (WaitingCall { index, definition, .. }, decision) in calls.into_iter().zip(decisions) {
            let call = self.calls.entry((round, index)).or_default();
            call.decision = Some(JournaledDecision { decision, definition });
        }
    }

    /// Returns the calls that wait for decisions at this time, in milliseconds since 1970.
    pub(in crate::service) fn pending(&self, id: &MemoryId, now: u64) -> Option<PendingTurn> {
        let waiting = self.waiting.as_ref().filter(|waiting| waiting.expires > now)?;
        let calls = self.answers.back().map(Answered::tool_calls).unwrap_or_default();
        Some(PendingTurn::new(id, self.position, waiting, calls))
    }

    /// Returns the tools that wait for decisions about other turns, with these turns.
    pub(in crate::service) fn suspended_calls(&self) -> impl Iterator<Item = (&str, &PendingTurn)> {
        let calls = self.answers.back().map(Answered::tool_calls).unwrap_or_default();
        self.calls.iter().filter_map(|((_, index), call)| {
            let pending = call.pending.as_ref().filter(|_| call.finished.is_none())?;
            Some((calls.get(*index)?.name(), pending))
        })
    }

    /// Returns the id of the turn.
    pub(in crate::service) fn id(&self) -> TurnId {
        self.position.turn
    }

    /// Returns the decision about a call. A call whose time for a decision is over is denied.
    pub(super) fn decision(&self, round: u32, index: usize) -> Option<JournaledDecision> {
        let decided = self.calls.get(&(round, index)).and_then(|call| call.decision.clone());
        decided.or_else(|| {
            let waiting = self.waiting.as_ref().filter(|waiting| waiting.round == round)?;
            let call = waiting.calls.iter().find(|call| call.index == index)?;
            let decision = Decision::deny("the time for a decision is over");
            Some(JournaledDecision { decision, definition: call.definition.clone() })
        })
    }

    pub(in crate::service) fn began(&self) -> &Began {
        &self.began
    }

    pub(in crate::service) fn position(&self) -> JournalPosition {
        self.position
    }

    /// Returns the number of times that the turn was resumed before.
    pub(in crate::service) fn resumes(&self) -> usize {
        self.resumes
    }

    /// Returns the amounts that the turn has spent, before its first answer is replayed.
    pub(in crate::service) fn spent(&self, prices: Option<Prices<'_>>) -> Spent {
        self.spent.unwrap_or_else(|| {
            let mut spent = Spent::default();
            self.answers.iter().for_each(|answer| answer.add_to(&mut spent, prices));
            spent
        })
    }

    /// Returns the number of answers that were not replayed yet.
    pub(super) fn answers_left(&self) -> usize {
        self.answers.len()
    }

    /// Takes the next answer of the model.
    pub(super) fn next_answer(&mut self) -> Result<Option<Box<ChatResponse>>> {
        let Some(answered) = self.answers.pop_front() else { return Ok(None) };
        let response = answered.into_response().ok_or_else(|| {
            Error::new(ErrorKind::Store, "an answer in a journal is not a message of a model")
        })?;
        Ok(Some(Box::new(response)))
    }

    /// Returns the state of a call.
    pub(super) fn prior(&self, round: u32, index: usize, call: &ToolCall) -> PriorCall {
        let Some(known) = self.calls.get(&(round, index)) else { return PriorCall::NotStarted };
        let finished =
            known.finished.as_ref().and_then(|finished| Some((finished, finished.result()?)));
        match finished {
            Some((finished, result)) => {
                let execution = ToolExecution::new(call, result.clone(), finished.duration());
                PriorCall::Finished(match finished.has_unknown_outcome() {
                    true => execution.with_unknown_outcome(),
                    false => execution,
                })
            }
            None if known.pending.is_some() => PriorCall::Suspended { attempts: known.attempts },
            None if known.attempts == 0 => PriorCall::NotStarted,
            None => PriorCall::Started { attempts: known.attempts },
        }
    }
}

fn newer_format(found: u32) -> Error {
    Error::new(
        ErrorKind::Store,
        format!(
            "the journal has format version {found}; this build reads version {FORMAT_VERSION}, update \
             ai-services"
        ),
    )
}
