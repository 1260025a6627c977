//! Chat memory: what a model is reminded of, apart for each id.
//!
//! A [`ChatMemory`] holds the messages of one conversation and decides how many of them a model
//! sees; a [`ChatMemoryStore`] keeps the messages of all conversations. A service asks its
//! [`ChatMemoryProvider`] for the memory of an id, loads it once at the start of a turn, and commits
//! the whole turn once at its end.
//!
//! Several processes may serve the same conversations from one store in a database. A commit names the
//! version that it was made for, and whoever comes second is turned away: its turn is played again if no
//! tool ran, else the call fails with [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) and the
//! finished answer ([`UnfinishedTurn`](crate::UnfinishedTurn)). A store that gives
//! [leases](ConversationLeases) lets processes take turns before the model is asked.

mod change;
mod conversation;
mod difference;
mod history;
mod in_memory;
mod lease;
mod message_window;
mod provider;
mod single_slot;
mod slot;
mod store;
mod token_window;
mod tokens;
mod turn;
mod unreadable;
mod window;

pub use crate::invocation::{MemoryId, ToMemoryId};
pub use change::Change;
pub use conversation::{
    Conversation, ConversationStore, EvictedMessages, HistoryEntry, HistoryPosition, RawRecord,
};
pub use in_memory::{InMemoryChatMemoryStore, InMemoryChatMemoryStoreBuilder};
pub use lease::{ConversationLeases, Lease, LeaseOptions, LeaseRequest, LeaseToken};
pub use message_window::{MessageWindowChatMemory, MessageWindowChatMemoryBuilder};
pub use provider::{ChatMemoryProvider, IntoChatMemory};
pub use single_slot::SingleSlotChatMemoryStore;
pub use store::ChatMemoryStore;
pub use token_window::{TokenWindowChatMemory, TokenWindowChatMemoryBuilder};
pub(crate) use tokens::Counted;
#[cfg(feature = "tiktoken")]
pub use tokens::TiktokenCounter;
pub use tokens::{ApproximateCounter, EstimatorId, OpenAiFormula, TokenCountEstimator};
pub use turn::{CompletedTurn, Snapshot};
pub use unreadable::{UnreadableProblem, UnreadableRecord};
pub use window::DEFAULT_ID;

pub(crate) use difference::Difference;
#[cfg(feature = "_store")]
pub(crate) use {
    conversation::check_limit,
    lease::random,
    slot::{conflict, lease_lost},
};

use crate::error::Result;
use crate::message::ChatMessage;
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// The messages of one conversation, and how many of them a model is reminded of.
///
/// Memory is not history: what a window evicts is forgotten. The first five methods are for anybody;
/// the rest is the protocol between a memory and a service, with defaults that rewrite the whole
/// list at the end of a turn. The crate's own windows write only what is new.
///
/// # Differences from LangChain4j
///
/// Within a service a memory holds complete turns only. The system message of a method is sent
/// first but not stored, because it belongs to the program; one that you add yourself is kept, and
/// is sent by methods that declare none.
#[async_trait]
pub trait ChatMemory: Send + Sync {
    /// Whose memory this is.
    fn id(&self) -> &MemoryId;

    /// What a model would be reminded of, oldest first.
    ///
    /// # Errors
    ///
    /// If the store fails, or the window's maximum is not valid.
    async fn messages(&self) -> Result<Vec<ChatMessage>>;

    /// Adds a message, evicting older ones if need be.
    ///
    /// # Errors
    ///
    /// As [`messages`](Self::messages). Nothing is written then.
    async fn add(&self, message: ChatMessage) -> Result<()>;

    /// Adds messages in order, as [`add`](Self::add) would one by one.
    ///
    /// The default does just that; the crate's own windows write all of them at once or none.
    ///
    /// # Errors
    ///
    /// As [`add`](Self::add). With the default, the messages before the failing one are kept.
    async fn add_all(&self, messages: Vec<ChatMessage>) -> Result<()> {
        for message in messages {
            self.add(message).await?;
        }
        Ok(())
    }

