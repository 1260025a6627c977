//! Chat memories in Redis, or in Valkey: many machines, speed, conversations that expire.
//!
//! # What is stored
//!
//! With the prefix `ai-services` and the id `klaus`:
//!
//! | key | type | what |
//! |---|---|---|
//! | `{ai-services}:head:klaus` | hash | version, number of messages, time of the last change, tokens of the last commits |
//! | `{ai-services}:messages:klaus` | sorted set | what is in memory: the member `number:record` with its number as score |
//! | `{ai-services}:history:klaus` | sorted set | what was evicted and kept, in the same form |
//! | `{ai-services}:lease:klaus` | string | the token of the lease, as long as it is held |
//! | `{ai-services}:ids` | sorted set | the conversations that are listed |
//! | `{ai-services}:used` | sorted set | all conversations, by the time of their last change in milliseconds |
//! | `{ai-services}:schema` | string | the version of this layout |
//!
//! Ids are part of keys as they are. No id can name the key of another one, or one that does not
//! begin with the prefix in braces.
//!
//! # How durable it is
//!
//! A commit is in the memory of the server when it returns. The rest is the server's configuration,
//! which this store can neither see everywhere nor change:
//!
//! * `appendonly yes` with `appendfsync always`: it survives a crash of the server and of its machine.
//! * `appendfsync everysec`, the usual setting: a crash of the machine loses up to about two seconds,
//!   one of the server process nothing.
//! * Only snapshots (RDB): a crash loses what came after the last one, which is minutes.
//! * Replication is asynchronous: a failover loses commits that the old primary had acknowledged
//!   and the new one had not received. `WAIT` and `WAITAOF` are not used.
//! * `maxmemory-policy` must be `noeviction`, or one of `volatile-*` for conversations without a time
//!   to live: the server must not choose which conversation to forget. One of which it has taken a part
//!   is reported as [unreadable](ai_services_core::memory::UnreadableRecord).
//!
//! What is lost is lost from the end, commit by commit: each is one script, and so one step in the
//! server's files and for its replicas, too. A conversation never shows half a turn.
//!
//! # What it does not do
//!
//! It knows no Redis Cluster. All its keys have one hash tag, the prefix, so a single node of a cluster
//! could hold them and a proxy that knows the cluster may be in between; but the store itself follows
//! no redirection. Neither does it ask a Sentinel for the primary: give it an address that moves with
//! a failover.

mod builder;
mod commit;
mod connection;
mod conversations;
mod error;
mod history;
mod index;
mod keys;
mod lease;
mod rows;
mod schema;
mod scripts;

pub use builder::RedisChatMemoryStoreBuilder;

use ai_services_core::Result;
use ai_services_core::memory::{
    Change, ChatMemoryStore, ConversationLeases, EvictedMessages, LeaseOptions, MemoryId, Snapshot,
};
use ai_services_core::message::ChatMessage;
use async_trait::async_trait;
use connection::Connections;
use keys::Keys;
use redis::aio::ConnectionManager;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// A store that keeps chat memories in Redis 6.2 or newer, or in Valkey.
///
/// For services on many machines, for many short conversations, and for those that are to
/// [expire](RedisChatMemoryStoreBuilder::time_to_live). All conversations have to fit into the
/// server's memory. [How durable](self#how-durable-it-is) they are depends on the server.
///
/// A turn is committed by one script in one round trip; loading a conversation is another. If the
/// connection breaks, the store connects again and asks again, three times in all; a commit whose answer
/// was lost knows itself again and is not made twice. Clones share their connections.
///
/// # Examples
///
/// ```no_run
/// use ai_services::memory::{MemoryId, MessageWindowChatMemory};
/// use ai_services::store::redis::RedisChatMemoryStore;
/// use std::time::Duration;
///
/// # async fn example() -> ai_services::Result<()> {
/// let store = RedisChatMemoryStore::builder()
///     .url("redis://:password@localhost/")
///     .time_to_live(Duration::from_secs(24 * 60 * 60))
///     .connect()
///     .await?;
/// let provider = move |id: &MemoryId| {
///     MessageWindowChatMemory::builder().id(id).max_messages(20).store(store.clone()).build()
/// };
/// # let _ = provider(&"klaus".into())?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Besides the errors that every store has: [`Connection`](ai_services_core::ErrorKind::Connection) if the server
/// cannot be reached or the connection broke three times, and [`Timeout`](ai_services_core::ErrorKind::Timeout)
/// if it does not answer; only then may a commit have been made although it failed.
/// [`Authentication`](ai_services_core::ErrorKind::Authentication) if the server refuses the user, and
/// [`Memory`](ai_services_core::ErrorKind::Store) for everything else that the server refuses, with advice.
///
/// # Cancellation
///
/// A commit whose future is dropped is made as a whole or not at all.
#[derive(Clone)]
pub struct RedisChatMemoryStore(Arc<Shared>);

struct Shared {
    connections: Connections,
    keys: Keys,
    /// In milliseconds.
    time_to_live: Option<u64>,
    evicted_messages: EvictedMessages,
    leases: Option<LeaseOptions>,
    /// How many there were, more or less.
    commits: AtomicU32,
}

impl RedisChatMemoryStore {
    /// Starts a store.
    pub fn builder() -> RedisChatMemoryStoreBuilder {
        RedisChatMemoryStoreBuilder::new()
    }

    /// Starts a store on a connection that the application has made and may use for other things.
    ///
    /// The manager's own settings for timeouts and TLS count; those of the builder have no effect.
    pub fn from_connection_manager(manager: ConnectionManager) -> RedisChatMemoryStoreBuilder {
        RedisChatMemoryStoreBuilder::with(manager)
    }
}

#[async_trait]
impl ChatMemoryStore for RedisChatMemoryStore {
    async fn get_messages(&self, id: &MemoryId) -> Result<Vec<ChatMessage>> {
        Ok(self.snapshot(id).await?.messages().to_vec())
    }

    async fn update_messages(&self, id: &MemoryId, messages: &[ChatMessage]) -> Result<()> {
        let change = Change::replace(None, messages.iter().cloned().collect());
        self.change(id, &change).await?;
        self.sweep().await;
        Ok(())
    }

    async fn delete_messages(&self, id: &MemoryId) -> Result<()> {
        self.remove(std::slice::from_ref(id), None).await?;
        Ok(())
    }

    async fn load(&self, id: &MemoryId) -> Result<Snapshot> {
        self.snapshot(id).await
    }

    async fn commit(&self, id: &MemoryId, change: Change) -> Result<()> {
        self.change(id, &change).await?;
        self.sweep().await;
        Ok(())
    }

    fn leases(&self) -> Option<&dyn ConversationLeases> {
        self.0.leases.is_some().then_some(self as _)
    }
}

impl fmt::Debug for RedisChatMemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { connections, keys, time_to_live, evicted_messages, leases, .. } = &*self.0;
        f.debug_struct("RedisChatMemoryStore")
            .field("key_prefix", &keys.prefix)
            .field("connections", connections)
            .field("time_to_live_ms", time_to_live)
            .field("evicted_messages", evicted_messages)
            .field("leases", leases)
            .finish()
    }
}
