//! The log of a running turn in its journal.

use super::entry::{Answered, Began, Entry, Finished, Started, Suspended};
use super::journaled_call::JournaledDecision;
use super::journaled_turn::JournaledTurn;
use crate::approval::{
    Decided, Decision, PendingCall, PendingTurn, Suspension, Waiting, WaitingCall, WaitsFor, now,
};
use crate::memory::{
    ConversationJournal, JournalPosition, LeaseToken, RequestId, TurnId, conflict,
};
use crate::message::ToolCall;
use crate::model::ChatResponse;
use crate::service::spent::{RunningTotal, Spent};
use crate::tool::{Effect, PriorCall, StartedCall, ToolExecution, ToolLog};
use crate::{Error, ErrorKind, Result};
use async_trait::async_trait;
use std::time::Duration;
use tokio::sync::Mutex;

/// The log of a running turn in its journal.
///
/// Entries that nothing depends on yet wait in memory until the next append: the answer of the model until its
/// tools start, and the results of tools without effects until the next answer.
pub(in crate::service) struct TurnLog {
    journal: ConversationJournal,
    lease: Option<LeaseToken>,
    /// The version of the conversation that the turn starts from.
    version: Option<u64>,
    /// The request of a new turn.
    request: Option<RequestId>,
    is_resumed: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The position of the journal; `None` before the first append.
    position: Option<JournalPosition>,
    /// The entries of the next append.
    waiting: Vec<String>,
    /// The last answer of the model that calls tools.
    answer: Option<Box<Answered>>,
    /// The turn that is resumed.
    resumed: Option<Box<JournaledTurn>>,
}

impl TurnLog {
    /// Creates the log of a new turn. Nothing is written before the first tool.
    pub(in crate::service) fn new(
        journal: ConversationJournal,
        lease: Option<LeaseToken>,
        version: Option<u64>,
        request: Option<RequestId>,
    ) -> Self {
        Self { journal, lease, version, request, is_resumed: false, state: Mutex::default() }
    }

    /// Creates the log of a turn that is resumed. The first append stops every other process that still runs the
    /// turn.
    pub(in crate::service) async fn resume(
        journal: ConversationJournal,
        lease: Option<LeaseToken>,
        turn: Box<JournaledTurn>,
    ) -> Result<Self> {
        let position = journal.append(turn.position, &[Entry::Resumed.to_json()?], lease).await?;
        let state = State { position: Some(position), resumed: Some(turn), ..State::default() };
        Ok(Self {
            journal,
            lease,
            version: None,
            request: None,
            is_resumed: true,
            state: Mutex::new(state),
        })
    }

    /// Returns the turn that is resumed.
    pub(in crate::service) fn resumed_turn(&mut self) -> Option<&JournaledTurn> {
        self.state.get_mut().resumed.as_deref()
    }

    /// Returns the next recorded answer of the model.
    pub(in crate::service) async fn recorded_answer(&self) -> Result<Option<Box<ChatResponse>>> {
        match &mut self.state.lock().await.resumed {
            Some(turn) => turn.next_answer(),
            None => Ok(None),
        }
    }

    /// Returns `true` if the turn is resumed.
    pub(in crate::service) fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// Keeps an answer that calls tools until they start.
    pub(in crate::service) async fn answered(&self, response: &ChatResponse) {
        self.state.lock().await.answer = Some(Box::new(response.into()));
    }

