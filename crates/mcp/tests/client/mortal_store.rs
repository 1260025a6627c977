//! A store whose process ends at a chosen write.

use ai_services::memory::{
    Change, ChatMemoryStore, CommitState, JournalPosition, LeaseToken, MemoryId, OpenJournal,
    RequestId, Snapshot, TurnJournal, TurnJournals,
};
use ai_services::message::ChatMessage;
use ai_services::{Error, Result, async_trait};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;

/// The points that a process passes before it ends.
#[derive(Clone)]
pub(crate) struct Life {
    left: Arc<AtomicUsize>,
    ended: Arc<Notify>,
}

impl Life {
    /// `points` is the number of points that the process passes.
    pub(crate) fn of(points: usize) -> Self {
        Self { left: Arc::new(AtomicUsize::new(points)), ended: Arc::default() }
    }

    /// Runs a part of the process. Returns `None` if the process ended in it.
    pub(crate) async fn run<T>(&self, part: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            () = self.ended.notified() => None,
            outcome = pin!(part) => Some(outcome),
        }
    }

    async fn point(&self) {
        if self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
            == Ok(1)
        {
            self.ended.notify_one();
            std::future::pending::<()>().await;
        }
    }
}

/// A store with a point before and after each write.
pub(crate) struct MortalStore {
    pub(crate) store: Arc<dyn ChatMemoryStore>,
    pub(crate) life: Life,
}

impl MortalStore {
    fn inner(&self) -> Result<&dyn TurnJournals> {
        self.store.journals().ok_or_else(|| Error::configuration("no journals"))
    }
}

#[async_trait]
impl ChatMemoryStore for MortalStore {
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
        self.store.load(id).await
    }

    async fn commit(&self, id: &MemoryId, change: Change) -> Result<()> {
        self.life.point().await;
        let outcome = self.store.commit(id, change).await;
        self.life.point().await;
        outcome
    }

    async fn commit_state(&self, id: &MemoryId, request: &RequestId) -> Result<CommitState> {
        self.store.commit_state(id, request).await
    }

    fn journals(&self) -> Option<&dyn TurnJournals> {
        self.store.journals().map(|_| self as _)
    }
}

#[async_trait]
impl TurnJournals for MortalStore {
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
        self.life.point().await;
        let outcome = self.inner()?.append(id, position, records, lease).await;
        self.life.point().await;
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
