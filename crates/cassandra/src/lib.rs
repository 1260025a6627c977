//! Chat memories in Apache Cassandra, for many machines and data centres.
//!
//! Choose it if the cluster is there already, or if conversations have to survive the loss of a
//! machine or a data centre without anybody doing anything. It needs Cassandra 4.0 or newer.
//!
//! # What it costs
//!
//! A commit is a read and a lightweight transaction, whatever the length of the window: 3 to 4 ms
//! were measured with client and node on one machine and a commit log that is synced for each write;
//! loading 10 to 100 messages 2 ms, 1000 messages 10 ms. In a cluster a transaction takes four rounds
//! between the replicas, two with `paxos_variant: v2`. One conversation takes up to a few hundred
//! commits a second from one writer, and some ten from many at once, who are in each other's way;
//! different conversations do not wait for each other.
//!
//! # What is promised
//!
//! - **A turn is in the store as a whole or not at all, and once.** All rows of a conversation are one
//!   partition, and a commit is one conditional batch on it. If its answer does not arrive, a serial
//!   read tells what has become of it, and it is made again if nothing has. If the cluster stays out
//!   of reach, the error is one of the connection or a timeout, and the turn may have been stored.
//! - **What was acknowledged is on a majority of the replicas**, of the data centre or of all, see
//!   [`CassandraConsistency`]. How much that is depends on the cluster: with one copy it is one disk.
//!   The crash of a process loses nothing. Cassandra answers before its commit log is on the disk,
//!   which it is every 10 s (`commitlog_sync: periodic`, the default): the crash of a machine loses
//!   nothing as long as the majority has others, but if all replicas lose power at once, the last
//!   seconds may be gone, unless `commitlog_sync` is `batch` or `group`.
//! - **Clocks do not matter for the order of commits.** Their times are ballots of Paxos, each later
//!   than the one before, even if the clocks of the nodes differ. Leases do end by the nodes' clocks;
//!   one that ends too early or too late holds somebody up or costs somebody a turn, but lets no one
//!   write who must not.
//!
//! # Limits
//!
//! - A request has at most 16 MiB (`native_transport_max_frame_size`, and half of
//!   `commitlog_segment_size`). A turn that is larger is refused with
//!   [`ErrorKind::LimitExceeded`](ai_services_core::ErrorKind::LimitExceeded). What is evicted and kept does not
//!   count.
//! - What a window evicts leaves a mark of its deletion for `gc_grace_seconds`, 10 days by default.
//!   The marks of one conversation are merged into one, because they are ranges that cover each other.
//!   Do not lower `gc_grace_seconds` below the time between repairs: what comes back is reported as
//!   damage. Until they are flushed and compacted, evicted messages are still looked at: 6000 turns
//!   without that made loading 2 ms slower.
//! - [`delete_unused_since`](ai_services_core::memory::ConversationStore::delete_unused_since) reads all heads.
//! - It is not tested with `ScyllaDB`, which up to version 2025.3 has no lightweight transactions in
//!   keyspaces with tablets, and where odd conditions may mean something else.
//!
//! # TLS
//!
//! The driver's TLS is not part of this crate: it would bring a second cryptographic library, aws-lc.
//! Enable it on your own dependency, `scylla = { version = "1", features = ["rustls-023"] }`, and hand
//! over a session:
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
//! The driver compares certificates with the IP address of a node, even if the contact point is a name:
//! certificates need it as an alternative name.
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
mod eviction;
mod fault;
mod leases;
mod read;
mod rows;
mod schema;
mod session;
mod settings;
mod statements;
mod write;

pub use builder::CassandraChatMemoryStoreBuilder;
/// The driver, for a [session](CassandraChatMemoryStoreBuilder::session) of your own.
pub use scylla;
pub use settings::{CassandraConsistency, CassandraReplication};

use ai_services_core::Result;
use ai_services_core::memory::{
    Change, ChatMemoryStore, ConversationLeases, EvictedMessages, LeaseOptions, MemoryId, Snapshot,
};
use ai_services_core::message::ChatMessage;
use ai_services_core::store_kit::limits;
use async_trait::async_trait;
use session::Client;
use std::fmt;
use std::sync::Arc;

/// A store that keeps conversations in Apache Cassandra.
///
/// Clones share one session. See the [module](self) for what it promises, what it costs and what its
/// limits are, and the [builder](CassandraChatMemoryStoreBuilder) for its settings.
///
/// # Differences from LangChain4j
///
/// `CassandraChatMemoryStore` there writes the whole list anew after each message, without a
/// condition: of two writers the last wins. Here a turn is added as a whole, once, and the second
/// writer is told. The tables are not compatible.
#[derive(Clone)]
pub struct CassandraChatMemoryStore(Arc<Shared>);

struct Shared {
    client: Client,
    /// Used if the keyspace is created.
    replication: String,
    evicted_messages: EvictedMessages,
    leases: Option<LeaseOptions>,
}

impl CassandraChatMemoryStore {
    /// Starts the settings of a store.
    pub fn builder() -> CassandraChatMemoryStoreBuilder {
        CassandraChatMemoryStoreBuilder::new()
    }

    /// Creates the keyspace and the tables that do not exist yet, and waits until all nodes know them.
    ///
    /// Several processes may do it at once; it takes a second, and 50 ms if all exists.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Authentication`](ai_services_core::ErrorKind::Authentication) if the user may not create them;
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if they were made by a newer
    /// version of this crate; else if the cluster fails.
    pub async fn ensure_schema(&self) -> Result<()> {
        schema::ensure(self.client(), &self.0.replication).await
    }

    fn client(&self) -> &Client {
        &self.0.client
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
        self.delete(id).await
    }

    async fn load(&self, id: &MemoryId) -> Result<Snapshot> {
        limits::check_id(id)?;
        self.snapshot(id).await
    }

    async fn commit(&self, id: &MemoryId, change: Change) -> Result<()> {
        self.commit_change(id, &change).await
    }

    fn leases(&self) -> Option<&dyn ConversationLeases> {
        self.0.leases.is_some().then_some(self)
    }
}

impl fmt::Debug for CassandraChatMemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CassandraChatMemoryStore")
            .field("tables", self.client().names())
            .field("evicted_messages", &self.0.evicted_messages)
            .field("leases", &self.0.leases)
            .finish_non_exhaustive()
    }
}
