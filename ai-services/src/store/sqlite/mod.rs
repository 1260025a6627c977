//! Chat memories in a SQLite file.

mod builder;
mod commit;
mod connection;
mod delete;
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

use crate::error::{Error, ErrorKind, Result};
use crate::memory::{EvictedMessages, LeaseOptions, MemoryId};
use builder::Place;
use connection::Settings;
use fault::{Action, Fault};
use readers::Readers;
use rusqlite::Connection;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use task::Message;
use tokio::sync::{mpsc, oneshot};

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
/// has, so damage to the file is an [error](crate::memory::UnreadableRecord). Three kinds of it go
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
    writer: mpsc::Sender<Message>,
    /// `None` in memory: a second connection would see another database.
    readers: Option<Readers>,
    path: Option<PathBuf>,
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
        if let Some(readers) = &self.0.readers {
            readers.close().await;
        }
        // Refused if it is closed already.
        let _ = self.0.writer.send(Message::Close).await;
        self.0.writer.closed().await;
    }

    async fn start(
        place: Place,
        settings: Settings,
        options: &SqliteChatMemoryStoreBuilder,
    ) -> Result<Self> {
        let (writer, inbox) = mpsc::channel(writer::QUEUE);
        let (alive, readers) = mpsc::channel(1);
        let (caller, opened) = oneshot::channel();
        let work = move || {
            let opened = match place {
                Place::File(path) => connection::open_writer(&path, &settings)
                    .map(|(connection, path)| (connection, Some(path))),
                Place::Memory => {
                    connection::open_in_memory(&settings).map(|connection| (connection, None))
                }
            };
            match opened {
                Ok((connection, path)) => {
                    let _ = caller.send(Ok(path));
                    writer::serve(connection, inbox, readers);
                }
                Err(error) => drop(caller.send(Err(error))),
            }
        };
        let failed = "cannot start the thread that writes to SQLite";
        std::thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(work)
            .map_err(|error| Error::new(ErrorKind::Memory, failed).with_source(error))?;
        let path = opened.await.unwrap_or_else(|_| Err(Error::new(ErrorKind::Memory, failed)))?;
        let readers =
            path.clone().map(|path| Readers::start(path, settings, options.readers, alive));
        Ok(Self(Arc::new(Shared {
            writer,
            readers: readers.transpose()?,
            path,
            evicted_messages: options.evicted_messages,
            leases: options.leases,
        })))
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
        let outcome = task::ask(&self.0.writer, work).await;
        outcome.map_err(|fault| fault.into_error(Action { verb, id }))
    }

    /// Has a thread that reads do something within a transaction.
    async fn read<T: Send + 'static>(
        &self,
        verb: &'static str,
        id: Option<&MemoryId>,
        work: impl FnMut(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T> {
        let Some(readers) = &self.0.readers else { return self.write(verb, id, work).await };
        readers.make_room();
        let outcome = task::ask(&readers.queue, work).await;
        outcome.map_err(|fault| fault.into_error(Action { verb, id }))
    }
}

impl fmt::Debug for SqliteChatMemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { path, evicted_messages, leases, .. } = &*self.0;
        let path = path.as_deref().unwrap_or(Path::new(":memory:"));
        f.debug_struct("SqliteChatMemoryStore")
            .field("path", &path)
            .field("evicted_messages", evicted_messages)
            .field("leases", leases)
            .finish()
    }
}