    /// Starts a round of tool calls, after `spent` was spent on the turn. `began` creates its first entry.
    pub(in crate::service) async fn round<'a>(
        &'a self,
        (turn, round): (TurnId, u32),
        calls: &'a [ToolCall],
        spent: Spent,
        began: impl FnOnce() -> Began,
    ) -> Result<RoundLog<'a>> {
        let mut state = self.state.lock().await;
        let (mut prior, mut decisions) = (Vec::new(), Vec::new());
        if let Some(resumed) = &state.resumed {
            let states = calls.iter().enumerate();
            prior = states.map(|(index, call)| resumed.prior(round, index, call)).collect();
            decisions = (0..calls.len()).map(|index| resumed.decision(round, index)).collect();
        }
        if state.position.is_none() {
            state.position = Some(JournalPosition::start(turn));
            state.waiting.push(Entry::Began(Box::new(began())).to_json()?);
        }
        if let Some(mut answer) = state.answer.take() {
            answer.spent = Some(spent);
            state.waiting.push(Entry::Answered(answer).to_json()?);
        }
        Ok(RoundLog { log: self, turn, round, calls, prior, decisions, total: None })
    }

    /// Fails if the journal has answers that the turn did not come to: the program has changed.
    pub(in crate::service) async fn check_replayed(&self) -> Result<()> {
        let left = self.state.lock().await.resumed.as_ref().map_or(0, |turn| turn.answers_left());
        if left == 0 {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Configuration,
            format!(
                "the journal of the turn has {left} more answers with tool calls than the resumed turn \
                 needs; the checks of the service have changed since the turn began"
            ),
        ))
    }

    /// Returns the position of the journal; `None` if nothing was written.
    pub(in crate::service) fn position(&mut self) -> Option<JournalPosition> {
        self.state.get_mut().position.filter(|position| position.length > 0)
    }

    /// Deletes the journal of a turn that failed for good.
    pub(in crate::service) async fn discard(mut self) {
        let Some(position) = self.position() else { return };
        if let Err(error) = self.journal.discard(position).await {
            tracing::warn!(%error, "the journal of a failed turn could not be deleted; the turn will be resumed");
        }
    }

    /// Appends the waiting entries and `entries` in one step. Returns the new position, if anything was written.
    async fn append(
        &self,
        entries: impl IntoIterator<Item = Entry>,
    ) -> Result<Option<JournalPosition>> {
        let mut state = self.state.lock().await;
        let mut records = std::mem::take(&mut state.waiting);
        for entry in entries {
            records.push(entry.to_json()?);
        }
        let Some(position) = state.position.filter(|_| !records.is_empty()) else {
            return Ok(None);
        };
        let next = self.journal.append(position, &records, self.lease).await?;
        state.position = Some(next);
        if position.length == 0
            && let Err(error) = self.check_start().await
        {
            self.journal.discard(next).await?;
            state.position = None;
            return Err(error);
        }
        Ok(Some(next))
    }

    /// Fails if the turn must not start. Another process may have handled the same request while this one was paused;
    /// from the first append on, it finds the open journal.
    async fn check_start(&self) -> Result<()> {
        if self.journal.conversation_version().await? != self.version {
            return Err(conflict(self.journal.id()));
        }
        // The window may have evicted the answer, so that the history does not contain it.
        match &self.request {
            Some(request) => self.journal.check_request(request).await,
            None => Ok(()),
        }
    }
}

/// The log of one round of tool calls.
pub(in crate::service) struct RoundLog<'a> {
    log: &'a TurnLog,
    /// The number of the round, from 1.
    turn: TurnId,
    round: u32,
    calls: &'a [ToolCall],
    /// The states of the calls in the journal. Empty for a new round.
    prior: Vec<PriorCall>,
    /// The decisions about the calls. Empty for a new round.
    decisions: Vec<Option<JournaledDecision>>,
    total: Option<RunningTotal<'a>>,
}

impl<'a> RoundLog<'a> {
    /// Records the amounts of `total` with each result.
    pub(in crate::service) fn with_total(mut self, total: RunningTotal<'a>) -> Self {
        self.total = Some(total);
        self
    }

    /// Returns `true` if the call has not started, and was not decided for this definition of its tool.
    pub(in crate::service) fn is_undecided(&self, index: usize, definition: &str) -> bool {
        let has_not_started = matches!(self.prior.get(index), None | Some(PriorCall::NotStarted));
        let decided = self.decisions.get(index).and_then(Option::as_ref);
        has_not_started && decided.is_none_or(|decided| decided.definition != definition)
    }

