//! A store with a point before and after each write, and after each load that finds an open turn.

use super::outside::Outside;
use ai_services::memory::{
    Change, ChatMemoryStore, CommitState, ConversationLeases, JournalPosition, LeaseToken,
    MemoryId, OpenJournal, RequestId, Snapshot, TurnJournal, TurnJournals,
};
use ai_services::message::ChatMessage;
use ai_services::{Result, async_trait};
use std::sync::Arc;

/// A store with a point before and after each write, and after each load that finds an open turn.
#[allow(missing_debug_implementations, reason = "the outside world has nothing to show")]
pub struct WatchedStore<S> {
    /// The store.
    pub store: S,
    /// The outside world, which has the points.
    pub outside: Arc<dyn Outside>,
}

impl<S: ChatMemoryStore> WatchedStore<S> {
    fn inner(&self) -> Result<&dyn TurnJournals> {
        self.store.journals().ok_or_else(|| ai_services::Error::configuration("no journals"))
    }
}

#[async_trait]
impl<S: ChatMemoryStore> ChatMemoryStore for WatchedStore<S> {
    async fn get_messages(&self, id: &MemoryId) -> Result<Vec<ChatMessage>> {
        self.store.get_messages(id).await
    }

    async fn update_messages(&self, id: &MemoryId, messages: &[ChatMessage]) -> Result<()> {
        self.store.update_messages(id, messages).await
    }

    async fn delete_messages(&self, id: &MemoryId) -> Result<()> {
        self.store.delete_messages(id).await
    }

    async fn load(&self, id: &MemoryId) -> Result<Snapshot> {
        let snapshot = self.store.load(id).await?;
        if snapshot.journal().is_some() {
            self.outside.point("after an open turn was found").await;
        }
        Ok(snapshot)
    }

    async fn commit(&self, id: &MemoryId, change: Change) -> Result<()> {
        self.outside.point("before the commit").await;
        let outcome = self.store.commit(id, change).await;
        self.outside.point("after the commit").await;
        outcome
    }

    async fn commit_state(&self, id: &MemoryId, request: &RequestId) -> Result<CommitState> {
        self.store.commit_state(id, request).await
    }

    fn leases(&self) -> Option<&dyn ConversationLeases> {
        self.store.leases()
    }

    fn journals(&self) -> Option<&dyn TurnJournals> {
        self.store.journals().map(|_| self as _)
    }
}

#[async_trait]
impl<S: ChatMemoryStore> TurnJournals for WatchedStore<S> {
    async fn journal(&self, id: &MemoryId) -> Result<Option<TurnJournal>> {
        self.inner()?.journal(id).await
    }

    async fn append(
        &self,
        id: &MemoryId,
        position: JournalPosition,
        records: &[String],
        lease: Option<LeaseToken>,
    ) -> Result<JournalPosition> {
        self.outside.point("before an append").await;
        let outcome = self.inner()?.append(id, position, records, lease).await;
        self.outside.point("after an append").await;
        outcome
    }

    async fn discard(&self, id: &MemoryId, position: JournalPosition) -> Result<()> {
        self.inner()?.discard(id, position).await
    }

    async fn open_journals(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<OpenJournal>> {
        self.inner()?.open_journals(after, limit).await
    }
}
