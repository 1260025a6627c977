//! Building a [`CassandraChatMemoryStore`].

use super::leases;
use super::session::{Client, profile};
use super::settings::{CassandraConsistency, CassandraReplication, check_data_center};
use super::statements::Names;
use super::{CassandraChatMemoryStore, Shared, fault};
use ai_services_core::memory::{EvictedMessages, LeaseOptions};
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
        }
    }

    /// Sets some nodes of the cluster, as `host` or `host:port`; the port is 9042 unless given. The
    /// others are found through them. Several, so that one may be down.
    pub fn contact_points<P: Into<String>>(mut self, points: impl IntoIterator<Item = P>) -> Self {
        self.contact_points = points.into_iter().map(Into::into).collect();
        self
    }

    /// Uses a session of your own, for example one with [TLS](super#tls), or one that the program has
    /// anyway. Its nodes, users and connections are its own affair; consistency, time limits, data
    /// centre and retries of the store's requests are those of this builder.
    pub fn session(mut self, session: Arc<Session>) -> Self {
        self.session = Some(session);
        self
    }

    /// Sets the user, for clusters that ask for one. It has to read and write the tables; to create them
    /// as well, only for [`ensure_schema`](CassandraChatMemoryStore::ensure_schema).
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// Sets the password of the user.
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// Sets the keyspace: `ai_services` by default.
    pub fn keyspace(mut self, keyspace: impl Into<String>) -> Self {
        self.keyspace = keyspace.into();
        self
    }

    /// Sets what the names of the tables begin with: `chat` by default, for `chat_messages` and
    /// `chat_meta`. Stores with different prefixes share nothing.
    pub fn table_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.table_prefix = prefix.into();
        self
    }

    /// Sets the data centre whose nodes are asked, as `nodetool status` names it. Required if there are
    /// several and the consistency is [`Local`](CassandraConsistency::Local).
    pub fn local_datacenter(mut self, name: impl Into<String>) -> Self {
        self.local_datacenter = Some(name.into());
        self
    }

    /// Sets among which replicas a majority has to agree: those of the
    /// [local](CassandraConsistency::Local) data centre by default.
    ///
    /// Loading, and the decision on a commit, use the serial level, `LOCAL_SERIAL`; writing, listing and
    /// histories use the other, `LOCAL_QUORUM`.
    pub fn consistency(mut self, consistency: CassandraConsistency) -> Self {
        self.consistency = consistency;
        self
    }

    /// Sets how many copies are kept if
    /// [`ensure_schema`](CassandraChatMemoryStore::ensure_schema) creates the keyspace: by default
    /// [one](CassandraReplication::simple), which is for development only. The replication of a
    /// keyspace that exists is not changed.
    pub fn replication(mut self, replication: CassandraReplication) -> Self {
        self.replication = replication;
        self
    }

    /// Sets how many connections are made to each node: 1 by default, 1 to 64.
    ///
    /// A connection carries thousands of requests at a time, so it needs no pool. But their bytes come
    /// one after the other: a second one lets short answers pass one of many megabytes.
    pub fn connections_per_node(mut self, connections: usize) -> Self {
        self.connections_per_node = connections;
        self
    }

    /// Sets how long one connection may take to be made: 5 s by default. [`connect`](Self::connect) as a
    /// whole, which also asks for the nodes of the cluster, takes at most twice as long.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets how long the answer to a request may take: 10 s by default.
    ///
    /// A request without an answer is made again up to two times. If Cassandra itself gives up, which
    /// it does after 2 to 5 s, and after 1.8 s for writers of one conversation who are in each other's
    /// way (`cas_contention_timeout`), the request is made again for as long as this, and at least
    /// two times. After each attempt at a commit it is read what has become of it, so that an
    /// operation may take several times as long.
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.request_timeout = timeout;
        self
    }

    /// What becomes of the messages that a window evicts: forgotten by default.
    pub fn evicted_messages(mut self, evicted_messages: EvictedMessages) -> Self {
        self.evicted_messages = evicted_messages;
        self
    }

    /// Lets processes take turns by leases; without this, only versions keep them apart.
    ///
    /// A lease lasts for its duration and up to a second longer, by the clocks of Cassandra's nodes. It
    /// costs two more transactions a turn.
    pub fn leases(mut self, leases: LeaseOptions) -> Self {
        self.leases = Some(leases);
        self
    }

    /// Connects to the cluster. The tables need not exist yet.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`] for settings that cannot be, for a data centre that does not exist,
    /// and for several data centres of which none is
    /// [named](Self::local_datacenter); [`ErrorKind::Authentication`] if user or password are refused;
    /// [`ErrorKind::Connection`] or [`ErrorKind::Timeout`] if no node can be reached.
    pub async fn connect(self) -> Result<CassandraChatMemoryStore> {
        let names = Names::new(self.keyspace.clone(), &self.table_prefix)?;
        let replication = self.replication.as_map()?;
        let leases = self.leases.map(leases::checked).transpose()?;
        self.check()?;
        let local = self.local_datacenter.as_deref();
        let profile = profile(self.consistency, local, self.request_timeout);
        let session = match &self.session {
            Some(session) => Arc::clone(session),
            None => Arc::new(self.open(&names, profile.clone()).await?),
        };
        self.check_data_centers(&session)?;
        let (consistency, limit) = (self.consistency, self.request_timeout);
        Ok(CassandraChatMemoryStore(Arc::new(Shared {
            client: Client::new(session, names, profile, consistency, limit),
            replication,
            evicted_messages: self.evicted_messages,
            leases,
        })))
    }

    fn check(&self) -> Result<()> {
        if let Some(name) = &self.local_datacenter {
            check_data_center(name)?;
        }
        for (what, limit) in
            [("connect_timeout", self.connect_timeout), ("request_timeout", self.request_timeout)]
        {
            if limit.is_zero() {
                return Err(Error::configuration(format!("`{what}` must be greater than zero")));
            }
        }
        if !(1..=MAX_CONNECTIONS).contains(&self.connections_per_node) {
            return Err(Error::configuration(format!(
                "`connections_per_node` must be 1 to {MAX_CONNECTIONS}, but is {}",
                self.connections_per_node
            )));
        }
        if self.user.is_some() != self.password.is_some() {
            return Err(Error::configuration("set both `user` and `password`, or none of them"));
        }
        match (&self.session, self.contact_points.is_empty()) {
            (None, true) => {
                Err(Error::configuration("no cluster: call `contact_points` or `session`"))
            }
            (Some(_), false) => Err(Error::configuration(
                "a session of your own has its own contact points; call `session` without them",
            )),
            (Some(_), true) if self.user.is_some() => Err(Error::configuration(
                "a session of your own has its own user; call `session` without one",
            )),
            _ => Ok(()),
        }
    }

    async fn open(&self, names: &Names, profile: ExecutionProfileHandle) -> Result<Session> {
        let connections = NonZeroUsize::new(self.connections_per_node).unwrap_or(NonZeroUsize::MIN);
        let mut builder = SessionBuilder::new()
            .known_nodes(&self.contact_points)
            .connection_timeout(self.connect_timeout)
            .pool_size(PoolSize::PerHost(connections))
            // Where the replicas are has to be known for one keyspace only.
            .keyspaces_to_fetch([&names.keyspace])
            .default_execution_profile_handle(profile);
        if let (Some(user), Some(password)) = (&self.user, &self.password) {
            builder = builder.user(user, password);
        }
        let limit = self.connect_timeout.saturating_mul(2);
        match timeout(limit, Box::pin(builder.build())).await {
            Ok(session) => session.map_err(fault::not_connected),
            Err(_) => {
                let message = format!(
                    "Cassandra did not answer within {limit:?}; check the contact points, or raise \
                     `connect_timeout`"
                );
                Err(Error::new(ErrorKind::Timeout, message))
            }
        }
    }

    /// A majority of one data centre has to be one of the same for all requests.
    fn check_data_centers(&self, session: &Session) -> Result<()> {
        let cluster = session.get_cluster_state();
        let nodes = cluster.get_nodes_info().iter();
        let known: BTreeSet<&str> = nodes.filter_map(|node| node.datacenter.as_deref()).collect();
        let list = || known.iter().copied().collect::<Vec<_>>().join("`, `");
        match self.local_datacenter.as_deref() {
            Some(name) if !known.is_empty() && !known.contains(name) => Err(Error::configuration(
                format!("there is no data centre `{name}`; there are `{}`", list()),
            )),
            None if known.len() > 1 && self.consistency == CassandraConsistency::Local => {
                Err(Error::configuration(format!(
                    "there are several data centres, `{}`; call `local_datacenter` with one of them, or \
                     `consistency` with `CassandraConsistency::Global`",
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

    async fn refused(builder: CassandraChatMemoryStoreBuilder) -> String {
        // Nothing listens there: whatever is not refused ends with another kind.
        let error = builder.connect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
        error.to_string()
    }

    #[tokio::test]
    async fn odd_settings_are_refused() {
        let new = || CassandraChatMemoryStoreBuilder::new().contact_points(["127.0.0.1:1"]);
        refused(CassandraChatMemoryStoreBuilder::new()).await;
        refused(new().keyspace("a; DROP KEYSPACE b")).await;
        refused(new().table_prefix("")).await;
        refused(new().table_prefix("x".repeat(48))).await;
        refused(new().local_datacenter("'")).await;
        refused(new().replication(CassandraReplication::simple(0))).await;
        refused(new().connections_per_node(0)).await;
        refused(new().connect_timeout(Duration::ZERO)).await;
        refused(new().request_timeout(Duration::ZERO)).await;
        refused(new().leases(LeaseOptions::new().duration(Duration::ZERO))).await;
        let error = refused(new().user("somebody")).await;
        assert!(error.contains("password"), "{error}");
    }

    #[test]
    fn password_is_not_shown() {
        let builder = CassandraChatMemoryStoreBuilder::new().user("anna").password("hush");
        let shown = format!("{builder:?}");
        assert!(shown.contains("anna") && !shown.contains("hush"), "{shown}");
    }
}