    /// Replaces all messages, evicting the oldest if there are too many.
    ///
    /// # Errors
    ///
    /// As [`messages`](Self::messages). Nothing is written then.
    async fn set(&self, messages: Vec<ChatMessage>) -> Result<()>;

    /// Forgets everything.
    ///
    /// # Errors
    ///
    /// If the store fails.
    async fn clear(&self) -> Result<()>;

    /// What a turn starts from.
    ///
    /// # Errors
    ///
    /// As [`messages`](Self::messages).
    async fn load(&self) -> Result<Snapshot> {
        Ok(Snapshot::new(self.messages().await?, None))
    }

    /// How many of the oldest messages of the snapshot's history stay out of a request that also
    /// holds `system` and the messages of the current `turn`.
    ///
    /// What is left must be empty or start with a user message. The default leaves nothing out.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TurnTooLarge`](crate::ErrorKind::TurnTooLarge) if `system` and `turn` alone
    /// exceed the window: the current turn is never evicted.
    fn fit(
        &self,
        snapshot: &Snapshot,
        system: Option<&ChatMessage>,
        turn: &[ChatMessage],
    ) -> Result<usize> {
        let _ = (snapshot, system, turn);
        Ok(0)
    }

    /// Remembers a turn that has succeeded, in one step.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if the conversation was changed since it
    /// was loaded, else as [`add`](Self::add). Nothing is written then.
    async fn commit(&self, turn: CompletedTurn) -> Result<()> {
        self.set(turn.into_messages(0)).await
    }

    /// How to take turns with other processes on this conversation, if its store gives leases.
    ///
    /// A memory that returns one must commit [under the lease](CompletedTurn::lease): the commit
    /// gives it back.
    fn lease_request(&self) -> Option<LeaseRequest> {
        None
    }

    /// Where the messages live.
    fn residence(&self) -> Residence {
        Residence::Here
    }
}

/// Where the messages of a [`ChatMemory`] live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Residence {
    /// In this value: a service keeps it, because dropping it would forget the conversation.
    Here,
    /// In a store: a service drops this value when no call uses it.
    Store,
}

// The inner future is handed on as it is: an async function would put it into a second box.
impl<M: ChatMemory + ?Sized> ChatMemory for Arc<M> {
    fn id(&self) -> &MemoryId {
        M::id(self)
    }

    fn messages<'a, 'z>(&'a self) -> BoxFuture<'z, Result<Vec<ChatMessage>>>
    where
        'a: 'z,
        Self: 'z,
    {
        M::messages(self)
    }

    fn add<'a, 'z>(&'a self, message: ChatMessage) -> BoxFuture<'z, Result<()>>
    where
        'a: 'z,
        Self: 'z,
    {
        M::add(self, message)
    }

    fn add_all<'a, 'z>(&'a self, messages: Vec<ChatMessage>) -> BoxFuture<'z, Result<()>>
    where
        'a: 'z,
        Self: 'z,
    {
        M::add_all(self, messages)
    }

    fn set<'a, 'z>(&'a self, messages: Vec<ChatMessage>) -> BoxFuture<'z, Result<()>>
    where
        'a: 'z,
        Self: 'z,
    {
        M::set(self, messages)
    }

    fn clear<'a, 'z>(&'a self) -> BoxFuture<'z, Result<()>>
    where
        'a: 'z,
        Self: 'z,
    {
        M::clear(self)
    }

    fn load<'a, 'z>(&'a self) -> BoxFuture<'z, Result<Snapshot>>
    where
        'a: 'z,
        Self: 'z,
    {
        M::load(self)
    }

    fn fit(
        &self,
        snapshot: &Snapshot,
        system: Option<&ChatMessage>,
        turn: &[ChatMessage],
    ) -> Result<usize> {
        M::fit(self, snapshot, system, turn)
    }

    fn commit<'a, 'z>(&'a self, turn: CompletedTurn) -> BoxFuture<'z, Result<()>>
    where
        'a: 'z,
        Self: 'z,
    {
        M::commit(self, turn)
    }

    fn lease_request(&self) -> Option<LeaseRequest> {
        M::lease_request(self)
    }

    fn residence(&self) -> Residence {
        M::residence(self)
    }
}
