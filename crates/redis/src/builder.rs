//! Building a [`RedisChatMemoryStore`].

use super::connection::{Connections, Target};
use super::keys::Keys;
use super::lease::MAX_MILLIS;
use super::{RedisChatMemoryStore, Shared};
use ai_services_core::memory::{EvictedMessages, LeaseOptions};
use ai_services_core::{Error, Result};
use redis::aio::ConnectionManager;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

const MAX_CONNECTIONS: usize = 64;

/// Builds a [`RedisChatMemoryStore`].
///
/// Only [`url`](Self::url) is required.
///
/// # Examples
///
/// ```
/// use ai_services::memory::{EvictedMessages, LeaseOptions};
/// use ai_services::store::redis::RedisChatMemoryStore;
/// use std::time::Duration;
///
/// let builder = RedisChatMemoryStore::builder()
///     .url("rediss://user:secret@redis.example.com:6380/0")
///     .key_prefix("support")
///     .time_to_live(Duration::from_secs(30 * 24 * 60 * 60))
///     .evicted_messages(EvictedMessages::Keep)
///     .leases(LeaseOptions::new());
/// assert!(!format!("{builder:?}").contains("secret"));
/// // let store = builder.connect().await?;
/// ```
#[derive(Clone)]
#[must_use]
pub struct RedisChatMemoryStoreBuilder {
    source: Source,
    key_prefix: String,
    connections: usize,
    connect_timeout: Duration,
    response_timeout: Duration,
    time_to_live: Option<Duration>,
    evicted_messages: EvictedMessages,
    leases: Option<LeaseOptions>,
}

#[derive(Clone)]
enum Source {
    Nothing,
    Url(String),
    Manager(ConnectionManager),
}

impl RedisChatMemoryStoreBuilder {
    pub(super) fn new() -> Self {
        Self {
            source: Source::Nothing,
            key_prefix: "ai-services".to_owned(),
            connections: 2,
            connect_timeout: Duration::from_secs(5),
            response_timeout: Duration::from_secs(10),
            time_to_live: None,
            evicted_messages: EvictedMessages::default(),
            leases: None,
        }
    }

    pub(super) fn with(manager: ConnectionManager) -> Self {
        Self { source: Source::Manager(manager), ..Self::new() }
    }

