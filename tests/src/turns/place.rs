//! Locations of the stores of the harnesses.

use ai_services::memory::{ConversationStore, EvictedMessages, LeaseOptions};
use ai_services::{Error, ErrorKind, Result};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

/// A store that several processes can open.
#[derive(Clone, Debug)]
pub enum Place {
    /// A file.
    Sqlite(PathBuf),
    /// The URL of a PostgreSQL server, with the prefix of the tables after a `#`.
    Postgres(String),
    /// The URL of a Redis server, with the prefix of the keys after a `#`.
    Redis(String),
    /// `cassandra://` and the address of a node, with the prefix of the tables after a `#`.
    Cassandra(String),
}

/// Splits a location into address and prefix.
fn split(text: &str) -> (&str, &str) {
    text.split_once('#').unwrap_or((text, "chat"))
}

impl FromStr for Place {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        Ok(match scheme {
            Some("postgres" | "postgresql") => Self::Postgres(text.to_owned()),
            Some("redis" | "rediss") => Self::Redis(text.to_owned()),
            Some("cassandra") => Self::Cassandra(text.to_owned()),
            _ => Self::Sqlite(text.into()),
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => path.display().fmt(f),
            Self::Postgres(url) | Self::Redis(url) | Self::Cassandra(url) => url.fmt(f),
        }
    }
}

impl Place {
    /// Opens the store and creates it if necessary. Evicted messages are kept, so that all turns can be
    /// checked. `cache_bytes` is the size of its cache, by default the store's own.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be opened, or if its feature is disabled.
    pub async fn open(
        &self,
        leases: Option<LeaseOptions>,
        cache_bytes: Option<usize>,
    ) -> Result<Arc<dyn ConversationStore>> {
        let kept = EvictedMessages::Keep;
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(path) => {
                use ai_services::store::sqlite::SqliteChatMemoryStore;
                let builder = SqliteChatMemoryStore::builder().path(path).evicted_messages(kept);
                let builder = leases.into_iter().fold(builder, |builder, on| builder.leases(on));
                let builder =
                    cache_bytes.into_iter().fold(builder, |it, bytes| it.cache_bytes(bytes));
                Ok(Arc::new(builder.open().await?))
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(url) => {
                use ai_services::store::postgres::PostgresChatMemoryStore;
                let (url, prefix) = split(url);
                let builder = PostgresChatMemoryStore::builder().url(url).evicted_messages(kept);
                let builder = builder.table_prefix(prefix);
                let builder = leases.into_iter().fold(builder, |builder, on| builder.leases(on));
                let builder =
                    cache_bytes.into_iter().fold(builder, |it, bytes| it.cache_bytes(bytes));
                let store = builder.build()?;
                store.ensure_schema().await?;
                Ok(Arc::new(store))
            }
            #[cfg(feature = "redis")]
            Self::Redis(url) => {
                use ai_services::store::redis::RedisChatMemoryStore;
                let (url, prefix) = split(url);
                let builder = RedisChatMemoryStore::builder().url(url).evicted_messages(kept);
                let builder = builder.key_prefix(prefix);
                let builder = leases.into_iter().fold(builder, |builder, on| builder.leases(on));
                let builder =
                    cache_bytes.into_iter().fold(builder, |it, bytes| it.cache_bytes(bytes));
                let store = builder.connect().await?;
                store.ensure_schema().await?;
                Ok(Arc::new(store))
            }
            #[cfg(feature = "cassandra")]
            Self::Cassandra(url) => {
                use ai_services::store::cassandra::CassandraChatMemoryStore;
                let (address, prefix) = split(url.trim_start_matches("cassandra://"));
                let builder = CassandraChatMemoryStore::builder().contact_points([address]);
                let builder = builder.evicted_messages(kept).table_prefix(prefix);
                let builder = leases.into_iter().fold(builder, |builder, on| builder.leases(on));
                let builder =
                    cache_bytes.into_iter().fold(builder, |it, bytes| it.cache_bytes(bytes));
                let store = builder.connect().await?;
                store.ensure_schema().await?;
                Ok(Arc::new(store))
            }
            #[allow(unreachable_patterns, reason = "reached if a feature is off")]
            _ => {
                let _ = (kept, leases, cache_bytes, split);
                let message = format!("this build has no store for `{self}`; enable its feature");
                Err(Error::new(ErrorKind::Configuration, message))
            }
        }
    }
}
