//! The builder of [`RedisChatMemoryStore`].

use super::connection::{Connections, Target};
use super::keys::Keys;
use super::lease::MAX_MILLIS;
use super::{Inner, RedisChatMemoryStore};
use ai_services_core::memory::{EvictedMessages, LeaseOptions};
use ai_services_core::store_kit::cache::{ConversationCache, DEFAULT_CACHE_BYTES};
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
    cache_bytes: usize,
}

#[derive(Clone)]
enum Source {
    Missing,
    Url(String),
    Manager(ConnectionManager),
}

impl RedisChatMemoryStoreBuilder {
    pub(super) fn new() -> Self {
        Self {
            source: Source::Missing,
            key_prefix: "ai-services".to_owned(),
            connections: 2,
            connect_timeout: Duration::from_secs(5),
            response_timeout: Duration::from_secs(10),
            time_to_live: None,
            evicted_messages: EvictedMessages::default(),
            leases: None,
            cache_bytes: DEFAULT_CACHE_BYTES,
        }
    }

    pub(super) fn with(manager: ConnectionManager) -> Self {
        Self { source: Source::Manager(manager), ..Self::new() }
    }

    /// Sets the server: `redis://user:password@host:port/database`, `rediss://…` for TLS, or
    /// `unix:///path?db=0`.
    ///
    /// With TLS, the server's certificate is checked against the root certificates of the system, or those in
    /// the file that the environment variable `SSL_CERT_FILE` names.
    ///
    /// If the program has not installed a
    /// [`CryptoProvider`](https://docs.rs/rustls/0.23/rustls/crypto/struct.CryptoProvider.html) for rustls,
    /// connecting installs ring as the provider of the process. To use another provider, install it first.
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.source = Source::Url(url.into());
        self
    }

    /// Sets the prefix of all keys, which is enclosed in braces. Default: `ai-services`.
    ///
    /// Stores with different prefixes do not share data. At most 128 bytes; braces, white space and control
    /// characters are not allowed.
    pub fn key_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.key_prefix = prefix.into();
        self
    }

    /// Sets the number of connections, which are used in turn. Default: 2. From 1 to 64.
    ///
    /// A connection is multiplexed: requests do not wait for the answers to other requests, so a pool is
    /// unnecessary. But answers arrive one after the other: a second connection lets short answers pass while
    /// the first transfers a conversation of many megabytes. More connections help only if the network is the
    /// bottleneck, because the server processes one command at a time.
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// Sets the time limit for connecting, including TLS and authentication. Default: 5 seconds.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the time limit for an answer. Default: 10 seconds.
    ///
    /// A request without an answer is sent again on a new connection, at most twice, so an operation may take
    /// three times as long.
    pub fn response_timeout(mut self, timeout: Duration) -> Self {
        self.response_timeout = timeout;
        self
    }

    /// Sets the time after the last change at which a conversation expires, with its history. From one
    /// millisecond to 100 years. Default: conversations do not expire.
    ///
    /// Reads do not extend the time. The setting of the store that made the last change applies; a change by
    /// a store without this setting makes the conversation permanent.
    pub fn time_to_live(mut self, time_to_live: Duration) -> Self {
        self.time_to_live = Some(time_to_live);
        self
    }

    /// Sets whether evicted messages are kept as history. Default: [`EvictedMessages::Delete`].
    pub fn evicted_messages(mut self, evicted_messages: EvictedMessages) -> Self {
        self.evicted_messages = evicted_messages;
        self
    }

    /// Switches on leases, so that processes take turns on a conversation. Default: off; consistency relies
    /// on optimistic locking alone.
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

    /// Connects to the server, and checks that this build supports the layout of its data.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) for invalid settings,
    /// [`Authentication`](ai_services_core::ErrorKind::Authentication) if the server rejects the password,
    /// [`Connection`](ai_services_core::ErrorKind::Connection) if it cannot be reached within the
    /// [`connect_timeout`](Self::connect_timeout), and [`Store`](ai_services_core::ErrorKind::Store) if the
    /// data was written by a newer version of this crate.
    pub async fn connect(self) -> Result<RedisChatMemoryStore> {
        let keys = Keys::new(&self.key_prefix)?;
        let leases = self.leases.map(LeaseOptions::checked).transpose()?;
        let time_to_live = self.time_to_live.map(millis).transpose()?;
        let connections = self.open()?;
        let evicted_messages = self.evicted_messages;
        let commits = AtomicU32::new(0);
        let cache = ConversationCache::new(self.cache_bytes);
        let shared =
            Inner { connections, keys, time_to_live, evicted_messages, leases, commits, cache };
        let store = RedisChatMemoryStore(Arc::new(shared));
        store.check_schema().await?;
        Ok(store)
    }

    fn open(&self) -> Result<Connections> {
        let url = match &self.source {
            Source::Manager(manager) => return Ok(Connections::external(manager.clone())),
            Source::Missing => {
                return Err(Error::configuration("no Redis server: call `url`"));
            }
            Source::Url(url) => url,
        };
        if !(1..=MAX_CONNECTIONS).contains(&self.connections) {
            return Err(Error::configuration(format!(
                "`connections` must be from 1 to {MAX_CONNECTIONS}, but is {}",
                self.connections
            )));
        }
        if self.connect_timeout.is_zero() || self.response_timeout.is_zero() {
            let message = "`connect_timeout` and `response_timeout` must be greater than zero";
            return Err(Error::configuration(message));
        }
        let target = || Target::new(url, self.connect_timeout, self.response_timeout);
        Connections::lazy(target, self.connections)
    }
}

/// Validates a time to live and converts it to milliseconds.
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
    async fn invalid_settings_are_rejected_before_connecting() {
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
    async fn malformed_url_is_not_in_the_error() {
        for url in ["", "canary", "http://canary", "redis://:canary@", "redis://:canary@h/canary"] {
            let builder = RedisChatMemoryStore::builder().url(url);
            assert!(!format!("{builder:?}").contains("canary"));
            let error = builder.connect().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration, "{url}");
            assert!(!format!("{error:?}{error}").contains("canary"), "{error:?}");
        }
    }
}
