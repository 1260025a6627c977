//! The builder of [`CassandraChatMemoryStore`].

use super::lease;
use super::session::{Client, profile};
use super::settings::{CassandraConsistency, CassandraReplication, check_data_center};
use super::table_names::TableNames;
use super::{CassandraChatMemoryStore, Inner, error_mapping};
use ai_services_core::memory::{EvictedMessages, LeaseOptions};
use ai_services_core::store_kit::cache::{ConversationCache, DEFAULT_CACHE_BYTES};
use ai_services_core::{Error, ErrorKind, Result};
use scylla::client::PoolSize;
use scylla::client::execution_profile::ExecutionProfileHandle;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio::time::timeout;

const MAX_CONNECTIONS: usize = 64;

/// Builds a [`CassandraChatMemoryStore`].
///
/// Only [`contact_points`](Self::contact_points) or [`session`](Self::session) is required.
///
/// # Examples
///
/// ```
/// use ai_services::memory::{EvictedMessages, LeaseOptions};
/// use ai_services::store::cassandra::{CassandraChatMemoryStore, CassandraReplication};
///
/// let builder = CassandraChatMemoryStore::builder()
///     .contact_points(["10.0.0.1", "10.0.0.2:9042"])
///     .user("assistant")
///     .password("secret")
///     .local_datacenter("frankfurt")
///     .replication(CassandraReplication::per_data_center([("frankfurt", 3)]))
///     .evicted_messages(EvictedMessages::Keep)
///     .leases(LeaseOptions::new());
/// assert!(!format!("{builder:?}").contains("secret"));
/// // let store = builder.connect().await?;
/// ```
#[derive(Clone)]
#[must_use]
pub struct CassandraChatMemoryStoreBuilder {
    contact_points: Vec<String>,
    session: Option<Arc<Session>>,
    user: Option<String>,
    password: Option<String>,
    keyspace: String,
    table_prefix: String,
    local_datacenter: Option<String>,
    consistency: CassandraConsistency,
    replication: CassandraReplication,
    connections_per_node: usize,
    connect_timeout: Duration,
    request_timeout: Duration,
    evicted_messages: EvictedMessages,
    leases: Option<LeaseOptions>,
    cache_bytes: usize,
}

impl CassandraChatMemoryStoreBuilder {
    pub(super) fn new() -> Self {
        Self {
            contact_points: Vec::new(),
            session: None,
            user: None,
            password: None,
            keyspace: "ai_services".to_owned(),
            table_prefix: "chat".to_owned(),
            local_datacenter: None,
            consistency: CassandraConsistency::default(),
            replication: CassandraReplication::default(),
            connections_per_node: 1,
            connect_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(10),
            evicted_messages: EvictedMessages::default(),
            leases: None,
            cache_bytes: DEFAULT_CACHE_BYTES,
        }
    }

    /// Sets some nodes of the cluster, as `host` or `host:port`. Default port: 9042.
    ///
    /// The driver discovers the other nodes through them. Set several, in case one is down.
    pub fn contact_points<P: Into<String>>(mut self, points: impl IntoIterator<Item = P>) -> Self {
        self.contact_points = points.into_iter().map(Into::into).collect();
        self
    }

    /// Uses a session of the application, for example one with [TLS](super#tls).
    ///
    /// Nodes, user and connections are those of the session. Consistency, time limits, data centre and
    /// retries of the store's requests are those of this builder.
    pub fn session(mut self, session: Arc<Session>) -> Self {
        self.session = Some(session);
        self
    }

    /// Sets the user, for clusters with authentication.
    ///
    /// The user must be able to read and write the tables, and to create them if
    /// [`ensure_schema`](CassandraChatMemoryStore::ensure_schema) is called.
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// Sets the password of the user.
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// Sets the keyspace. Default: `ai_services`.
    pub fn keyspace(mut self, keyspace: impl Into<String>) -> Self {
        self.keyspace = keyspace.into();
        self
    }

