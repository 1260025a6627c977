//! Chat memory: the messages of each conversation, separate for each memory id.
//!
//! A [`ChatMemory`] holds the messages of one conversation and decides how many of them are sent to
//! a model. A [`ChatMemoryStore`] stores the messages of all conversations. A service gets the
//! memory of an id from its memory provider, loads it once at the start of a turn, and
//! commits the whole turn once at its end.
//!
//! Several processes may serve the same conversations from one store in a database. A commit
//! contains the version that it is based on (optimistic locking). If another writer was first, the
//! commit is rejected. The turn is then run again if no tool ran. Otherwise the call fails with
//! [`ErrorKind::Conflict`](crate::ErrorKind::Conflict), and the error contains the finished answer
//! (`ai_services::UnfinishedTurn`). With a store that supports
//! [leases](ConversationLeases), the processes wait for each other before they call the model.
//!
//! A turn is stored whole or not at all. If a call fails or is dropped while its commit is under way,
//! it is unknown which of the two happened: the error has the kind
//! [`ErrorKind::UnknownOutcome`](crate::ErrorKind::UnknownOutcome). Such a turn is not run again. To
//! find out, give the call a [`RequestId`] through its
//! [`InvocationContext`](crate::InvocationContext), and ask
//! [`ChatMemoryStore::commit_state`].

mod attribute;
mod change;
mod commits;
mod conversation;
mod conversation_journal;
mod difference;
mod found_tools;
mod history;
mod in_memory;
mod into_chat_memory;
mod journal;
mod lease;
mod lease_request;
mod message_window;
mod numbers;
mod request_mark;
mod single_slot;
mod slot;
mod spent_mark;
mod store;
mod summary;
mod token_window;
mod tokens;
mod turn;
mod unreadable;
mod window;

pub use crate::invocation::{InvalidTurnId, MemoryId, RequestId, ToMemoryId, TurnId};
pub use change::Change;
pub use commits::{CommitState, UnknownCommit};
pub use conversation::{
    Conversation, ConversationStore, EvictedMessages, HistoryEntry, HistoryPosition, RawRecord,
};
pub use conversation_journal::ConversationJournal;
pub use in_memory::{InMemoryChatMemoryStore, InMemoryChatMemoryStoreBuilder};
pub use into_chat_memory::IntoChatMemory;
pub use journal::{JournalPosition, OpenJournal, TurnJournal, TurnJournals};
pub use lease::{ConversationLeases, LeaseOptions, LeaseToken};
pub use lease_request::{Lease, LeaseRequest};
pub use message_window::{MessageLimit, MessageWindowChatMemory, MessageWindowChatMemoryBuilder};
pub use single_slot::SingleSlotChatMemoryStore;
pub use store::ChatMemoryStore;
pub use summary::Summarizer;
pub use token_window::{TokenLimit, TokenWindowChatMemory, TokenWindowChatMemoryBuilder};
pub(crate) use tokens::Counted;
#[cfg(feature = "tiktoken")]
pub use tokens::TiktokenCounter;
pub use tokens::{ApproximateCounter, EstimatorId, OpenAiFormula, TokenCountEstimator};
pub use turn::{CompletedTurn, Snapshot};
pub use unreadable::{UnreadableProblem, UnreadableRecord};
pub use window::{DEFAULT_ID, MaximumGiven, NoMaximum};

pub(crate) use difference::Difference;
#[doc(hidden)]
pub use found_tools::{found_tools, found_tools_attribute, found_tools_of, mark_found_tools};
#[doc(hidden)]
pub use history::Repair;
pub(crate) use numbers::Numbers;
#[doc(hidden)]
pub use {
    commits::{CommitLog, ENTRY_BYTES, KEPT_COMMITS, MAX_LOG_BYTES, PendingCommit, Settled},
    conversation::check_limit,
    journal::journal_moved,
    slot::{conflict, lease_lost},
};

use crate::error::Result;
use crate::forward::forward_through_arc;
use crate::message::ChatMessage;
use async_trait::async_trait;

/// The messages of one conversation, and the limit on how many of them are sent to a model.
///
/// A memory is not a history: messages that a window evicts are forgotten, unless it has a
/// [`Summarizer`]. The first six methods are for applications. The rest is the protocol between a memory and a service. Its defaults
/// rewrite the whole list at the end of a turn; the windows of this crate write only the changes.
///
/// Implementations carry `#[ai_services::async_trait]`. Without it, the compiler reports that "lifetime
/// parameters or bounds on method … do not match the trait declaration".
///
/// # Differences from LangChain4j
///
/// Within a service, a memory contains complete turns only. The system message of a method is sent
/// first but not stored, because it belongs to the program. A system message that you add yourself
/// is stored, and is sent by methods that declare none.
#[async_trait]
pub trait ChatMemory: Send + Sync {
    /// Returns the id of the conversation.
    fn id(&self) -> &MemoryId;

    /// Returns the messages that would be sent to a model, oldest first. A summary is not one of them:
    /// [`Summarizer::summary_of`] returns it.
    ///
    /// # Errors
    ///
    /// Fails if the store fails, or if the window's maximum is invalid.
    async fn messages(&self) -> Result<Vec<ChatMessage>>;

