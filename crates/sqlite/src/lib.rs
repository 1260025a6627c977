//! Chat memories and embeddings in a SQLite file.

mod builder;
mod commit;
mod connection;
mod database;
mod delete;
mod embedding;
mod fault;
mod head;
mod lease;
mod read;
mod readers;
mod schema;
mod store;
mod task;
mod writer;

pub use builder::{Durability, SqliteChatMemoryStoreBuilder};
pub use embedding::{SqliteEmbeddingStore, SqliteEmbeddingStoreBuilder};

use ai_services_core::Result;
use ai_services_core::memory::{EvictedMessages, LeaseOptions, MemoryId};
use database::Database;
use fault::{Action, Fault};
use rusqlite::Connection;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A store that keeps conversations in a SQLite file.
///
/// For one machine: a program without a server, or several processes that share a file. The file must
/// lie on a local disk, because SQLite's locks and its write-ahead log do not work over networks.
/// Clones share one store, which owns one thread that writes and a few that read; the future of an
/// operation may run on any executor. The threads end when the last clone is dropped, or with
/// [`close`](Self::close).
///
/// Changes that arrive while another one is written go to the disk together, so that 64 of them wait
/// for it no longer than one.
///
/// # Durability
///
/// A commit that was acknowledged survives the end of the process, however it ends, and with
/// [`Durability::Full`], the default, a loss of power, if the disk does what it is told. One
/// that was not acknowledged was made in full or not at all. Dropping the future of a change leaves open
/// which, but never half of it.
///
/// What was written is guarded by checksums, and the head of a conversation knows how many messages it
/// has, so damage to the file is an [error](ai_services_core::memory::UnreadableRecord). Three kinds of it go
/// unnoticed: in the write-ahead log, which then ends earlier, as if the last commits had not been made; the
/// loss of messages that were already evicted; and the loss of a conversation as a whole.
///
/// The file is neither encrypted nor made smaller when something is deleted. For a copy of a file that is
/// in use, ask SQLite (`VACUUM INTO`); the file alone may lack the last commits.
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
/// LangChain4j leaves stores to the application; a typical one rewrites the list of a conversation as one
/// text for every message. Here a turn writes its own messages, once.
#[derive(Clone)]
pub struct SqliteChatMemoryStore(Arc<Shared>);

struct Shared {
    database: Database,
    evicted_messages: EvictedMessages,
    leases: Option<LeaseOptions>,
}

impl SqliteChatMemoryStore {
    /// Opens a file with the defaults of the [builder](Self::builder). Creates it if need be.
    ///
    /// # Errors
    ///
    /// As [`SqliteChatMemoryStoreBuilder::open`].
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self> {
        Self::builder().path(path).open().await
    }

    /// A store that forgets everything when its last clone is dropped, for tests.
    ///
    /// # Errors
    ///
    /// As [`SqliteChatMemoryStoreBuilder::open`].
    pub async fn in_memory() -> Result<Self> {
        Self::builder().in_memory().open().await
    }

    /// Starts a store.
    pub fn builder() -> SqliteChatMemoryStoreBuilder {
        SqliteChatMemoryStoreBuilder::default()
    }

    /// Finishes what was begun, ends the threads, and waits until the file is closed. Calls on other
    /// clones fail from then on.
    ///
    /// What was written with [`Durability::Normal`] is on the disk then. If no other process uses the file,
    /// everything is in one file.
    pub async fn close(self) {
        self.0.database.close().await;
    }

    fn lease_options(&self) -> Option<LeaseOptions> {
        self.0.leases
    }

    /// Has the thread that writes do something within a transaction.
    async fn write<T: Send + 'static>(
        &self,
        verb: &'static str,
        id: Option<&MemoryId>,
        work: impl FnMut(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T> {
        let outcome = self.0.database.write(work).await;
        outcome.map_err(|fault| fault.into_error(Action { verb, id }))
    }

    /// Has a thread that reads do something within a transaction.
    async fn read<T: Send + 'static>(
        &self,
        verb: &'static str,
        id: Option<&MemoryId>,
        work: impl FnMut(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T> {
        let outcome = self.0.database.read(work).await;
        outcome.map_err(|fault| fault.into_error(Action { verb, id }))
    }
}

impl fmt::Debug for SqliteChatMemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { database, evicted_messages, leases } = &*self.0;
        f.debug_struct("SqliteChatMemoryStore")
            .field("path", &database.path())
            .field("evicted_messages", evicted_messages)
            .field("leases", leases)
            .finish()
    }
}