    /// Sets the prefix of the table names. Default: `chat`, for `chat_messages` and `chat_meta`.
    ///
    /// Stores with different prefixes do not share data.
    pub fn table_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.table_prefix = prefix.into();
        self
    }

    /// Sets the data centre whose nodes receive the requests, with its name in `nodetool status`. Required if
    /// there are several data centres and the consistency is [`Local`](CassandraConsistency::Local).
    pub fn local_datacenter(mut self, name: impl Into<String>) -> Self {
        self.local_datacenter = Some(name.into());
        self
    }

    /// Sets the replicas of which a majority has to agree. Default: [`CassandraConsistency::Local`].
    ///
    /// With the default, loading and the decision on a commit use `LOCAL_SERIAL`; writes, lists and histories
    /// use `LOCAL_QUORUM`.
    pub fn consistency(mut self, consistency: CassandraConsistency) -> Self {
        self.consistency = consistency;
        self
    }

    /// Sets the replication of the keyspace, if [`ensure_schema`](CassandraChatMemoryStore::ensure_schema)
    /// creates it. Default: [one copy](CassandraReplication::simple), which is for development only.
    ///
    /// The replication of an existing keyspace is not changed.
    pub fn replication(mut self, replication: CassandraReplication) -> Self {
        self.replication = replication;
        self
    }

    /// Sets the number of connections to each node. Default: 1. From 1 to 64.
    ///
    /// A connection multiplexes thousands of requests, so a pool is unnecessary. But answers are transferred
    /// one after the other: a second connection lets short answers pass one of many megabytes.
    pub fn connections_per_node(mut self, connections: usize) -> Self {
        self.connections_per_node = connections;
        self
    }

    /// Sets the time limit for opening one connection. Default: 5 seconds.
    ///
    /// [`connect`](Self::connect) also discovers the nodes of the cluster, and takes at most twice as long.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the time limit for the answer to a request. Default: 10 seconds.
    ///
    /// A request without an answer is retried at most twice. Cassandra itself times out after 2 to 5 seconds,
    /// and after 1.8 seconds for conflicting writers of one conversation (`cas_contention_timeout`). Such a
    /// request is retried until this time limit has passed, and at least twice. After each uncertain attempt
    /// at a commit, the store reads whether it was applied, so an operation may take several times as long.
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.request_timeout = timeout;
        self
    }

    /// Sets whether evicted messages are kept as history. Default: [`EvictedMessages::Delete`].
    pub fn evicted_messages(mut self, evicted_messages: EvictedMessages) -> Self {
        self.evicted_messages = evicted_messages;
        self
    }

    /// Switches on leases, so that processes take turns on a conversation. Default: off; consistency relies
    /// on optimistic locking alone.
    ///
    /// A lease lasts for its duration and up to a second longer, by the clocks of Cassandra's nodes. It costs
    /// two additional transactions per turn.
    pub fn leases(mut self, leases: LeaseOptions) -> Self {
        self.leases = Some(leases);
        self
    }

    /// Sets the maximum size of the cache of loaded conversations, in bytes. Default: 64 MiB. 0 switches the
    /// cache off.
    ///
    /// A turn then reads only what is new since this process loaded the conversation last. All clones share
    /// the cache. The size is an estimate, which includes one encoding of each message.
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.cache_bytes = bytes;
        self
    }

    /// Connects to the cluster. The tables need not exist yet.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`] for invalid settings, for a data centre that does not exist, and
    /// if there are several data centres but [`local_datacenter`](Self::local_datacenter) is not set. Returns
    /// [`ErrorKind::Authentication`] if user or password are rejected, and [`ErrorKind::Connection`] or
    /// [`ErrorKind::Timeout`] if no node can be reached.
    pub async fn connect(self) -> Result<CassandraChatMemoryStore> {
        let names = TableNames::new(self.keyspace.clone(), &self.table_prefix)?;
        let replication = self.replication.as_map()?;
        let leases = self.leases.map(lease::checked).transpose()?;
        self.check()?;
        let local = self.local_datacenter.as_deref();
        let profile = profile(self.consistency, local, self.request_timeout);
        let session = match &self.session {
            Some(session) => Arc::clone(session),
            None => Arc::new(self.open(&names, profile.clone()).await?),
        };
        self.check_data_centers(&session)?;
        let (consistency, limit) = (self.consistency, self.request_timeout);
        Ok(CassandraChatMemoryStore(Arc::new(Inner {
            client: Client::new(session, names, profile, consistency, limit),
            statements: OnceCell::new(),
            replication,
            evicted_messages: self.evicted_messages,
            leases,
            cache: ConversationCache::new(self.cache_bytes),
        })))
    }

    fn check(&self) -> Result<()> {
        if let Some(name) = &self.local_datacenter {
            check_data_center(name)?;
        }
        for (name, limit) in
            [("connect_timeout", self.connect_timeout), ("request_timeout", self.request_timeout)]
        {
            if limit.is_zero() {
                return Err(Error::configuration(format!("`{name}` must be greater than zero")));
            }
        }
        if !(1..=MAX_CONNECTIONS).contains(&self.connections_per_node) {
            return Err(Error::configuration(format!(
                "`connections_per_node` must be from 1 to {MAX_CONNECTIONS}, but is {}",
                self.connections_per_node
            )));
        }
        if self.user.is_some() != self.password.is_some() {
            return Err(Error::configuration("set both `user` and `password`, or neither"));
        }
        match (&self.session, self.contact_points.is_empty()) {
            (None, true) => {
                Err(Error::configuration("no cluster: call `contact_points` or `session`"))
            }
            (Some(_), false) => Err(Error::configuration(
                "a session has its own contact points; call either `session` or `contact_points`",
            )),
            (Some(_), true) if self.user.is_some() => Err(Error::configuration(
                "a session has its own user; call either `session` or `user`",
            )),
            _ => Ok(()),
        }
    }

    async fn open(&self, names: &TableNames, profile: ExecutionProfileHandle) -> Result<Session> {
        let connections = NonZeroUsize::new(self.connections_per_node).unwrap_or(NonZeroUsize::MIN);
        let mut builder = SessionBuilder::new()
            .known_nodes(&self.contact_points)
            .connection_timeout(self.connect_timeout)
            .pool_size(PoolSize::PerHost(connections))
            // The driver needs the location of replicas of this keyspace only.
            .keyspaces_to_fetch([&names.keyspace])
            .default_execution_profile_handle(profile);
        if let (Some(user), Some(password)) = (&self.user, &self.password) {
            builder = builder.user(user, password);
        }
        let limit = self.connect_timeout.saturating_mul(2);
        match timeout(limit, Box::pin(builder.build())).await {
            Ok(session) => session.map_err(error_mapping::not_connected),
            Err(_) => {
                let message = format!(
                    "Cassandra did not answer within {limit:?}; check the contact points, or raise \
                     `connect_timeout`"
                );
                Err(Error::new(ErrorKind::Timeout, message))
            }
        }
    }

    /// Validates the local data centre. A majority of one data centre requires the same data centre for all
    /// requests.
    fn check_data_centers(&self, session: &Session) -> Result<()> {
        let cluster = session.get_cluster_state();
        let nodes = cluster.get_nodes_info().iter();
        let known: BTreeSet<&str> = nodes.filter_map(|node| node.datacenter.as_deref()).collect();
        let list = || known.iter().copied().collect::<Vec<_>>().join("`, `");
        match self.local_datacenter.as_deref() {
            Some(name) if !known.is_empty() && !known.contains(name) => Err(Error::configuration(
                format!("unknown data centre `{name}`; the cluster has `{}`", list()),
            )),
            None if known.len() > 1 && self.consistency == CassandraConsistency::Local => {
                Err(Error::configuration(format!(
                    "the cluster has several data centres, `{}`; call `local_datacenter` with one of them, \
                     or `consistency` with `CassandraConsistency::Global`",
                    list()
                )))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for CassandraChatMemoryStoreBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CassandraChatMemoryStoreBuilder")
            .field("contact_points", &self.contact_points)
            .field("user", &self.user)
            .field("password", &self.password.as_ref().map(|_| "[hidden]"))
            .field("keyspace", &self.keyspace)
            .field("table_prefix", &self.table_prefix)
            .field("local_datacenter", &self.local_datacenter)
            .field("consistency", &self.consistency)
            .field("evicted_messages", &self.evicted_messages)
            .field("leases", &self.leases)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn rejected(builder: CassandraChatMemoryStoreBuilder) -> String {
        // No server listens at the address: an accepted setting results in another kind of error.
        let error = builder.connect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
        error.to_string()
    }

    #[tokio::test]
    async fn invalid_settings_are_rejected() {
        let new = || CassandraChatMemoryStoreBuilder::new().contact_points(["127.0.0.1:1"]);
        rejected(CassandraChatMemoryStoreBuilder::new()).await;
        rejected(new().keyspace("a; DROP KEYSPACE b")).await;
        rejected(new().table_prefix("")).await;
        rejected(new().table_prefix("x".repeat(48))).await;
        rejected(new().local_datacenter("'")).await;
        rejected(new().replication(CassandraReplication::simple(0))).await;
        rejected(new().connections_per_node(0)).await;
        rejected(new().connect_timeout(Duration::ZERO)).await;
        rejected(new().request_timeout(Duration::ZERO)).await;
        rejected(new().leases(LeaseOptions::new().duration(Duration::ZERO))).await;
        let error = rejected(new().user("anna")).await;
        assert!(error.contains("password"), "{error}");
    }

    #[test]
    fn password_is_not_shown() {
        let builder = CassandraChatMemoryStoreBuilder::new().user("anna").password("hush");
        let shown = format!("{builder:?}");
        assert!(shown.contains("anna") && !shown.contains("hush"), "{shown}");
    }
}
