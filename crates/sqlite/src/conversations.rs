//! Implementation of the store traits: each operation is a task for a thread of the database.

use super::commit::Commit;
use super::{SqliteChatMemoryStore, delete, read};
use ai_services_core::Result;
use ai_services_core::memory::{
    Change, ChatMemoryStore, CommitState, Conversation, ConversationLeases, ConversationStore,
    HistoryEntry, HistoryPosition, MemoryId, RawRecord, RequestId, Snapshot, TurnJournals,
};
use ai_services_core::message::ChatMessage;
use ai_services_core::store_kit::cache::KnownConversation;
use ai_services_core::store_kit::check_limit;
use ai_services_core::store_kit::{limits, time};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::SystemTime;

/// Number of conversations that one transaction deletes.
const DELETED_AT_ONCE: usize = 64;

#[async_trait]
impl ChatMemoryStore for SqliteChatMemoryStore {
    async fn get_messages(&self, id: &MemoryId) -> Result<Vec<ChatMessage>> {
        Ok(self.load(id).await?.messages().to_vec())
    }

    async fn update_messages(&self, id: &MemoryId, messages: &[ChatMessage]) -> Result<()> {
        self.commit(id, Change::replace(None, messages.iter().cloned().collect())).await
    }

    async fn delete_messages(&self, id: &MemoryId) -> Result<()> {
        limits::check_id(id)?;
        let owned = id.clone();
        let work = move |connection: &_| delete::delete(connection, owned.as_str());
        self.write("delete", Some(id), work).await?;
        self.0.cache.remove(id);
        Ok(())
    }

    async fn load(&self, id: &MemoryId) -> Result<Snapshot> {
        limits::check_id(id)?;
        let load = |known: Option<KnownConversation>| {
            let owned = id.clone();
            let work = move |connection: &_| read::load(connection, &owned, known.as_ref());
            self.read("load", Some(id), work)
        };
        self.0.cache.load(id, load).await
    }

    async fn commit(&self, id: &MemoryId, change: Change) -> Result<()> {
        limits::check_id(id)?;
        let commit = Arc::new(Commit::new(id, change, self.0.evicted_messages)?);
        let shared = Arc::clone(&commit);
        let outcome = self.0.database.write(move |connection| shared.run(connection)).await;
        outcome.map_err(|failure| commit.explain(failure))?;
        self.0.cache.committed(id, commit.change());
        Ok(())
    }

    async fn commit_state(&self, id: &MemoryId, request: &RequestId) -> Result<CommitState> {
        limits::check_id(id)?;
        let (owned, request) = (id.clone(), request.clone());
        let work = move |connection: &_| read::commit_state(connection, &owned, &request);
        self.read("look for a commit to", Some(id), work).await
    }

    fn leases(&self) -> Option<&dyn ConversationLeases> {
        self.lease_options().map(|_| self as _)
    }

    fn journals(&self) -> Option<&dyn TurnJournals> {
        Some(self)
    }
}

#[async_trait]
impl ConversationStore for SqliteChatMemoryStore {
    /// Returns conversations sorted by id.
    async fn conversations(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<Conversation>> {
        let limit = check_limit(limit)?;
        let after = after.cloned();
        let work = move |connection: &_| read::conversations(connection, after.as_ref(), limit);
        self.read("list", None, work).await
    }

    async fn conversation(&self, id: &MemoryId) -> Result<Option<Conversation>> {
        limits::check_id(id)?;
        let owned = id.clone();
        self.read("find", Some(id), move |connection| read::conversation(connection, &owned)).await
    }

    async fn delete_not_updated_since(&self, time: SystemTime) -> Result<u64> {
        let time = time::millis(time);
        let (mut after, mut deleted) = (String::new(), 0);
        loop {
            let found =
                move |connection: &_| delete::unused(connection, time, &after, DELETED_AT_ONCE);
            let ids = self.read("find unused", None, found).await?;
            let Some(last) = ids.last() else { return Ok(deleted) };
            after = last.as_str().to_owned();
            let work = move |connection: &_| delete::delete_unused(connection, &ids, time);
            deleted += self.write("delete unused", None, work).await?;
        }
    }

    async fn history(
        &self,
        id: &MemoryId,
        position: HistoryPosition,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>> {
        let limit = check_limit(limit)?;
        limits::check_id(id)?;
        let owned = id.clone();
        let work = move |connection: &_| read::history(connection, &owned, position, limit);
        self.read("read the history of", Some(id), work).await
    }

    async fn export_raw(&self, id: &MemoryId) -> Result<Vec<RawRecord>> {
        limits::check_id(id)?;
        let owned = id.clone();
        self.read("export", Some(id), move |connection| read::export_raw(connection, &owned)).await
    }
}
