//! Implementation of the store traits. Each operation is retried as a whole.

use super::PostgresChatMemoryStore;
use super::error_mapping::{AttemptFailure, retry};
use ai_services_core::Result;
use ai_services_core::memory::{
    Change, ChatMemoryStore, CommitState, Conversation, ConversationLeases, ConversationStore,
    HistoryEntry, HistoryPosition, MemoryId, RawRecord, RequestId, Snapshot, TurnJournals,
};
use ai_services_core::message::ChatMessage;
use ai_services_core::store_kit::cache::{KnownConversation, LoadedConversation};
use ai_services_core::store_kit::check_limit;
use ai_services_core::store_kit::limits::check_id;
use ai_services_core::store_kit::time::millis;
use async_trait::async_trait;
use std::time::SystemTime;

#[async_trait]
impl ChatMemoryStore for PostgresChatMemoryStore {
    async fn get_messages(&self, id: &MemoryId) -> Result<Vec<ChatMessage>> {
        Ok(self.load(id).await?.messages().to_vec())
    }

    async fn update_messages(&self, id: &MemoryId, messages: &[ChatMessage]) -> Result<()> {
        self.commit(id, Change::replace(None, messages.iter().cloned().collect())).await
    }

    async fn delete_messages(&self, id: &MemoryId) -> Result<()> {
        check_id(id)?;
        retry(|_| self.delete_once(id)).await?;
        self.0.cache.remove(id);
        Ok(())
    }

    async fn load(&self, id: &MemoryId) -> Result<Snapshot> {
        check_id(id)?;
        let load = |known: Option<KnownConversation>| async move {
            retry(|_| self.load_once(id, known.as_ref())).await
        };
        self.0.cache.load(id, load).await
    }

    async fn commit(&self, id: &MemoryId, change: Change) -> Result<()> {
        check_id(id)?;
        self.commit_change(id, &change).await?;
        self.0.cache.committed(id, &change);
        Ok(())
    }

    async fn commit_state(&self, id: &MemoryId, request: &RequestId) -> Result<CommitState> {
        check_id(id)?;
        retry(|_| self.read_commit_state(id, request)).await
    }

    fn leases(&self) -> Option<&dyn ConversationLeases> {
        self.0.leases.map(|_| self as _)
    }

    fn journals(&self) -> Option<&dyn TurnJournals> {
        Some(self)
    }
}

#[async_trait]
impl ConversationStore for PostgresChatMemoryStore {
    /// Returns conversations sorted by the SHA-256 of their ids.
    async fn conversations(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<Conversation>> {
        let limit = check_limit(limit)?;
        retry(|_| self.read_conversations(after, limit)).await
    }

    async fn conversation(&self, id: &MemoryId) -> Result<Option<Conversation>> {
        check_id(id)?;
        retry(|_| self.read_conversation(id)).await
    }

    /// Reads every head of a conversation or a journal once, without an index. The returned number may be too low
    /// if a connection breaks.
    async fn delete_not_updated_since(&self, time: SystemTime) -> Result<u64> {
        self.delete_unused(millis(time)).await
    }

    async fn history(
        &self,
        id: &MemoryId,
        position: HistoryPosition,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>> {
        check_id(id)?;
        let limit = check_limit(limit)?;
        retry(|_| self.read_history(id, position, limit)).await
    }

    async fn export_raw(&self, id: &MemoryId) -> Result<Vec<RawRecord>> {
        check_id(id)?;
        retry(|_| self.read_raw(id)).await
    }
}

impl PostgresChatMemoryStore {
    async fn load_once(
        &self,
        id: &MemoryId,
        known: Option<&KnownConversation>,
    ) -> Result<LoadedConversation, AttemptFailure> {
        let mut connection = self.connect().await?;
        self.read(&mut connection, id, known).await
    }
}
