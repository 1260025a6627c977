//! Chat memories in Apache Cassandra, for many machines and data centres.
//!
//! Suitable if a cluster already exists, or if conversations must survive the loss of a machine or a data
//! centre without manual intervention. Requires Cassandra 4.0 or newer.
//!
//! # Performance
//!
//! A commit is a read and a lightweight transaction, whatever the length of the window. It took 3 to 4 ms in
//! a measurement with client and node on one machine and a commit log that is synced for each write. Loading
//! 10 to 100 messages took 2 ms, 1000 messages 10 ms. In a cluster a transaction takes four rounds between
//! the replicas, two with `paxos_variant: v2`. One conversation accepts up to a few hundred commits per
//! second from one writer, and about ten from many concurrent writers, which conflict with each other.
//! Different conversations do not wait for each other.
//!
//! # Guarantees
//!
//! - **A turn is stored completely or not at all, and once.** All rows of a conversation are in one
//!   partition, and a commit is one conditional batch on it. If its answer does not arrive or cannot be
//!   read, a serial read determines whether the commit was applied, and it is repeated if not. If the cluster
//!   stays unreachable, or if more than 31 other commits have followed, the error is
//!   [`ErrorKind::UnknownOutcome`](ai_services_core::ErrorKind::UnknownOutcome), and the turn may have been
//!   stored. [`commit_state`](ai_services_core::memory::ChatMemoryStore::commit_state) finds out later.
//! - **An acknowledged commit is on a majority of the replicas**, of one data centre or of all, see
//!   [`CassandraConsistency`]. The durability depends on the cluster: with one copy it is one disk. The crash
//!   of a process does not lose commits. Cassandra answers before its commit log is on the disk, which is
//!   synced every 10 seconds (`commitlog_sync: periodic`, the default). The crash of a machine does not lose
//!   commits while a majority of the replicas has them; if all replicas lose power at the same time, the last
//!   seconds may be lost, unless `commitlog_sync` is `batch` or `group`.
//! - **An append to a [journal](ai_services_core::memory::TurnJournals) is one lightweight transaction.** The journal
//!   of an open turn is in the partition of its conversation, and a commit that closes it deletes it in the same
//!   transaction. A load returns its position without a further request.
//! - **The order of commits does not depend on clocks.** Their timestamps are Paxos ballots, each later than
//!   the one before, even if the clocks of the nodes differ. Leases expire by the nodes' clocks: if these are set
//!   back, a lease that is not released lasts longer by the difference. A lease that expires too early or too
//!   late delays a caller or wastes a turn, but never permits a conflicting write.
//!
//! # Limits
//!
//! - A request has at most 16 MiB (`native_transport_max_frame_size`, and half of `commitlog_segment_size`).
//!   A larger turn is rejected with [`ErrorKind::LimitExceeded`](ai_services_core::ErrorKind::LimitExceeded).
//!   Evicted messages that are kept do not count.
//! - Evicted messages leave a tombstone for `gc_grace_seconds`. Cassandra's default: 10 days. The tombstones
//!   of one conversation are merged into one, because they are ranges that cover each other. Do not set
//!   `gc_grace_seconds` below the time between repairs: deleted rows that reappear are reported as damage.
//!   Evicted messages are still scanned until they are flushed and compacted: after 6000 turns without
//!   compaction, loading was 2 ms slower.
//! - [`delete_not_updated_since`](ai_services_core::memory::ConversationStore::delete_not_updated_since) and
//!   [`open_journals`](ai_services_core::memory::TurnJournals::open_journals) read all heads.
//! - Not tested with `ScyllaDB`, which up to version 2025.3 does not support lightweight transactions in
//!   keyspaces with tablets, and may evaluate some conditions differently.
//!
//! # TLS
//!
//! This crate does not enable the driver's TLS, which would add a second cryptographic library, aws-lc.
//! Enable it in your own dependency, `scylla = { version = "1", features = ["rustls-023"] }`, and pass a
//! session:
//!
//! ```text
//! let tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
//! let session = SessionBuilder::new()
//!     .known_node("10.0.0.1:9142")
//!     .user("assistant", password)
//!     .tls_context(Some(Arc::new(tls)))
//!     .build()
//!     .await?;
//! let store = CassandraChatMemoryStore::builder().session(Arc::new(session)).connect().await?;
//! ```
//!
//! The driver compares certificates with the IP address of a node, even if the contact point is a host name.
//! The certificates must contain the address as an alternative name.
//!
//! # Examples
//!
//! ```no_run
//! use ai_services::memory::{ChatMemoryStore, Change};
//! use ai_services::message::ChatMessage;
//! use ai_services::store::cassandra::{CassandraChatMemoryStore, CassandraReplication};
//!
//! # async fn example() -> ai_services::Result<()> {
//! let store = CassandraChatMemoryStore::builder()
//!     .contact_points(["10.0.0.1", "10.0.0.2"])
//!     .local_datacenter("frankfurt")
//!     .replication(CassandraReplication::per_data_center([("frankfurt", 3)]))
//!     .connect()
//!     .await?;
//! store.ensure_schema().await?;
//!
//! let turn = vec![ChatMessage::user("Hello!"), ChatMessage::ai("Hello, Klaus!")];
//! store.commit(&"klaus".into(), Change::advance(None, 0..0, turn)).await?;
//! assert_eq!(store.load(&"klaus".into()).await?.messages().len(), 2);
//! # Ok(())
//! # }
//! ```

