//! A turn as its journal describes it.

use super::entry::{Answered, Began, Entry, FORMAT_VERSION, Started, Suspended};
use super::journaled_call::{JournaledCall, JournaledDecision};
use crate::approval::{
    Decision, PendingCall, PendingTurn, Suspension, Waiting, WaitingCall, WaitsFor, now,
};
use crate::memory::{JournalPosition, MemoryId, TurnId, TurnJournal};
use crate::message::ToolCall;
use crate::model::ChatResponse;
use crate::service::spent::{Prices, Spent};
use crate::tool::PriorCall;
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
                    turn.calls.entry((round, index)).or_default().start(attempt);
                }
                Entry::Suspended(suspended) => {
                    let Suspended { round, index, suspension } = *suspended;
                    turn.calls.entry((round, index)).or_default().suspend(suspension);
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
            match decision {
                Decision::Respond(answers) => call.answers = Some(answers),
                decision => call.decision = Some(JournaledDecision { decision, definition }),
            }
        }
    }

    /// Returns the calls that wait for decisions at this time, in milliseconds since 1970.
    pub(in crate::service) fn pending(&self, id: &MemoryId, now: u64) -> Option<PendingTurn> {
        let waiting = self.waiting.as_ref().filter(|waiting| waiting.expires > now)?;
        let calls = self.answers.back().map(Answered::tool_calls).unwrap_or_default();
        let pending = |waiting_call: &WaitingCall| {
            let call = calls.get(waiting_call.index)?;
            let journaled = self.calls.get(&(waiting.round, waiting_call.index));
            let questions = journaled.map(JournaledCall::questions).unwrap_or_default();
            let pending = PendingCall::of_waiting(call, waiting_call);
            Some(match questions {
                [] => pending,
                questions => pending.waiting_for(WaitsFor::Answers(questions.to_vec())),
            })
        };
        let pending = waiting.calls.iter().filter_map(pending).collect();
        Some(PendingTurn::new(id, self.position, pending, waiting.expires))
    }

    /// Returns `true` if the calls that wait for decisions wait for answers to questions.
    pub(in crate::service) fn waits_for_answers(&self) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| {
            let call = |call: &WaitingCall| self.calls.get(&(waiting.round, call.index));
            waiting.calls.iter().filter_map(call).any(|call| !call.questions().is_empty())
        })
    }

    /// Returns the tools whose calls are suspended, with the reasons. Without calls that wait for answers.
    pub(in crate::service) fn suspended_calls(
        &self,
    ) -> impl Iterator<Item = (&ToolCall, &Suspension)> {
        let calls = self.answers.back().map(Answered::tool_calls).unwrap_or_default();
        self.calls.iter().filter_map(|((_, index), call)| {
            let suspension = call.suspension().filter(|_| call.questions().is_empty())?;
            Some((calls.get(*index)?, suspension))
        })
    }

    /// Returns the id of the turn.
    pub(in crate::service) fn id(&self) -> TurnId {
        self.position.turn
    }

    /// Returns the decision about the start of a call. A call whose time for a decision is over is denied.
    pub(super) fn decision(&self, round: u32, index: usize) -> Option<JournaledDecision> {
        let known = self.calls.get(&(round, index));
        let decided = known.and_then(|call| call.decision.clone());
        decided.or_else(|| {
            if known.is_some_and(|call| !call.questions().is_empty()) {
                return None;
            }
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
        let waiting = self.waiting.as_ref().filter(|waiting| waiting.round == round);
        let is_expired = waiting.is_some_and(|waiting| {
            waiting.expires <= now() && waiting.calls.iter().any(|call| call.index == index)
        });
        known.prior(call, is_expired)
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
