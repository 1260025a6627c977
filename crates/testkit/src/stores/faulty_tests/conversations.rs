//! Conversations and histories of the faulty store.

use super::{Chat, Fault, FaultyStore, Row};
use ai_services_core::memory::{
    Conversation, ConversationStore, HistoryEntry, HistoryPosition, MemoryId, RawRecord,
};
use ai_services_core::{Error, Result};
use async_trait::async_trait;
use std::time::SystemTime;

#[async_trait]
impl ConversationStore for FaultyStore {
    async fn conversations(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<Conversation>> {
        if limit == 0 && !self.is(Fault::AcceptsEmptyPages) {
            return Err(Error::configuration("empty"));
        }
        let state = self.state();
        let mut all: Vec<_> =
            state.chats.iter().filter_map(|(id, chat)| self.describe(id, chat)).collect();
        let known = |after: &MemoryId| all.iter().find(|c| c.id == *after).cloned();
        let cursor = after.map(known);
        if self.is(Fault::DeletedCursorIsTheEnd) && cursor == Some(None) {
            return Ok(Vec::new());
        }
        match (self.0.fault, cursor) {
            (Fault::ListsByLastUse, cursor) => {
                all.sort_by_key(|one| one.last_updated);
                let used = cursor.flatten().map(|cursor| cursor.last_updated);
                all.retain(|found| used.is_none_or(|used| found.last_updated > used));
            }
            (Fault::PagesOverlap, _) => all.retain(|found| after <= Some(&found.id)),
            _ => all.retain(|found| after < Some(&found.id)),
        }
        all.truncate(limit);
        Ok(all)
    }

    async fn conversation(&self, id: &MemoryId) -> Result<Option<Conversation>> {
        let state = self.state();
        Ok(state.chats.get(&self.key(id)).and_then(|chat| self.describe(id.as_str(), chat)))
    }

    async fn delete_not_updated_since(&self, time: SystemTime) -> Result<u64> {
        let mut state = self.state();
        let before = state.chats.len();
        state.chats.retain(|_, chat| {
            let appended = chat.journal.as_ref().map(|journal| journal.last_updated);
            let last_updated = match self.0.fault {
                Fault::AppendsAreNoWrites => chat.last_updated,
                _ => chat.last_updated.max(appended.unwrap_or_default()),
            };
            let last_updated = self.time(last_updated);
            match self.0.fault {
                Fault::DeletesUsedConversations => last_updated < time,
                Fault::DeletesEqualTimes => last_updated > time,
                Fault::KeepsUnusedConversations => true,
                Fault::KeepsUnusedJournals => last_updated >= time || appended.is_some(),
                _ => last_updated >= time,
            }
        });
        Ok((before - state.chats.len()) as u64)
    }

    async fn history(
        &self,
        id: &MemoryId,
        position: HistoryPosition,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>> {
        if limit == 0 && !self.is(Fault::AcceptsEmptyPages) {
            return Err(Error::configuration("empty"));
        }
        let state = self.state();
        if !self.is(Fault::HistorySkipsDamagedRows) {
            self.check(&state, id)?;
        }
        let chat = self.chat(&state, id);
        let moved = if self.is(Fault::PositionsChange) { chat.version } else { 0 };
        let flags = !self.is(Fault::SetsNoFlags);
        let mut entries: Vec<_> = chat
            .rows
            .iter()
            .map(|row| {
                let is_evicted = row.is_evicted && flags;
                HistoryEntry::new(row.position + moved, row.message.clone(), is_evicted)
            })
            .collect();
        let repeats = self.is(Fault::PagesRepeatTheCursor);
        match position {
            HistoryPosition::After(after) => {
                entries.retain(|e| e.position > after || repeats && e.position == after);
            }
            HistoryPosition::Before(before) => entries.retain(|entry| entry.position < before),
            HistoryPosition::Oldest | HistoryPosition::Newest => {}
        }
        let limit = if self.is(Fault::PagesAreLonger) { limit.saturating_add(1) } else { limit };
        let from_end = matches!(position, HistoryPosition::Before(_) | HistoryPosition::Newest);
        if from_end && !self.is(Fault::PagesStartAtTheOldest) {
            entries.drain(..entries.len().saturating_sub(limit));
        }
        entries.truncate(limit);
        Ok(entries)
    }

    async fn export_raw(&self, id: &MemoryId) -> Result<Vec<RawRecord>> {
        let state = self.state();
        if self.is(Fault::CannotExportDamage) {
            self.check(&state, id)?;
        }
        let chat = state.chats.get(&self.key(id)).cloned().unwrap_or_default();
        let rows = chat.rows.iter().filter(|_| !self.is(Fault::ExportsNothing));
        let raw = |row: &Row| {
            RawRecord::new(format!("message {}", row.position), format!("{:?}", row.message))
        };
        let journal = chat.journal.iter().filter(|_| !self.is(Fault::ExportsNoJournals));
        let records = journal.flat_map(|journal| journal.records.records.iter().zip(1..));
        let records = records
            .map(|(record, number)| RawRecord::new(format!("record {number}"), record.as_bytes()));
        Ok(rows.map(raw).chain(records).collect())
    }
}

impl FaultyStore {
    fn describe(&self, id: &str, chat: &Chat) -> Option<Conversation> {
        let is_listed = match self.0.fault {
            Fault::ListsEmptyConversations => true,
            Fault::ListsJournalsAsConversations => chat.journal.is_some() || !chat.rows.is_empty(),
            _ => !chat.rows.is_empty(),
        };
        let count = match self.0.fault {
            Fault::CountsEvicted => chat.positions,
            _ => chat.current().count() as u64,
        };
        is_listed.then(|| Conversation::new(id.into(), count, self.time(chat.last_updated)))
    }
}
