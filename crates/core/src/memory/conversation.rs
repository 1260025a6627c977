//! Operations of stores besides turns: list, count, clean up, and read evicted messages.

use super::{ChatMemoryStore, MemoryId};
use crate::error::{Error, Result};
use crate::forward::forward_through_arc;
use crate::message::ChatMessage;
use async_trait::async_trait;
use std::time::SystemTime;

/// A store whose conversations can be listed, counted, cleaned up and read back in full.
///
/// For administration, and for user interfaces that show conversations. A service itself needs only
/// a [`ChatMemoryStore`]. All stores of this crate for many conversations implement this trait.
///
/// Implementations must have versions, and must reject writes with an empty id with
/// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration), because all callers without an id
/// would share it.
///
/// Implementations carry `#[ai_services::async_trait]`. Without it, the compiler reports that "lifetime
/// parameters or bounds on method … do not match the trait declaration".
///
/// # Examples
///
/// ```
/// use ai_services::memory::{
///     ChatMemoryStore, ConversationStore, HistoryPosition, InMemoryChatMemoryStore,
/// };
/// use ai_services::message::ChatMessage;
///
/// # async fn example() -> ai_services::Result<()> {
/// let store = InMemoryChatMemoryStore::new();
/// store.update_messages(&"klaus".into(), &[ChatMessage::user("Hello!")]).await?;
///
/// let mut after = None;
/// loop {
///     let page = store.conversations(after.as_ref(), 100).await?;
///     let Some(last) = page.last() else { break };
///     after = Some(last.id.clone());
///     for conversation in page {
///         println!("{}: {} messages", conversation.id, conversation.messages);
///     }
/// }
/// let latest = store.history(&"klaus".into(), HistoryPosition::Newest, 50).await?;
/// assert_eq!(latest[0].message, ChatMessage::user("Hello!"));
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
/// ```
#[async_trait]
pub trait ConversationStore: ChatMemoryStore {
    /// Returns a page of at most `limit` conversations after `after` in the order of the store, or
    /// from the first one if `after` is `None`. An empty page marks the end.
    ///
    /// A conversation that exists during the whole listing is listed exactly once. A conversation
    /// without messages in memory is listed only if the store still has evicted messages of it.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) for a limit of zero.
    /// Otherwise fails if the store cannot be read.
    async fn conversations(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<Conversation>>;

    /// Returns the description of one conversation; `None` for an unknown id.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    async fn conversation(&self, id: &MemoryId) -> Result<Option<Conversation>>;

    /// Deletes the conversations with a last write before `time`, including their evicted messages.
    /// Returns the number of deleted conversations.
    ///
    /// A conversation that changes during the deletion is not deleted. Dropping the future stops
    /// between two conversations or two batches of conversations.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written. Some conversations may already be deleted.
    async fn delete_not_updated_since(&self, time: SystemTime) -> Result<u64>;

    /// Returns a page of at most `limit` messages of the whole stored conversation, oldest first:
    /// the messages in memory, and the evicted ones if the store [keeps](EvictedMessages::Keep)
    /// them.
    ///
    /// # Errors
    ///
    /// Same as [`conversations`](Self::conversations). Also fails for a row that [cannot be
    /// read](super::UnreadableRecord).
    async fn history(
        &self,
        id: &MemoryId,
        position: HistoryPosition,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>>;

    /// Returns everything that is stored for this id as raw bytes, for example to rescue records
    /// that [cannot be read](super::UnreadableRecord).
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    async fn export_raw(&self, id: &MemoryId) -> Result<Vec<RawRecord>>;
}

/// The description of a conversation, without its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conversation {
    /// The id of the conversation.
    pub id: MemoryId,
    /// Number of messages in memory, without evicted ones.
    pub messages: u64,
    /// Time of the last write, in milliseconds, by the writer's clock. Reads do not update it.
    pub last_updated: SystemTime,
}

impl Conversation {
    /// Creates the description of a conversation.
    #[must_use]
    pub fn new(id: MemoryId, messages: u64, last_updated: SystemTime) -> Self {
        Self { id, messages, last_updated }
    }
}

/// The position of a page in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryPosition {
    /// The first page.
    Oldest,
    /// The page after the entry with this position.
    After(u64),
    /// The last page.
    Newest,
    /// The page before the entry with this position.
    Before(u64),
}

/// A message of a conversation, with its position.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HistoryEntry {
    /// The position of the message. Positions grow from message to message, with gaps, and never
    /// change.
    pub position: u64,
    /// The message.
    pub message: ChatMessage,
    /// Set if the message was evicted, so it is no longer sent to models.
    pub is_evicted: bool,
}

impl HistoryEntry {
    /// Creates an entry.
    #[must_use]
    pub fn new(position: u64, message: ChatMessage, is_evicted: bool) -> Self {
        Self { position, message, is_evicted }
    }
}

/// A row of a store as raw bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RawRecord {
    /// The name of the row in the store's own terms, for example `message 7`.
    pub row: String,
    /// The content of the row.
    pub data: Vec<u8>,
}

impl RawRecord {
    /// Creates a record from the content of a row.
    #[must_use]
    pub fn new(row: impl Into<String>, data: impl Into<Vec<u8>>) -> Self {
        Self { row: row.into(), data: data.into() }
    }
}

/// The policy of a store for messages that a window evicts.
///
/// A memory contains the messages that are sent to a model. A history also contains the older ones
/// that a person has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EvictedMessages {
    /// Evicted messages are deleted.
    #[default]
    Delete,
    /// Evicted messages stay readable through [`ConversationStore::history`] until the conversation
    /// is deleted.
    Keep,
}

/// Returns the page size. Fails if it is zero.
pub fn check_limit(limit: usize) -> Result<usize> {
    match limit {
        0 => Err(Error::configuration("the limit of a page must be greater than zero, but is 0")),
        limit => Ok(limit),
    }
}

forward_through_arc! {
    ConversationStore {
        async fn conversations<'a, 'b>(
            &'a self,
            after: Option<&'b MemoryId>,
            limit: usize,
        ) -> Result<Vec<Conversation>>;
        async fn conversation<'a, 'b>(&'a self, id: &'b MemoryId) -> Result<Option<Conversation>>;
        async fn delete_not_updated_since<'a>(&'a self, time: SystemTime) -> Result<u64>;
        async fn history<'a, 'b>(
            &'a self,
            id: &'b MemoryId,
            position: HistoryPosition,
            limit: usize,
        ) -> Result<Vec<HistoryEntry>>;
        async fn export_raw<'a, 'b>(&'a self, id: &'b MemoryId) -> Result<Vec<RawRecord>>;
    }
}
