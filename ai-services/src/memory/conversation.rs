//! What a store can do beyond a turn: list, count, clean up, and read what was evicted.

use super::{ChatMemoryStore, MemoryId};
use crate::error::{Error, Result};
use crate::message::ChatMessage;
use async_trait::async_trait;
use std::sync::Arc;
use std::time::SystemTime;

/// A store whose conversations can be listed, counted, cleaned up and read back in full.
///
/// What an operator needs, and what a user interface shows. A service itself needs only a
/// [`ChatMemoryStore`]. All stores of this crate for many conversations implement it.
///
/// Such a store has versions, and refuses to write under an empty id, which everybody without an id
/// would share, with [`ErrorKind::Configuration`](crate::ErrorKind::Configuration).
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
    /// At most `limit` conversations that come after `after` in the order of the store; from the
    /// first if `after` is `None`. An empty page is the end.
    ///
    /// A conversation that exists from the first page to the last is listed exactly once. One whose
    /// memory holds no message is listed if something of it was kept as history, and else not.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) for a limit of zero; else if the
    /// store cannot be read.
    async fn conversations(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<Conversation>>;

    /// What is known about one conversation; `None` for an unknown id.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    async fn conversation(&self, id: &MemoryId) -> Result<Option<Conversation>>;

    /// Deletes the conversations that were last changed before `time`, with what was kept as history,
    /// and says how many there were.
    ///
    /// A conversation that is changed meanwhile stays. Dropping the future stops between two
    /// conversations or two batches of them.
    ///
    /// # Errors
    ///
    /// If the store cannot be written. Some conversations may be deleted then.
    async fn delete_unused_since(&self, time: SystemTime) -> Result<u64>;

    /// A page of at most `limit` messages of everything that was said and is kept, oldest first:
    /// those in memory, and those that were evicted if the store
    /// [keeps](EvictedMessages::Keep) them.
    ///
    /// # Errors
    ///
    /// As [`conversations`](Self::conversations), and for a row that
    /// [cannot be read](super::UnreadableRecord).
    async fn history(
        &self,
        id: &MemoryId,
        position: HistoryPosition,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>>;

    /// Everything that is stored for this id, unread: to rescue what
    /// [cannot be read](super::UnreadableRecord).
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    async fn export_raw(&self, id: &MemoryId) -> Result<Vec<RawRecord>>;
}

/// What a store knows about a conversation without reading its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conversation {
    /// Whose conversation it is.
    pub id: MemoryId,
    /// How many messages are in memory, without those that were evicted.
    pub messages: u64,
    /// When it was last changed, by the clock of who changed it, in milliseconds. Reading is no change.
    pub last_used: SystemTime,
}

impl Conversation {
    /// What is known about a conversation.
    #[must_use]
    pub fn new(id: MemoryId, messages: u64, last_used: SystemTime) -> Self {
        Self { id, messages, last_used }
    }
}

/// Where a page of a history lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistoryPosition {
    /// At the beginning.
    Oldest,
    /// Behind the entry at this position.
    After(u64),
    /// At the end.
    Newest,
    /// Before the entry at this position.
    Before(u64),
}

/// A message that was said.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HistoryEntry {
    /// Grows from message to message, with gaps, and never changes.
    pub position: u64,
    /// The message.
    pub message: ChatMessage,
    /// Whether the message was evicted: a model is not reminded of it any more.
    pub is_evicted: bool,
}

impl HistoryEntry {
    /// A message that was said.
    #[must_use]
    pub fn new(position: u64, message: ChatMessage, is_evicted: bool) -> Self {
        Self { position, message, is_evicted }
    }
}

/// A row of a store as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RawRecord {
    /// The row in the store's own terms, for example `message 7`.
    pub row: String,
    /// What the row holds.
    pub data: Vec<u8>,
}

impl RawRecord {
    /// A row as it is.
    #[must_use]
    pub fn new(row: impl Into<String>, data: impl Into<Vec<u8>>) -> Self {
        Self { row: row.into(), data: data.into() }
    }
}

/// What a store does with the messages that a window evicts.
///
/// Memory is what a model is reminded of; history is what a person saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum EvictedMessages {
    /// They are deleted.
    #[default]
    Forget,
    /// They stay readable through [`ConversationStore::history`] until the conversation is deleted.
    Keep,
}

/// The size of a page, if there is any.
pub(crate) fn check_limit(limit: usize) -> Result<usize> {
    match limit {
        0 => Err(Error::configuration("a page of conversations or messages must not be empty")),
        limit => Ok(limit),
    }
}

#[async_trait]
impl<S: ConversationStore + ?Sized> ConversationStore for Arc<S> {
    async fn conversations(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<Conversation>> {
        S::conversations(self, after, limit).await
    }

    async fn conversation(&self, id: &MemoryId) -> Result<Option<Conversation>> {
        S::conversation(self, id).await
    }

    async fn delete_unused_since(&self, time: SystemTime) -> Result<u64> {
        S::delete_unused_since(self, time).await
    }

    async fn history(
        &self,
        id: &MemoryId,
        position: HistoryPosition,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>> {
        S::history(self, id, position, limit).await
    }

    async fn export_raw(&self, id: &MemoryId) -> Result<Vec<RawRecord>> {
        S::export_raw(self, id).await
    }
}
