//! A store that counts its writes.

use ai_services::memory::{Change, ChatMemoryStore, InMemoryChatMemoryStore, MemoryId, Snapshot};
use ai_services::message::ChatMessage;
use ai_services::{Result, async_trait};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Clone, Default)]
pub(super) struct Recorder {
    store: InMemoryChatMemoryStore,
    writes: Arc<AtomicUsize>,
}

impl Recorder {
    /// Returns the number of writes since the last call.
    pub(super) fn take_writes(&self) -> usize {
        self.writes.swap(0, Ordering::Relaxed)
    }

    fn written(&self) -> &InMemoryChatMemoryStore {
        self.writes.fetch_add(1, Ordering::Relaxed);
        &self.store
    }
}

#[async_trait]
impl ChatMemoryStore for Recorder {
    async fn get_messages(&self, id: &MemoryId) -> Result<Vec<ChatMessage>> {
        self.store.get_messages(id).await
    }

    async fn update_messages(&self, id: &MemoryId, messages: &[ChatMessage]) -> Result<()> {
        self.written().update_messages(id, messages).await
    }

    async fn delete_messages(&self, id: &MemoryId) -> Result<()> {
        self.written().delete_messages(id).await
    }

    async fn load(&self, id: &MemoryId) -> Result<Snapshot> {
        self.store.load(id).await
    }

    async fn commit(&self, id: &MemoryId, change: Change) -> Result<()> {
        self.written().commit(id, change).await
    }
}
