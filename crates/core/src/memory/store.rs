//! The trait of stores for conversations.

use super::{Change, CommitState, ConversationLeases, MemoryId, RequestId, Snapshot, TurnJournals};
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
///
/// Implementations carry `#[ai_services::async_trait]`. Without it, the compiler reports that "lifetime
/// parameters or bounds on method … do not match the trait declaration".
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
    /// Fails if the store cannot be written. The store is unchanged then, unless the kind is
    /// [`ErrorKind::UnknownOutcome`](crate::ErrorKind::UnknownOutcome); see [`commit`](Self::commit).
    async fn update_messages(&self, id: &MemoryId, messages: &[ChatMessage]) -> Result<()>;

    /// Deletes the conversation of this id, with its open journal. An unknown id is not an error.
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

    /// Applies a change in one atomic step: whole or not at all.
    ///
    /// If the future is dropped, or the process ends, while the change is under way, it is unknown
    /// whether it was applied.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if the conversation no longer
    /// has the version that the change expects, or if the lease of the change is no longer held. Such
    /// an error is retryable: load the conversation, and make the change again. A conflict that is
    /// not retryable means that another change of the same [request](Change::with_request) was
    /// applied, or that the journal that the change [closes](Change::closing) has another position.
    ///
    /// Returns [`ErrorKind::UnknownOutcome`](crate::ErrorKind::UnknownOutcome) with the detail
    /// [`UnknownCommit`](super::UnknownCommit) if the change may have been applied, for example
    /// because the connection broke before the answer arrived. Otherwise fails as
    /// [`update_messages`](Self::update_messages). The store is unchanged after all other errors.
    async fn commit(&self, id: &MemoryId, change: Change) -> Result<()> {
        let mut messages = if change.is_replacement() {
            Messages::new()
        } else {
            self.get_messages(id).await?.into()
        };
        change.apply(&mut messages);
        self.update_messages(id, &messages.to_vec()).await
    }

    /// Returns whether a change of this request was applied to this conversation.
    ///
    /// Call it after a commit whose outcome is unknown: the error was
    /// [`ErrorKind::UnknownOutcome`](crate::ErrorKind::UnknownOutcome), the future of the call was
    /// dropped, or the process ended. The stores of this framework remember the requests of the last
    /// 32 commits of each conversation. Deleting a conversation deletes this record, too.
    ///
    /// [`CommitState::Committed`] is final. [`CommitState::NotFound`] may change while the server
    /// still works on the commit, which takes at most the time limit of the store for one operation.
    /// A new call with the same request id is safe at any time: if the lost commit is applied
    /// nevertheless, the second one is rejected.
    ///
    /// The default implementation returns [`CommitState::NotRecorded`].
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::memory::{
    ///     Change, ChatMemoryStore, CommitState, InMemoryChatMemoryStore, MemoryId, RequestId,
    /// };
    /// use ai_services::message::ChatMessage;
    ///
    /// # async fn example() -> ai_services::Result<()> {
    /// let store = InMemoryChatMemoryStore::new();
    /// let (id, request) = (MemoryId::from("klaus"), RequestId::new("order-77")?);
    /// assert_eq!(store.commit_state(&id, &request).await?, CommitState::NotFound);
    ///
    /// let turn = vec![ChatMessage::user("Hello!"), ChatMessage::ai("Hello, Klaus!")];
    /// let change = Change::advance(None, 0..0, turn).with_request(request.clone());
    /// store.commit(&id, change.clone()).await?;
    /// assert_eq!(store.commit_state(&id, &request).await?, CommitState::Committed);
    ///
    /// // A second change of the request is rejected.
    /// assert!(store.commit(&id, change).await.is_err());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
    /// ```
    async fn commit_state(&self, id: &MemoryId, request: &RequestId) -> Result<CommitState> {
        let _ = (id, request);
        Ok(CommitState::NotRecorded)
    }

    /// Returns the leases of this store, if it supports leases.
    fn leases(&self) -> Option<&dyn ConversationLeases> {
        None
    }

    /// Returns the journals of this store, if it supports durable turns. Default: `None`.
    ///
    /// A store with journals returns their positions with its [snapshots](Snapshot::with_journal), and
    /// applies a change that [closes](Change::closing) a journal in one step with the deletion of that
    /// journal.
    fn journals(&self) -> Option<&dyn TurnJournals> {
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
        async fn commit_state<'a, 'b, 'c>(
            &'a self,
            id: &'b MemoryId,
            request: &'c RequestId,
        ) -> Result<CommitState>;
        fn leases(&self) -> Option<&dyn ConversationLeases>;
        fn journals(&self) -> Option<&dyn TurnJournals>;
    }
}
