//! Stores for conversations.

use ai_services::memory::{
    ConversationStore, EvictedMessages, InMemoryChatMemoryStore, LeaseOptions,
};
use ai_services::store::postgres::PostgresChatMemoryStore;
use ai_services::store::redis::RedisChatMemoryStore;
use ai_services::store::sqlite::SqliteChatMemoryStore;
use anyhow::Context;
use directories::ProjectDirs;
use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// Location of the stored conversations.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum MemoryLocation {
    /// Process memory; lost when the program exits.
    Process,
    /// A local SQLite file.
    File(PathBuf),
    /// URL of a PostgreSQL server.
    Postgres(String),
    /// URL of a Redis server.
    Redis(String),
}

impl FromStr for MemoryLocation {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        Ok(match scheme {
            Some("postgres" | "postgresql") => Self::Postgres(text.to_owned()),
            Some("redis" | "rediss") => Self::Redis(text.to_owned()),
            _ if text == "none" => Self::Process,
            _ => Self::File(text.into()),
        })
    }
}

/// Omits URLs, which may contain passwords.
impl fmt::Debug for MemoryLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process => f.write_str("none"),
            Self::File(path) => path.fmt(f),
            Self::Postgres(_) => f.write_str("postgres"),
            Self::Redis(_) => f.write_str("redis"),
        }
    }
}

impl MemoryLocation {
    /// Returns the default file in the user's data directory. Creates the directory if it does not exist.
    pub(crate) fn default_location() -> anyhow::Result<Self> {
        let programs = ProjectDirs::from("", "", "ai-services-assistant");
        let programs = programs.context("no data directory found; set --memory")?;
        let directory = programs.data_dir();
        create_private(directory)
            .with_context(|| format!("cannot create `{}`; set --memory", directory.display()))?;
        Ok(Self::File(directory.join("memory.sqlite")))
    }

    /// Opens the store. Evicted messages are kept for `/history`, and leases let several assistants that run
    /// at the same time take turns with each user.
    pub(crate) async fn open(&self) -> anyhow::Result<Arc<dyn ConversationStore>> {
        let (evicted, leases) = (EvictedMessages::Keep, LeaseOptions::new());
        Ok(match self {
            Self::Process => {
                let store = InMemoryChatMemoryStore::builder().evicted_messages(evicted).build()?;
                Arc::new(store)
            }
            Self::File(path) => {
                let store = SqliteChatMemoryStore::builder().path(path);
                Arc::new(store.evicted_messages(evicted).leases(leases).open().await?)
            }
            Self::Postgres(url) => {
                let store = PostgresChatMemoryStore::builder().url(url);
                let store = store.evicted_messages(evicted).leases(leases).build()?;
                store.ensure_schema().await?;
                Arc::new(store)
            }
            Self::Redis(url) => {
                let store = RedisChatMemoryStore::builder().url(url);
                let store = store.evicted_messages(evicted).leases(leases).connect().await?;
                store.ensure_schema().await?;
                Arc::new(store)
            }
        })
    }
}

/// Creates a directory that other users cannot read.
fn create_private(directory: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn location_is_a_url_or_a_path() {
        let read = |text: &str| text.parse::<MemoryLocation>().unwrap();
        assert_eq!(read("none"), MemoryLocation::Process);
        assert_eq!(read("./none"), MemoryLocation::File("./none".into()));
        assert_eq!(read("a b.sqlite"), MemoryLocation::File("a b.sqlite".into()));
        let url = "postgres://ann:secret@host/db";
        assert_eq!(read(url), MemoryLocation::Postgres(url.to_owned()));
        assert_eq!(read("rediss://host"), MemoryLocation::Redis("rediss://host".to_owned()));
        assert!(!format!("{:?}", read(url)).contains("secret"));
    }
}
