//! The trait of stores for conversations.

use super::{Change, ConversationLeases, MemoryId, Snapshot};
use crate::error::Result;
use crate::forward::forward_through_arc;
use crate::message::{ChatMessage, Messages};
use async_trait::async_trait;

/// A store for the messages of many conversations.
///
/// Three methods are enough for a store of your own. A turn uses [`load`](Self::load) and
/// [`commit`](Self::commit). Their defaults read and rewrite the whole list and have no versions,
/// so with two writers in two processes the last one wins. A store that implements them writes only
/// the messages that a turn adds, and rejects the second writer.
///
/// `ai_services::testing::stores` (feature `testing`) checks the whole contract of this trait.
#[async_trait]
pub trait ChatMemoryStore: Send + Sync {
    /// Returns all messages of this id, oldest first. Empty for an unknown id.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    async fn get_messages(&self, id: &MemoryId) -> Result<Vec<ChatMessage>>;

    /// Replaces all messages of this id.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written. The store is unchanged then.
    async fn update_messages(&self, id: &MemoryId, messages: &[ChatMessage]) -> Result<()>;

    /// Deletes the conversation of this id. An unknown id is not an error.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written.
    async fn delete_messages(&self, id: &MemoryId) -> Result<()>;

    /// Returns all messages of this id with the version of the conversation.
    ///
    /// # Errors
    ///
    /// Same as [`get_messages`](Self::get_messages).
    async fn load(&self, id: &MemoryId) -> Result<Snapshot> {
        Ok(Snapshot::new(self.get_messages(id).await?, None))
    }

    /// Applies a change in one atomic step.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if the conversation no longer
    /// has the version that the change expects, or if the lease of the change is no longer held.
    /// Otherwise the same as [`update_messages`](Self::update_messages). The store is unchanged
    /// after an error.
    async fn commit(&self, id: &MemoryId, change: Change) -> Result<()> {
        let mut messages = if change.is_replacement() {
            Messages::new()
        } else {
            self.get_messages(id).await?.into()
        };
        change.apply(&mut messages);
        self.update_messages(id, &messages.to_vec()).await
    }

    /// Returns the leases of this store, if it supports leases.
    fn leases(&self) -> Option<&dyn ConversationLeases> {
        None
    }
}

forward_through_arc! {
    ChatMemoryStore {
        async fn get_messages<'a, 'b>(&'a self, id: &'b MemoryId) -> Result<Vec<ChatMessage>>;
        async fn update_messages<'a, 'b, 'c>(
            &'a self,
            id: &'b MemoryId,
            messages: &'c [ChatMessage],
        ) -> Result<()>;
        async fn delete_messages<'a, 'b>(&'a self, id: &'b MemoryId) -> Result<()>;
        async fn load<'a, 'b>(&'a self, id: &'b MemoryId) -> Result<Snapshot>;
        async fn commit<'a, 'b>(&'a self, id: &'b MemoryId, change: Change) -> Result<()>;
        fn leases(&self) -> Option<&dyn ConversationLeases>;
    }
}