    /// Adds a message. Evicts older messages if necessary.
    ///
    /// # Errors
    ///
    /// Same as [`messages`](Self::messages). The memory is unchanged after an error, unless its kind
    /// is [`ErrorKind::UnknownOutcome`](crate::ErrorKind::UnknownOutcome).
    async fn add(&self, message: ChatMessage) -> Result<()>;

    /// Adds messages in order, equivalent to one call of [`add`](Self::add) for each.
    ///
    /// The default implementation makes these calls. The windows of this crate write all messages
    /// at once, or none.
    ///
    /// # Errors
    ///
    /// Same as [`add`](Self::add). With the default implementation, the messages before the failing
    /// one stay added.
    async fn add_all(&self, messages: Vec<ChatMessage>) -> Result<()> {
        for message in messages {
            self.add(message).await?;
        }
        Ok(())
    }

    /// Replaces all messages. Evicts the oldest ones if there are too many.
    ///
    /// # Errors
    ///
    /// Same as [`add`](Self::add).
    async fn set(&self, messages: Vec<ChatMessage>) -> Result<()>;

    /// Deletes all messages.
    ///
    /// # Errors
    ///
    /// Fails if the store fails.
    async fn clear(&self) -> Result<()>;

    /// Loads the messages that a turn starts from.
    ///
    /// # Errors
    ///
    /// Same as [`messages`](Self::messages).
    async fn load(&self) -> Result<Snapshot> {
        Ok(Snapshot::new(self.messages().await?, None))
    }

    /// Returns the number of oldest messages of the snapshot's history to leave out of a request
    /// that also contains `system` and the messages of the current `turn`.
    ///
    /// The remaining history must be empty or start with a user message. The default implementation
    /// leaves out no messages.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::TurnTooLarge`](crate::ErrorKind::TurnTooLarge) if `system` and `turn`
    /// alone exceed the window: the current turn is never evicted.
    fn fit(
        &self,
        snapshot: &Snapshot,
        system: Option<&ChatMessage>,
        turn: &[ChatMessage],
    ) -> Result<usize> {
        let _ = (snapshot, system, turn);
        Ok(0)
    }

    /// Returns the summarizer of the turns that do not [fit](Self::fit). The default implementation returns
    /// none.
    ///
    /// Before a service sends the first request of a turn that does not fit, it folds the oldest turns of
    /// the snapshot into a summary. [`CompletedTurn::into_change`] and [`CompletedTurn::into_messages`] then
    /// evict these turns and store the summary. [`fit`](Self::fit) counts only the turns that remain, and
    /// the two messages of the summary.
    fn summarizer(&self) -> Option<&Summarizer> {
        None
    }

    /// Stores a successful turn in one atomic step: whole or not at all.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if the conversation has changed
    /// since it was loaded. Returns
    /// [`ErrorKind::UnknownOutcome`](crate::ErrorKind::UnknownOutcome) if the turn may or may not
    /// have been stored; a service does not run such a turn again. Otherwise the same as
    /// [`add`](Self::add).
    async fn commit(&self, turn: CompletedTurn) -> Result<()> {
        self.set(turn.into_messages(0)).await
    }

    /// Returns a request for the lease of this conversation, if its store supports leases.
    ///
    /// A memory that returns a request must commit [with the lease](CompletedTurn::lease). The
    /// commit releases it.
    fn lease_request(&self) -> Option<LeaseRequest> {
        None
    }

    /// Returns the journal of this conversation, if its store has journals. Default: `None`.
    ///
    /// A memory that returns a journal must load its [position](Snapshot::with_journal) with each snapshot,
    /// and [close](Change::closing) it with the commit of its turn.
    fn journal(&self) -> Option<ConversationJournal> {
        None
    }

    /// Returns the location of the messages.
    fn residence(&self) -> Residence {
        Residence::Here
    }
}

/// The location of the messages of a [`ChatMemory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residence {
    /// In this value. A service keeps the value alive, because dropping it would lose the
    /// conversation.
    Here,
    /// In a store. A service drops this value when no call uses it.
    Store,
}

forward_through_arc! {
    ChatMemory {
        fn id(&self) -> &MemoryId;
        async fn messages<'a>(&'a self) -> Result<Vec<ChatMessage>>;
        async fn add<'a>(&'a self, message: ChatMessage) -> Result<()>;
        async fn add_all<'a>(&'a self, messages: Vec<ChatMessage>) -> Result<()>;
        async fn set<'a>(&'a self, messages: Vec<ChatMessage>) -> Result<()>;
        async fn clear<'a>(&'a self) -> Result<()>;
        async fn load<'a>(&'a self) -> Result<Snapshot>;
        fn fit(
            &self,
            snapshot: &Snapshot,
            system: Option<&ChatMessage>,
            turn: &[ChatMessage],
        ) -> Result<usize>;
        fn summarizer(&self) -> Option<&Summarizer>;
        async fn commit<'a>(&'a self, turn: CompletedTurn) -> Result<()>;
        fn lease_request(&self) -> Option<LeaseRequest>;
        fn journal(&self) -> Option<ConversationJournal>;
        fn residence(&self) -> Residence;
    }
}
