//! What the store does for services and operators, each with its attempts.

use super::PostgresChatMemoryStore;
use super::fault::{Fault, retried};
use ai_services_core::Result;
use ai_services_core::memory::{
    Change, ChatMemoryStore, Conversation, ConversationLeases, ConversationStore, HistoryEntry,
    HistoryPosition, MemoryId, RawRecord, Snapshot, check_limit,
};
use ai_services_core::message::ChatMessage;
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
        retried(|_| self.delete_once(id)).await
    }

    async fn load(&self, id: &MemoryId) -> Result<Snapshot> {
        check_id(id)?;
        retried(|_| self.load_once(id)).await
    }

    async fn commit(&self, id: &MemoryId, change: Change) -> Result<()> {
        check_id(id)?;
        self.commit_change(id, &change).await
    }

    fn leases(&self) -> Option<&dyn ConversationLeases> {
        self.0.leases.map(|_| self as _)
    }
}

#[async_trait]
impl ConversationStore for PostgresChatMemoryStore {
    /// In the order of the SHA-256 of the ids.
    async fn conversations(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<Conversation>> {
        let limit = check_limit(limit)?;
        retried(|_| self.read_conversations(after, limit)).await
    }

    async fn conversation(&self, id: &MemoryId) -> Result<Option<Conversation>> {
        check_id(id)?;
        retried(|_| self.read_conversation(id)).await
    }

    /// Looks at every head once, without an index. The count may be too low if a connection breaks.
    async fn delete_unused_since(&self, time: SystemTime) -> Result<u64> {
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
        retried(|_| self.read_history(id, position, limit)).await
    }

    async fn export_raw(&self, id: &MemoryId) -> Result<Vec<RawRecord>> {
        check_id(id)?;
        retried(|_| self.read_raw(id)).await
    }
}

impl PostgresChatMemoryStore {
    async fn load_once(&self, id: &MemoryId) -> Result<Snapshot, Fault> {
        let mut connection = self.connect().await?;
        self.read(&mut connection, id).await
    }
}
