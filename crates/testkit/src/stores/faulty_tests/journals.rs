//! Journals of the faulty store.

use super::{Chat, Fault, FaultyStore, Journal, State};
use ai_services_core::memory::{
    Change, JournalPosition, LeaseToken, MemoryId, OpenJournal, TurnJournal, TurnJournals,
};
use ai_services_core::{Error, ErrorKind, Result};
use async_trait::async_trait;
use tokio::task::yield_now;

#[async_trait]
impl TurnJournals for FaultyStore {
    async fn journal(&self, id: &MemoryId) -> Result<Option<TurnJournal>> {
        let state = self.state();
        let chat = state.chats.get(&self.journal_key(id));
        let journal = chat.and_then(|chat| chat.journal.as_ref());
        Ok(journal.map(|journal| journal.records.clone()))
    }

    async fn append(
        &self,
        id: &MemoryId,
        position: JournalPosition,
        records: &[String],
        lease: Option<LeaseToken>,
    ) -> Result<JournalPosition> {
        if id.as_str().is_empty() && !self.is(Fault::AcceptsTheEmptyId) {
            return Err(Error::configuration("empty"));
        }
        let key = self.journal_key(id);
        let chat = self.state().chats.get(&key).cloned().unwrap_or_default();
        let checked = self.check_append(&chat, position, lease);
        if self.is(Fault::ChecksThenAppends) {
            checked?;
            yield_now().await;
        } else if !self.is(Fault::AppliesRefusedAppends) {
            checked?;
        }
        Ok(self.extend(&mut self.state(), &key, position, records))
    }

    async fn discard(&self, id: &MemoryId, position: JournalPosition) -> Result<()> {
        let mut state = self.state();
        let moved = || Err(Error::new(ErrorKind::Conflict, "another position"));
        let Some(chat) = state.chats.get_mut(&self.journal_key(id)) else { return moved() };
        let is_known = match &chat.journal {
            Some(journal) => {
                journal.records.position() == position || self.is(Fault::DiscardsAnyPosition)
            }
            None => chat.closed.is_some() && self.is(Fault::DiscardsTwice),
        };
        if !is_known {
            return moved();
        }
        chat.close();
        Ok(())
    }

    async fn open_journals(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<OpenJournal>> {
        if limit == 0 && !self.is(Fault::AcceptsEmptyPages) {
            return Err(Error::configuration("empty"));
        }
        let state = self.state();
        let mut all = Vec::new();
        for (id, chat) in &state.chats {
            let closed = chat.closed.as_ref().filter(|_| self.is(Fault::ListsClosedJournals));
            let Some(journal) = chat.journal.as_ref().or(closed) else { continue };
            let time = match self.0.fault {
                Fault::JournalTimesAreThoseOfCommits => chat.last_updated,
                _ => journal.last_updated,
            };
            let position = journal.records.position();
            all.push(OpenJournal::new(id.as_str().into(), position, self.time(time)));
        }
        match self.0.fault {
            Fault::JournalPagesOverlap => all.retain(|found| after <= Some(&found.id)),
            _ => all.retain(|found| after < Some(&found.id)),
        }
        let longer = usize::from(self.is(Fault::JournalPagesAreLonger));
        all.truncate(limit + longer);
        Ok(all)
    }
}

impl Chat {
    fn close(&mut self) {
        self.closed = self.journal.take();
    }
}

impl FaultyStore {
    fn journal_key(&self, id: &MemoryId) -> String {
        let key = self.key(id);
        if self.is(Fault::JournalIdsIgnoreCase) { key.to_lowercase() } else { key }
    }

    fn check_append(
        &self,
        chat: &Chat,
        position: JournalPosition,
        lease: Option<LeaseToken>,
    ) -> Result<()> {
        let conflict = |reason| Err(Error::new(ErrorKind::Conflict, reason));
        let holder = chat.lease.map(|(holder, _)| holder);
        if lease.is_some() && lease != holder && !self.is(Fault::AppendIgnoresLeases) {
            return conflict("the lease was lost");
        }
        let JournalPosition { turn, length } = position;
        let is_expected = match chat.journal.as_ref().map(|journal| journal.records.position()) {
            None => length == 0 || self.is(Fault::ContinuesClosedJournals),
            Some(_) if length == 0 => self.is(Fault::ReopensJournals),
            Some(open) => {
                (turn == open.turn || self.is(Fault::IgnoresJournalTurns))
                    && (length == open.length || self.is(Fault::IgnoresJournalLengths))
            }
        };
        if is_expected { Ok(()) } else { conflict("another position") }
    }

    fn extend(
        &self,
        state: &mut State,
        key: &str,
        position: JournalPosition,
        records: &[String],
    ) -> JournalPosition {
        if self.is(Fault::AppendChangesVersion) {
            state.versions += 1;
        }
        let version = state.versions;
        let chat = state.chats.entry(key.to_owned()).or_default();
        if self.is(Fault::AppendChangesVersion) {
            chat.version = version;
        }
        if self.is(Fault::AppendReleasesLease) {
            chat.lease = None;
        }
        if self.is(Fault::ReopensJournals) && position.length == 0 {
            chat.journal = None;
        }
        let journal = chat.journal.get_or_insert_with(|| Journal {
            records: TurnJournal::new(position.turn, Vec::new()),
            first: records.len(),
            last_updated: self.now(),
        });
        let mut new: Vec<_> = records.to_vec();
        match self.0.fault {
            Fault::ReversesRecords => new.reverse(),
            Fault::TruncatesRecordsAtNul => {
                new = new.iter().map(|it| it.split('\0').next().unwrap().to_owned()).collect();
            }
            _ => {}
        }
        journal.records.records.extend(new);
        journal.last_updated = self.now();
        journal.records.position()
    }

    pub(super) fn loaded_position(&self, chat: &Chat) -> Option<JournalPosition> {
        let Journal { records, first, .. } = chat.journal.as_ref()?;
        match self.0.fault {
            Fault::LoadHidesJournals => None,
            Fault::LoadKnowsTheFirstAppend => {
                Some(JournalPosition::start(records.turn).advanced(*first))
            }
            _ => Some(records.position()),
        }
    }

    /// Checks the journal that a change closes.
    pub(super) fn check_closed(&self, chat: &Chat, change: &Change) -> Result<()> {
        let open = chat.journal.as_ref().map(|journal| journal.records.position());
        let closed = change.closed_journal();
        if closed.is_none() || closed == open || self.is(Fault::ClosesAnyPosition) {
            return Ok(());
        }
        let error = Error::new(ErrorKind::Conflict, "another journal");
        Err(error.with_retryable(self.is(Fault::JournalConflictsAreRetryable)))
    }

    /// Deletes the journal that a change closes.
    pub(super) fn close(&self, state: &mut State, id: &MemoryId, change: &Change) {
        let closes = match self.0.fault {
            Fault::ClosingKeepsJournal => false,
            Fault::CommitsDropJournals => true,
            _ => change.closed_journal().is_some(),
        };
        if closes && let Some(chat) = state.chats.get_mut(&self.key(id)) {
            chat.close();
        }
    }
}
