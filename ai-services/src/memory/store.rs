//! Where messages are kept.

use super::{Change, ConversationLeases, MemoryId, Snapshot};
use crate::error::Result;
use crate::message::{ChatMessage, Messages};
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// Keeps the messages of many conversations.
///
/// Three methods are enough for a store of your own. [`load`](Self::load) and
/// [`commit`](Self::commit) are what a turn uses; their defaults read and rewrite the whole list and
/// know no versions, so that of two writers in two processes the last one wins. A store that
/// implements them writes only what a turn adds, and turns the second writer away.
///
/// `ai_services::testing::stores` (feature `testing`) checks all that is promised here.
#[async_trait]
pub trait ChatMemoryStore: Send + Sync {
    /// All messages of this id, oldest first; empty for an unknown id.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    async fn get_messages(&self, id: &MemoryId) -> Result<Vec<ChatMessage>>;

    /// Replaces all messages of this id.
    ///
    /// # Errors
    ///
    /// If the store cannot be written. It is unchanged then.
    async fn update_messages(&self, id: &MemoryId, messages: &[ChatMessage]) -> Result<()>;

    /// Forgets this id. Unknown ids are not an error.
    ///
    /// # Errors
    ///
    /// If the store cannot be written.
    async fn delete_messages(&self, id: &MemoryId) -> Result<()>;

    /// All messages of this id with the version of the conversation.
    ///
    /// # Errors
    ///
    /// As [`get_messages`](Self::get_messages).
    async fn load(&self, id: &MemoryId) -> Result<Snapshot> {
        Ok(Snapshot::new(self.get_messages(id).await?, None))
    }

    /// Applies a change in one step.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if the conversation no longer has the
    /// version that the change expects, or if the lease that the change names is not held any more;
    /// else as [`update_messages`](Self::update_messages). The store is unchanged then.
    async fn commit(&self, id: &MemoryId, change: Change) -> Result<()> {
        let mut messages = match change.is_replacement() {
            true => Messages::new(),
            false => self.get_messages(id).await?.into(),
        };
        change.apply(&mut messages);
        self.update_messages(id, &messages.to_vec()).await
    }

    /// The leases that processes take turns by, if this store gives any.
    fn leases(&self) -> Option<&dyn ConversationLeases> {
        None
    }
}

// The inner future is handed on as it is: an async function would put it into a second box.
impl<S: ChatMemoryStore + ?Sized> ChatMemoryStore for Arc<S> {
    fn get_messages<'a, 'b, 'z>(
        &'a self,
        id: &'b MemoryId,
    ) -> BoxFuture<'z, Result<Vec<ChatMessage>>>
    where
        'a: 'z,
        'b: 'z,
        Self: 'z,
    {
        S::get_messages(self, id)
    }

    fn update_messages<'a, 'b, 'c, 'z>(
        &'a self,
        id: &'b MemoryId,
        messages: &'c [ChatMessage],
    ) -> BoxFuture<'z, Result<()>>
    where
        'a: 'z,
        'b: 'z,
        'c: 'z,
        Self: 'z,
    {
        S::update_messages(self, id, messages)
    }

    fn delete_messages<'a, 'b, 'z>(&'a self, id: &'b MemoryId) -> BoxFuture<'z, Result<()>>
    where
        'a: 'z,
        'b: 'z,
        Self: 'z,
    {
        S::delete_messages(self, id)
    }

    fn load<'a, 'b, 'z>(&'a self, id: &'b MemoryId) -> BoxFuture<'z, Result<Snapshot>>
    where
        'a: 'z,
        'b: 'z,
        Self: 'z,
    {
        S::load(self, id)
    }

    fn commit<'a, 'b, 'z>(&'a self, id: &'b MemoryId, change: Change) -> BoxFuture<'z, Result<()>>
    where
        'a: 'z,
        'b: 'z,
        Self: 'z,
    {
        S::commit(self, id, change)
    }

    fn leases(&self) -> Option<&dyn ConversationLeases> {
        S::leases(self)
    }
}
