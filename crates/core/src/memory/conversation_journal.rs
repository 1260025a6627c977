//! The journal of one conversation in its store.

use super::commits::already_committed;
use super::{
    ChatMemoryStore, CommitState, JournalPosition, LeaseToken, MemoryId, RequestId, TurnJournal,
    TurnJournals,
};
use crate::error::{Error, ErrorKind, Result};
use std::fmt;
use std::sync::Arc;

/// The journal of one conversation in its store.
#[derive(Clone)]
pub struct ConversationJournal {
    store: Arc<dyn ChatMemoryStore>,
    id: MemoryId,
}

impl ConversationJournal {
    /// Returns the journal of `id`, if the store has journals.
    #[must_use]
    pub fn new(store: &Arc<dyn ChatMemoryStore>, id: &MemoryId) -> Option<Self> {
        store.journals().map(|_| Self { store: Arc::clone(store), id: id.clone() })
    }

    /// Returns the id of the conversation.
    #[must_use]
    pub fn id(&self) -> &MemoryId {
        &self.id
    }

    /// Returns the version of the conversation. Fails as [`ChatMemoryStore::load`].
    #[doc(hidden)]
    pub async fn conversation_version(&self) -> Result<Option<u64>> {
        Ok(self.store.load(&self.id).await?.version())
    }

    /// Fails if a turn of the request was committed, and as [`ChatMemoryStore::commit_state`].
    #[doc(hidden)]
    pub async fn check_request(&self, request: &RequestId) -> Result<()> {
        match self.store.commit_state(&self.id, request).await? {
            CommitState::Committed => Err(already_committed(&self.id, request)),
            CommitState::NotFound | CommitState::NotRecorded => Ok(()),
        }
    }

    /// Returns the open journal. Fails as [`TurnJournals::journal`].
    #[doc(hidden)]
    pub async fn read(&self) -> Result<Option<TurnJournal>> {
        self.journals()?.journal(&self.id).await
    }

    /// Appends records. Fails as [`TurnJournals::append`].
    #[doc(hidden)]
    pub async fn append(
        &self,
        position: JournalPosition,
        records: &[String],
        lease: Option<LeaseToken>,
    ) -> Result<JournalPosition> {
        self.journals()?.append(&self.id, position, records, lease).await
    }

    /// Deletes the journal. Fails as [`TurnJournals::discard`].
    #[doc(hidden)]
    pub async fn discard(&self, position: JournalPosition) -> Result<()> {
        self.journals()?.discard(&self.id, position).await
    }

    fn journals(&self) -> Result<&dyn TurnJournals> {
        let error = || Error::new(ErrorKind::Store, "the store no longer has journals");
        self.store.journals().ok_or_else(error)
    }
}

impl fmt::Debug for ConversationJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConversationJournal").field("id", &self.id).finish_non_exhaustive()
    }
}
