//! Chat memories in Redis or Valkey, for many machines, low latency, and conversations that expire.
//!
//! # Data layout
//!
//! With the prefix `ai-services` and the id `klaus`:
//!
//! | key | type | content |
//! |---|---|---|
//! | `{ai-services}:head:klaus` | hash | version, number of messages, time of the last change, log of the last 32 commits |
//! | `{ai-services}:messages:klaus` | sorted set | messages in memory: the member `number:record` with its number as score |
//! | `{ai-services}:history:klaus` | sorted set | evicted messages, in the same form |
//! | `{ai-services}:lease:klaus` | string | token of the lease, while it is held |
//! | `{ai-services}:journal:klaus` | hash | journal of the open turn: its position, the time of the last append, the records by their numbers |
//! | `{ai-services}:ids` | sorted set | conversations that are listed |
//! | `{ai-services}:used` | sorted set | all conversations, by the time of their last change or append in milliseconds |
//! | `{ai-services}:journals` | sorted set | conversations with an open journal |
//! | `{ai-services}:schema` | string | version of this layout |
//!
//! Ids are part of the keys without escaping. An id cannot produce the key of another conversation, or a key
//! without the prefix in braces.
//!
//! # Durability
//!
//! A commit that has returned is in the memory of the server. Everything else depends on the server's
//! configuration, which this store does not change and cannot always read:
//!
//! * `appendonly yes` with `appendfsync always`: the commit survives a crash of the server and of its
//!   machine.
//! * `appendfsync everysec`, the usual setting: a crash of the machine loses up to about two seconds; a crash
//!   of the server process does not lose commits.
//! * Only snapshots (RDB): a crash loses the commits since the last snapshot, usually minutes.
//! * Replication is asynchronous: a failover loses commits that the old primary had acknowledged and the new
//!   one had not received. `WAIT` and `WAITAOF` are not used.
//! * `maxmemory-policy` must be `noeviction`, or one of `volatile-*` for conversations without a time to
//!   live, so that the server does not evict conversations. A conversation that was evicted in part is
//!   reported as [unreadable](ai_services_core::memory::UnreadableRecord).
//!
//! Only the newest commits can be lost, and each of them completely: a commit is one script, and therefore
//! one step in the server's files and for its replicas, too. A conversation never contains half a turn. An append
//! to a journal is as durable as a commit.
//!
//! # Limitations
//!
//! Redis Cluster is not supported. All keys of a store have the same hash tag, the prefix, so that a single
//! node of a cluster could hold them behind a cluster-aware proxy, but the store does not follow
//! redirections. The store does not query a Sentinel for the primary either: use an address that moves with a
//! failover.

mod builder;
mod commit;
mod connection;
mod consistent_read;
mod conversations;
mod error_mapping;
mod history;
mod index;
mod journal;
mod keys;
mod lease;
mod rows;
mod schema;
mod scripts;

pub use builder::RedisChatMemoryStoreBuilder;

