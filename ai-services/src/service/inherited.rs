//! The state that attempts at a turn hand on.

use super::call::ServiceCall;
use super::durable::JournaledTurn;
use super::history_summary::SummaryOutcome;
use super::spent::Spent;
use crate::memory::{JournalPosition, TurnId};
use tokio::time::Instant;

/// The state that an attempt at a turn takes over from the attempts before it.
#[derive(Default)]
pub(super) struct Inherited {
    pub(super) spent: Spent,
    pub(super) summary: Option<SummaryOutcome>,
    /// The turn of this call, if it has an open journal.
    pub(super) own_turn: Option<TurnId>,
    /// The start of the attempt, if the running time is measured.
    pub(super) started: Option<Instant>,
    /// Number of times the turn was replayed.
    pub(super) replays: u32,
    /// `true` if `spent` includes the amounts in this journal.
    counts_journal: bool,
}

impl Inherited {
    /// Creates the state of the first attempt. `open` is the open turn that the call goes on with.
    pub(super) fn new(open: Option<TurnId>) -> Self {
        Self { own_turn: open, ..Self::default() }
    }

    /// Begins an attempt. Adds the amounts in the journal of a resumed turn, unless an earlier attempt of this call has
    /// spent or counted them.
    pub(super) fn begin(
        &mut self,
        call: &ServiceCall,
        resumed: Option<&JournaledTurn>,
    ) -> &mut Self {
        self.started = call.plan.measures_time.then(Instant::now);
        if let Some(turn) = resumed.filter(|_| !self.counts_journal) {
            let spent = turn.spent(call.prices());
            self.spent += spent;
            if let Some(outer) = call.meter().outer() {
                outer.add(call.components.model.name(), spent.usage);
            }
            self.counts_journal = true;
        }
        self
    }

    /// Takes over the journal of an attempt whose commit failed.
    pub(super) fn keep_journal(&mut self, journal: Option<JournalPosition>) {
        self.own_turn = journal.map(|position| position.turn);
        self.counts_journal = journal.is_some();
    }
}
