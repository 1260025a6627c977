//! Chat memories and embeddings in a SQLite file.

mod builder;
mod commit;
mod connection;
mod conversations;
mod database;
mod delete;
mod embedding;
mod error_mapping;
mod file_identity;
mod head;
mod journal;
mod lease;
mod read;
mod readers;
mod schema;
mod slots;
mod task;
mod writer;

pub use builder::SqliteChatMemoryStoreBuilder;
pub use connection::Durability;
pub use embedding::{SqliteEmbeddingStore, SqliteEmbeddingStoreBuilder};

use ai_services_core::Result;
use ai_services_core::memory::{EvictedMessages, LeaseOptions, MemoryId};
use ai_services_core::store_kit::cache::ConversationCache;
use database::Database;
use error_mapping::{Operation, TaskFailure};
use rusqlite::Connection;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A store that keeps conversations in a SQLite file.
///
/// Suitable for one machine: a program without a database server, or several processes that share a file. The
/// file must be on a local disk, because SQLite's locks and its write-ahead log do not work over networks.
/// Clones share one store, which owns one writer thread, and up to four reader threads that are started as needed
/// (see [`readers`](SqliteChatMemoryStoreBuilder::readers)). The future of an operation may run on any executor.
/// The threads end when the last clone is dropped, or with [`close`](Self::close).
///
/// Group commit: changes that arrive while a transaction is written are written in the next transaction
/// together, so 64 of them wait no longer for the disk than one.
///
/// # Durability
///
/// An acknowledged commit survives a crash of the process. With [`Durability::Full`], the default, it also
/// survives a loss of power, provided that the disk honours sync requests. A commit that was not acknowledged
/// is applied completely or not at all. It is unknown which of the two happened if the future of the commit was
/// dropped, or if the disk failed during the commit
/// ([`ErrorKind::UnknownOutcome`](ai_services_core::ErrorKind::UnknownOutcome));
/// [`commit_state`](ai_services_core::memory::ChatMemoryStore::commit_state) finds out.
/// The same applies to appends to the [journal](ai_services_core::memory::TurnJournals) of an open turn.
///
/// Records have checksums, and the head of a conversation has the number of its messages, so damage to the
/// file is reported as an [error](ai_services_core::memory::UnreadableRecord). Four kinds of damage are not
/// detected: damage to the write-ahead log, which then ends earlier, as if the last commits had not been
/// made; the loss of evicted messages; the loss of the last records of a journal; and the loss of a complete
/// conversation.
///
/// If the file, or one of the two files beside it, is deleted or replaced while the store is open, operations
/// fail: a commit to the old file would be lost. Detected on Unix; other systems do not permit to delete an open
/// file.
///
/// The file is not encrypted, and does not shrink when data is deleted. To copy a file that is in use, run
/// SQLite's `VACUUM INTO`; the file alone may lack the last commits.
///
/// # Examples
///
/// ```
/// use ai_services::memory::{ChatMemory, MessageWindowChatMemory};
/// use ai_services::message::ChatMessage;
/// use ai_services::store::sqlite::SqliteChatMemoryStore;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = std::env::temp_dir().join(format!("ai-services-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// let path = directory.join("conversations.db");
/// let store = SqliteChatMemoryStore::open(&path).await?;
/// let memory =
///     MessageWindowChatMemory::builder().id("klaus").max_messages(20).store(store.clone()).build()?;
/// memory.add(ChatMessage::user("Hello!")).await?;
/// store.close().await;
///
/// // After a restart:
/// let store = SqliteChatMemoryStore::open(&path).await?;
/// let memory = MessageWindowChatMemory::builder().id("klaus").max_messages(20).store(store).build()?;
/// assert_eq!(memory.messages().await?, [ChatMessage::user("Hello!")]);
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
/// ```
///
/// # Differences from LangChain4j
///
/// LangChain4j leaves stores to the application; a typical store rewrites the message list of a conversation
/// as one text for every message. Here a turn writes only its own messages, once.
#[derive(Clone)]
pub struct SqliteChatMemoryStore(Arc<Inner>);

struct Inner {
    database: Database,
    evicted_messages: EvictedMessages,
    leases: Option<LeaseOptions>,
    cache: ConversationCache,
}

impl SqliteChatMemoryStore {
    /// Opens a file with the defaults of the [builder](Self::builder). Creates the file if it does not exist.
    ///
    /// # Errors
    ///
    /// As [`SqliteChatMemoryStoreBuilder::open`].
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self> {
        Self::builder().path(path).open().await
    }

    /// Opens a store in memory, for tests. Its content is lost when the last clone is dropped.
    ///
    /// # Errors
    ///
    /// As [`SqliteChatMemoryStoreBuilder::open`].
    pub async fn in_memory() -> Result<Self> {
        Self::builder().in_memory().open().await
    }

    /// Returns a builder with the default settings.
    pub fn builder() -> SqliteChatMemoryStoreBuilder {
        SqliteChatMemoryStoreBuilder::default()
    }

    /// Finishes the queued operations, ends the threads, and waits until the file is closed. Later calls on
    /// other clones fail.
    ///
    /// Commits made with [`Durability::Normal`] are on the disk afterwards. If no other process uses the
    /// file, all data is in the one file.
    pub async fn close(self) {
        self.0.database.close().await;
    }

    fn lease_options(&self) -> Option<LeaseOptions> {
        self.0.leases
    }

    /// Runs work in a transaction on the writer thread.
    async fn write<T: Send + 'static>(
        &self,
        verb: &'static str,
        id: Option<&MemoryId>,
        work: impl FnMut(&Connection) -> Result<T, TaskFailure> + Send + 'static,
    ) -> Result<T> {
        let outcome = self.0.database.write(work).await;
        outcome.map_err(|failure| failure.into_error(Operation { verb, id }))
    }

    /// Runs work in a transaction on a reader thread.
    async fn read<T: Send + 'static>(
        &self,
        verb: &'static str,
        id: Option<&MemoryId>,
        work: impl FnMut(&Connection) -> Result<T, TaskFailure> + Send + 'static,
    ) -> Result<T> {
        let outcome = self.0.database.read(work).await;
        outcome.map_err(|failure| failure.into_error(Operation { verb, id }))
    }
}

impl fmt::Debug for SqliteChatMemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { database, evicted_messages, leases, cache } = &*self.0;
        f.debug_struct("SqliteChatMemoryStore")
            .field("path", &database.path())
            .field("evicted_messages", evicted_messages)
            .field("leases", leases)
            .field("cache", cache)
            .finish()
    }
}