use ai_services_core::Result;
use ai_services_core::memory::{
    Change, ChatMemoryStore, CommitState, ConversationLeases, EvictedMessages, LeaseOptions,
    MemoryId, RequestId, Snapshot, TurnJournals,
};
use ai_services_core::message::ChatMessage;
use ai_services_core::store_kit::cache::{ConversationCache, KnownConversation};
use async_trait::async_trait;
use connection::Connections;
use keys::Keys;
use redis::aio::ConnectionManager;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// A store that keeps conversations in Redis 6.2 or newer, or in Valkey.
///
/// Suitable for services on many machines, for many short conversations, and for conversations that
/// [expire](RedisChatMemoryStoreBuilder::time_to_live). All conversations must fit into the server's memory.
/// Their [durability](self#durability) depends on the server.
///
/// A turn costs two round trips: one loads the conversation, one commits the turn by a script. If the
/// connection breaks, the store reconnects and retries, three attempts in total. A commit whose answer was
/// lost is recognized in the log of the last 32 commits of its conversation, and not applied twice. Clones share
/// their connections.
///
/// A server that has reached `maxmemory` rejects commits, but conversations can still be read and deleted.
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
/// In addition to the errors of every store, operations return:
///
/// - [`Connection`](ai_services_core::ErrorKind::Connection) if the server cannot be reached, or the
///   connection broke three times, and [`Timeout`](ai_services_core::ErrorKind::Timeout) if the server does
///   not answer. If a commit may have been applied nevertheless, the kind is
///   [`UnknownOutcome`](ai_services_core::ErrorKind::UnknownOutcome) instead.
/// - [`Authentication`](ai_services_core::ErrorKind::Authentication) if the server rejects the user.
/// - [`Store`](ai_services_core::ErrorKind::Store), with advice, for every other error of the server.
///
/// # Cancellation
///
/// A commit whose future is dropped is applied completely or not at all. To find out which, call
/// [`commit_state`](ChatMemoryStore::commit_state).
#[derive(Clone)]
pub struct RedisChatMemoryStore(Arc<Inner>);

struct Inner {
    connections: Connections,
    keys: Keys,
    /// Time to live in milliseconds.
    time_to_live: Option<u64>,
    evicted_messages: EvictedMessages,
    leases: Option<LeaseOptions>,
    /// Approximate number of commits of this store.
    commits: AtomicU32,
    cache: ConversationCache,
}

impl RedisChatMemoryStore {
    /// Returns a builder with the default settings.
    pub fn builder() -> RedisChatMemoryStoreBuilder {
        RedisChatMemoryStoreBuilder::new()
    }

    /// Returns a builder for a store that uses a connection of the application, which may also be used for
    /// other purposes.
    ///
    /// The manager's settings for timeouts and TLS apply; those of the builder have no effect.
    pub fn from_connection_manager(manager: ConnectionManager) -> RedisChatMemoryStoreBuilder {
        RedisChatMemoryStoreBuilder::with(manager)
    }
}

#[async_trait]
impl ChatMemoryStore for RedisChatMemoryStore {
    async fn get_messages(&self, id: &MemoryId) -> Result<Vec<ChatMessage>> {
        Ok(self.load(id).await?.messages().to_vec())
    }

    async fn update_messages(&self, id: &MemoryId, messages: &[ChatMessage]) -> Result<()> {
        self.commit(id, Change::replace(None, messages.iter().cloned().collect())).await
    }

    async fn delete_messages(&self, id: &MemoryId) -> Result<()> {
        self.remove(std::slice::from_ref(id), None).await?;
        self.0.cache.remove(id);
        Ok(())
    }

    async fn load(&self, id: &MemoryId) -> Result<Snapshot> {
        let load = |known: Option<KnownConversation>| async move {
            self.read_since(id, known.as_ref()).await
        };
        self.0.cache.load(id, load).await
    }

    async fn commit(&self, id: &MemoryId, change: Change) -> Result<()> {
        self.change(id, &change).await?;
        self.0.cache.committed(id, &change);
        self.sweep().await;
        Ok(())
    }

    async fn commit_state(&self, id: &MemoryId, request: &RequestId) -> Result<CommitState> {
        self.state_of_commit(id, request).await
    }

    fn leases(&self) -> Option<&dyn ConversationLeases> {
        self.0.leases.is_some().then_some(self as _)
    }

    fn journals(&self) -> Option<&dyn TurnJournals> {
        Some(self)
    }
}

impl fmt::Debug for RedisChatMemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { connections, keys, time_to_live, evicted_messages, leases, cache, .. } =
            &*self.0;
        f.debug_struct("RedisChatMemoryStore")
            .field("key_prefix", &keys.prefix)
            .field("connections", connections)
            .field("time_to_live_ms", time_to_live)
            .field("evicted_messages", evicted_messages)
            .field("leases", leases)
            .field("cache", cache)
            .finish()
    }
}