mod builder;
mod commit;
mod conversations;
mod error_mapping;
mod eviction;
mod journal;
mod lease;
mod read;
mod rows;
mod schema;
mod session;
mod settings;
mod statements;
mod table_names;
mod write;

pub use builder::CassandraChatMemoryStoreBuilder;
/// The driver, for [`session`](CassandraChatMemoryStoreBuilder::session).
pub use scylla;
pub use settings::{CassandraConsistency, CassandraReplication};

use ai_services_core::Result;
use ai_services_core::memory::{
    Change, ChatMemoryStore, CommitState, ConversationLeases, EvictedMessages, LeaseOptions,
    MemoryId, RequestId, Snapshot, TurnJournals,
};
use ai_services_core::message::ChatMessage;
use ai_services_core::store_kit::cache::{ConversationCache, KnownConversation};
use ai_services_core::store_kit::limits;
use async_trait::async_trait;
use session::Client;
use statements::Statements;
use std::fmt;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// A store that keeps conversations in Apache Cassandra.
///
/// Clones share one session. The [module](self) documents guarantees, performance and limits, the
/// [builder](CassandraChatMemoryStoreBuilder) documents the settings.
///
/// # Differences from LangChain4j
///
/// LangChain4j's `CassandraChatMemoryStore` rewrites the complete list after each message, without a
/// condition: the last of two writers wins. Here a turn is appended atomically, and the second writer gets
/// [`ErrorKind::Conflict`](ai_services_core::ErrorKind::Conflict). The tables are not compatible.
#[derive(Clone)]
pub struct CassandraChatMemoryStore(Arc<Inner>);

struct Inner {
    client: Client,
    statements: OnceCell<Statements>,
    /// Replication of the keyspace, used only when it is created.
    replication: String,
    evicted_messages: EvictedMessages,
    leases: Option<LeaseOptions>,
    cache: ConversationCache,
}

impl CassandraChatMemoryStore {
    /// Returns a builder with the default settings.
    pub fn builder() -> CassandraChatMemoryStoreBuilder {
        CassandraChatMemoryStoreBuilder::new()
    }

    /// Creates the keyspace and the tables unless they exist, adds the columns of journals to tables without them,
    /// and waits until all nodes agree on the schema.
    ///
    /// Programs that were built before journals reject the tables afterwards when they start.
    ///
    /// Several processes may call it at the same time. It takes about a second, or 50 ms if everything
    /// exists.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Authentication`](ai_services_core::ErrorKind::Authentication) if the user may not
    /// create or alter them, and [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if they were
    /// created by a newer version of this crate. Also fails if the cluster fails.
    pub async fn ensure_schema(&self) -> Result<()> {
        schema::ensure(self.client(), &self.0.replication).await
    }

    fn client(&self) -> &Client {
        &self.0.client
    }

    /// Returns the statements, which are prepared on the first call, because the tables may be created after
    /// the store.
    async fn statements(&self) -> Result<&Statements> {
        let prepare = async || {
            schema::check(self.client()).await?;
            Statements::prepare(self.client()).await
        };
        self.0.statements.get_or_try_init(prepare).await
    }

    fn evicted_messages(&self) -> EvictedMessages {
        self.0.evicted_messages
    }

    fn lease_options(&self) -> Option<LeaseOptions> {
        self.0.leases
    }
}

#[async_trait]
impl ChatMemoryStore for CassandraChatMemoryStore {
    async fn get_messages(&self, id: &MemoryId) -> Result<Vec<ChatMessage>> {
        Ok(self.load(id).await?.messages().to_vec())
    }

    async fn update_messages(&self, id: &MemoryId, messages: &[ChatMessage]) -> Result<()> {
        self.commit(id, Change::replace(None, messages.iter().cloned().collect())).await
    }

    async fn delete_messages(&self, id: &MemoryId) -> Result<()> {
        limits::check_id(id)?;
        self.delete(id).await?;
        self.0.cache.remove(id);
        Ok(())
    }

    async fn load(&self, id: &MemoryId) -> Result<Snapshot> {
        limits::check_id(id)?;
        let load = |known: Option<KnownConversation>| async move {
            self.read_since(id, known.as_ref()).await
        };
        self.0.cache.load(id, load).await
    }

    async fn commit(&self, id: &MemoryId, change: Change) -> Result<()> {
        self.commit_change(id, &change).await?;
        self.0.cache.committed(id, &change);
        Ok(())
    }

    async fn commit_state(&self, id: &MemoryId, request: &RequestId) -> Result<CommitState> {
        limits::check_id(id)?;
        self.state_of_commit(id, request).await
    }

    fn leases(&self) -> Option<&dyn ConversationLeases> {
        self.0.leases.is_some().then_some(self)
    }

    fn journals(&self) -> Option<&dyn TurnJournals> {
        Some(self)
    }
}

impl fmt::Debug for CassandraChatMemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CassandraChatMemoryStore")
            .field("tables", self.client().names())
            .field("evicted_messages", &self.0.evicted_messages)
            .field("leases", &self.0.leases)
            .field("cache", &self.0.cache)
            .finish_non_exhaustive()
    }
}