    /// Sets the server: `redis://user:password@host:port/database`, `rediss://…` for TLS, or
    /// `unix:///path?db=0`.
    ///
    /// With TLS, the server's certificate is checked against the certificates of the system, or those
    /// in the file that the environment variable `SSL_CERT_FILE` names. If the
    /// program has not chosen a [`CryptoProvider`](https://docs.rs/rustls/0.23/rustls/crypto/struct.CryptoProvider.html)
    /// for rustls, connecting makes ring the one of the process; a program that prefers another
    /// installs it before.
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.source = Source::Url(url.into());
        self
    }

    /// Sets what all keys begin with, in braces: `ai-services` by default. Stores with different
    /// prefixes share nothing. It has 1 to 128 bytes without braces, white space and control
    /// characters.
    pub fn key_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.key_prefix = prefix.into();
        self
    }

    /// Sets how many connections are used in turn: 2 by default, 1 to 64.
    ///
    /// Requests do not wait for each other's answers on a connection, so it needs no pool. But the
    /// answers come one after the other: a second connection lets short ones pass while the other is
    /// busy with a conversation of many megabytes. More help only if the network is the limit, because
    /// the server does one thing at a time.
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// Sets how long connecting may take, with TLS and password: 5 s by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets how long an answer may take: 10 s by default. A request without an answer is sent again on
    /// a new connection, up to two times, so that an operation may take three times as long.
    pub fn response_timeout(mut self, timeout: Duration) -> Self {
        self.response_timeout = timeout;
        self
    }

    /// Makes conversations expire, with all that was kept of them, so long after their last change: one
    /// millisecond to 100 years. By default they stay until they are deleted.
    ///
    /// Reading is no change. A conversation keeps the time of the store that changed it last; one
    /// that a store without this setting changes stays.
    pub fn time_to_live(mut self, time_to_live: Duration) -> Self {
        self.time_to_live = Some(time_to_live);
        self
    }

    /// What becomes of the messages that a window evicts: forgotten by default.
    pub fn evicted_messages(mut self, evicted_messages: EvictedMessages) -> Self {
        self.evicted_messages = evicted_messages;
        self
    }

    /// Lets processes take turns by leases; without this, only versions keep them apart.
    pub fn leases(mut self, leases: LeaseOptions) -> Self {
        self.leases = Some(leases);
        self
    }

    /// Connects to the server and checks that its data is of a version that this build reads.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) for wrong settings,
    /// [`Authentication`](ai_services_core::ErrorKind::Authentication) if the server refuses the password,
    /// [`Connection`](ai_services_core::ErrorKind::Connection) if it cannot be reached within the
    /// [`connect_timeout`](Self::connect_timeout), and [`Memory`](ai_services_core::ErrorKind::Store) if the
    /// data is newer.
    pub async fn connect(self) -> Result<RedisChatMemoryStore> {
        let keys = Keys::new(&self.key_prefix)?;
        let leases = self.leases.map(LeaseOptions::checked).transpose()?;
        let time_to_live = self.time_to_live.map(millis).transpose()?;
        let connections = self.open()?;
        let evicted_messages = self.evicted_messages;
        let commits = AtomicU32::new(0);
        let shared = Shared { connections, keys, time_to_live, evicted_messages, leases, commits };
        let store = RedisChatMemoryStore(Arc::new(shared));
        store.check_schema().await?;
        Ok(store)
    }

    fn open(&self) -> Result<Connections> {
        let url = match &self.source {
            Source::Manager(manager) => return Ok(Connections::given(manager.clone())),
            Source::Nothing => {
                return Err(Error::configuration("set the `url` of the Redis server"));
            }
            Source::Url(url) => url,
        };
        if !(1..=MAX_CONNECTIONS).contains(&self.connections) {
            return Err(Error::configuration(format!(
                "`connections` must be 1 to {MAX_CONNECTIONS}, but is {}",
                self.connections
            )));
        }
        if self.connect_timeout.is_zero() || self.response_timeout.is_zero() {
            let message = "`connect_timeout` and `response_timeout` must be greater than zero";
            return Err(Error::configuration(message));
        }
        let target = || Target::new(url, self.connect_timeout, self.response_timeout);
        Connections::to(target, self.connections)
    }
}

/// A time to live as the server counts it.
fn millis(time_to_live: Duration) -> Result<u64> {
    let millis = u64::try_from(time_to_live.as_millis()).unwrap_or(u64::MAX);
    if (1..=MAX_MILLIS).contains(&millis) {
        return Ok(millis);
    }
    let message = "`time_to_live` must be at least one millisecond and at most 100 years";
    Err(Error::configuration(message))
}

impl fmt::Debug for RedisChatMemoryStoreBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisChatMemoryStoreBuilder")
            .field("key_prefix", &self.key_prefix)
            .field("connections", &self.connections)
            .field("connect_timeout", &self.connect_timeout)
            .field("response_timeout", &self.response_timeout)
            .field("time_to_live", &self.time_to_live)
            .field("evicted_messages", &self.evicted_messages)
            .field("leases", &self.leases)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::ErrorKind;

    fn builder() -> RedisChatMemoryStoreBuilder {
        RedisChatMemoryStore::builder().url("redis://127.0.0.1:1/")
    }

    #[tokio::test]
    async fn wrong_settings_are_refused_before_connecting() {
        let short = LeaseOptions::new().duration(Duration::ZERO);
        for builder in [
            RedisChatMemoryStore::builder(),
            builder().key_prefix("{}"),
            builder().connections(0),
            builder().connections(65),
            builder().connect_timeout(Duration::ZERO),
            builder().response_timeout(Duration::ZERO),
            builder().time_to_live(Duration::ZERO),
            builder().time_to_live(Duration::MAX),
            builder().leases(short),
        ] {
            let debug = format!("{builder:?}");
            let error = builder.connect().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration, "{debug}: {error}");
        }
    }

    #[tokio::test]
    async fn wrong_url_is_not_repeated() {
        for url in ["", "canary", "http://canary", "redis://:canary@", "redis://:canary@h/canary"] {
            let builder = RedisChatMemoryStore::builder().url(url);
            assert!(!format!("{builder:?}").contains("canary"));
            let error = builder.connect().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration, "{url}");
            assert!(!format!("{error:?}{error}").contains("canary"), "{error:?}");
        }
    }
}