    /// Records the decisions of a handler. They are written with the start of the tools.
    pub(in crate::service) async fn decide(
        &mut self,
        calls: Vec<(usize, PendingCall, Decision)>,
    ) -> Result<()> {
        let waiting: Vec<_> = calls.iter().map(|(index, call, _)| (*index, call.clone())).collect();
        let entry = Entry::Waiting(self.waiting(&waiting, u64::MAX)).to_json()?;
        self.decisions.resize(self.calls.len(), None);
        let mut decisions = Vec::with_capacity(calls.len());
        for (index, PendingCall { definition, .. }, decision) in calls {
            decisions.push(decision.clone());
            if let Some(known) = self.decisions.get_mut(index) {
                *known = Some(JournaledDecision { decision, definition });
            }
        }
        let decided = Entry::Decided(Decided { decisions, at: now() }).to_json()?;
        self.log.state.lock().await.waiting.extend([entry, decided]);
        Ok(())
    }

    /// Suspends the turn until decisions about these calls are in the journal.
    pub(in crate::service) async fn suspend(
        &self,
        calls: &[(usize, PendingCall)],
        expiry: Duration,
    ) -> Result<PendingTurn> {
        let expiry = u64::try_from(expiry.as_millis()).unwrap_or(u64::MAX);
        let waiting = self.waiting(calls, now().saturating_add(expiry));
        let expires = waiting.expires;
        self.log.append([Entry::Waiting(waiting)]).await?;
        Ok(self.pending(calls, expires).await)
    }

    /// Suspends the turn for calls that wait: for answers, if a call has questions, and otherwise for the ends of tasks.
    pub(in crate::service) async fn suspend_for(
        &self,
        mut calls: Vec<(usize, PendingCall)>,
        expiry: Duration,
    ) -> Result<PendingTurn> {
        let has_questions = |call: &PendingCall| matches!(call.waits_for, WaitsFor::Answers(_));
        if !calls.iter().any(|(_, call)| has_questions(call)) {
            return Ok(self.pending(&calls, u64::MAX).await);
        }
        calls.retain(|(_, call)| has_questions(call));
        self.suspend(&calls, expiry).await
    }

    async fn pending(&self, calls: &[(usize, PendingCall)], expires: u64) -> PendingTurn {
        let position = self.log.state.lock().await.position;
        let position = position.unwrap_or_else(|| JournalPosition::start(self.turn));
        let calls = calls.iter().map(|(_, call)| call.clone()).collect();
        PendingTurn::new(self.log.journal.id(), position, calls, expires)
    }

    fn waiting(&self, calls: &[(usize, PendingCall)], expires: u64) -> Waiting {
        let calls = calls.iter().map(|(index, call)| WaitingCall {
            index: *index,
            description: call.description.clone(),
            definition: call.definition.clone(),
            digest: call.digest(self.turn),
        });
        Waiting { round: self.round, calls: calls.collect(), expires }
    }
}

#[async_trait]
impl ToolLog for RoundLog<'_> {
    fn prior(&self, index: usize) -> PriorCall {
        self.prior.get(index).cloned().unwrap_or(PriorCall::NotStarted)
    }

    fn decision(&self, index: usize) -> Option<&Decision> {
        self.decisions.get(index)?.as_ref().map(|decided| &decided.decision)
    }

    async fn start(&self, calls: &[StartedCall]) -> Result<()> {
        let round = self.round;
        let started = calls.iter().map(|&StartedCall { index, attempt }| {
            Entry::Started(Started { round, index, attempt })
        });
        self.log.append(started).await.map(drop)
    }

    async fn finish(&self, index: usize, execution: &ToolExecution, effect: &Effect) -> Result<()> {
        let spent = self.total.as_ref().and_then(RunningTotal::now);
        let finished = Finished::new(self.round, index, execution).with_spent(spent);
        let finished = Entry::Finished(Box::new(finished));
        if let Effect::ReadOnly = effect {
            self.log.state.lock().await.waiting.push(finished.to_json()?);
            return Ok(());
        }
        self.log.append([finished]).await.map(drop)
    }

    fn can_suspend(&self) -> bool {
        true
    }

    async fn record_suspension(&self, index: usize, suspension: &Suspension) -> Result<()> {
        let (round, suspension) = (self.round, suspension.clone());
        let suspended = Suspended { round, index, suspension };
        self.log.append([Entry::Suspended(Box::new(suspended))]).await.map(drop)
    }
}
