//! A store for one conversation.

use super::slot::Slot;
use super::{
    Change, ChatMemoryStore, CommitState, EvictedMessages, JournalPosition, LeaseToken, MemoryId,
    OpenJournal, RequestId, Snapshot, TurnJournal, TurnJournals, check_limit,
};
use crate::error::{Error, ErrorKind, Result};
use crate::message::ChatMessage;
use async_trait::async_trait;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An in-memory store for the messages of one id.
///
/// A window that is built without a store keeps its messages in the same way. Access to any other id is an
/// error, because it would mix two conversations.
///
/// # Examples
///
/// ```
/// use ai_services::memory::{ChatMemoryStore, MemoryId, SingleSlotChatMemoryStore};
///
/// # async fn example() {
/// let store = SingleSlotChatMemoryStore::new("klaus");
/// assert!(store.get_messages(&MemoryId::from("klaus")).await.is_ok());
/// assert!(store.get_messages(&MemoryId::from("anna")).await.is_err());
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example());
/// ```
#[derive(Debug)]
pub struct SingleSlotChatMemoryStore {
    id: MemoryId,
    slot: Mutex<Slot>,
}

impl SingleSlotChatMemoryStore {
    /// Creates an empty store for this id.
    #[must_use]
    pub fn new(id: impl Into<MemoryId>) -> Self {
        Self { id: id.into(), slot: Mutex::default() }
    }

    fn check(&self, id: &MemoryId) -> Result<()> {
        if *id == self.id {
            return Ok(());
        }
        let message = format!(
            "this store holds the messages of `{}` only, not of `{id}`; use \
             `InMemoryChatMemoryStore` for several ids",
            self.id
        );
        Err(Error::new(ErrorKind::Store, message))
    }

    fn lock(&self) -> MutexGuard<'_, Slot> {
        // The lock is never held across code that can panic.
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the conversation as it is.
    pub(super) fn snapshot(&self) -> Snapshot {
        self.lock().snapshot()
    }

    /// Applies a change if it was made for the current version.
    pub(super) fn apply(&self, change: Change) -> Result<()> {
        let mut slot = self.lock();
        let version = slot.version + 1;
        slot.commit(&self.id, change, version, EvictedMessages::Delete)
    }

    /// Deletes the messages and the journal.
    pub(super) fn delete(&self) -> Result<()> {
        let mut slot = self.lock();
        let version = slot.version + 1;
        slot.clear(version);
        Ok(())
    }
}

#[async_trait]
impl ChatMemoryStore for SingleSlotChatMemoryStore {
    async fn get_messages(&self, id: &MemoryId) -> Result<Vec<ChatMessage>> {
        Ok(self.load(id).await?.messages().to_vec())
    }

    async fn update_messages(&self, id: &MemoryId, messages: &[ChatMessage]) -> Result<()> {
        let change = Change::replace(None, messages.iter().cloned().collect());
        self.commit(id, change).await
    }

    async fn delete_messages(&self, id: &MemoryId) -> Result<()> {
        self.check(id)?;
        self.delete()
    }

    async fn load(&self, id: &MemoryId) -> Result<Snapshot> {
        self.check(id)?;
        Ok(self.snapshot())
    }

    async fn commit(&self, id: &MemoryId, change: Change) -> Result<()> {
        self.check(id)?;
        self.apply(change)
    }

    async fn commit_state(&self, id: &MemoryId, request: &RequestId) -> Result<CommitState> {
        self.check(id)?;
        Ok(self.lock().commit_state(request))
    }

    fn journals(&self) -> Option<&dyn TurnJournals> {
        Some(self)
    }
}

#[async_trait]
impl TurnJournals for SingleSlotChatMemoryStore {
    async fn journal(&self, id: &MemoryId) -> Result<Option<TurnJournal>> {
        self.check(id)?;
        Ok(self.lock().journal())
    }

    /// There are no leases: `lease` is ignored.
    async fn append(
        &self,
        id: &MemoryId,
        position: JournalPosition,
        records: &[String],
        _lease: Option<LeaseToken>,
    ) -> Result<JournalPosition> {
        self.check(id)?;
        self.lock().append(id, position, records)
    }

    async fn discard(&self, id: &MemoryId, position: JournalPosition) -> Result<()> {
        self.check(id)?;
        self.lock().discard_journal(id, position)
    }

    async fn open_journals(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<OpenJournal>> {
        check_limit(limit)?;
        let open = self.lock().open_journal(&self.id);
        Ok(open.into_iter().filter(|open| after < Some(&open.id)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn access_to_another_id_is_rejected() {
        let store = SingleSlotChatMemoryStore::new("klaus");
        let anna = MemoryId::from("anna");
        let errors = [
            store.get_messages(&anna).await.map(drop).unwrap_err(),
            store.update_messages(&anna, &[]).await.unwrap_err(),
            store.delete_messages(&anna).await.unwrap_err(),
            store.load(&anna).await.map(drop).unwrap_err(),
        ];
        assert!(errors.iter().all(|error| error.kind() == ErrorKind::Store));
    }

    #[tokio::test]
    async fn second_writer_gets_a_conflict() {
        let (store, id) = (SingleSlotChatMemoryStore::new("klaus"), MemoryId::from("klaus"));
        let version = store.load(&id).await.unwrap().version();
        let change = || Change::advance(version, 0..0, vec![ChatMessage::user("a")]);
        store.commit(&id, change()).await.unwrap();
        let error = store.commit(&id, change()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert_eq!(store.get_messages(&id).await.unwrap().len(), 1);
    }
}
