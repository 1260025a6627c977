//! Where conversations are remembered.

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

/// A place for conversations.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// Forgotten when the program ends.
    Nowhere,
    /// A file of this machine.
    File(PathBuf),
    /// The URL of a PostgreSQL server.
    Postgres(String),
    /// The URL of a Redis server.
    Redis(String),
}

impl FromStr for Place {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        Ok(match scheme {
            Some("postgres" | "postgresql") => Self::Postgres(text.to_owned()),
            Some("redis" | "rediss") => Self::Redis(text.to_owned()),
            _ if text == "none" => Self::Nowhere,
            _ => Self::File(text.into()),
        })
    }
}

/// Without URLs: they may contain passwords.
impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nowhere => f.write_str("none"),
            Self::File(path) => path.fmt(f),
            Self::Postgres(_) => f.write_str("postgres"),
            Self::Redis(_) => f.write_str("redis"),
        }
    }
}

impl Place {
    /// A file in the directory for the data of programs, which is created if need be.
    pub(crate) fn usual() -> anyhow::Result<Self> {
        let programs = ProjectDirs::from("", "", "ai-services-assistant");
        let programs = programs.context("this system has no place for data; set --memory")?;
        let directory = programs.data_dir();
        create_private(directory).with_context(|| {
            format!("`{}` cannot be created; set --memory", directory.display())
        })?;
        Ok(Self::File(directory.join("memory.sqlite")))
    }

    /// The store. It keeps what the window evicts, because a person may want to read it; and
    /// assistants that run at the same time take turns with each user.
    pub(crate) async fn open(&self) -> anyhow::Result<Arc<dyn ConversationStore>> {
        let (kept, leases) = (EvictedMessages::Keep, LeaseOptions::new());
        Ok(match self {
            Self::Nowhere => {
                let store = InMemoryChatMemoryStore::builder().evicted_messages(kept).build()?;
                Arc::new(store)
            }
            Self::File(path) => {
                let store = SqliteChatMemoryStore::builder().path(path);
                Arc::new(store.evicted_messages(kept).leases(leases).open().await?)
            }
            Self::Postgres(url) => {
                let store = PostgresChatMemoryStore::builder().url(url);
                let store = store.evicted_messages(kept).leases(leases).build()?;
                store.ensure_schema().await?;
                Arc::new(store)
            }
            Self::Redis(url) => {
                let store = RedisChatMemoryStore::builder().url(url);
                let store = store.evicted_messages(kept).leases(leases).connect().await?;
                store.ensure_schema().await?;
                Arc::new(store)
            }
        })
    }
}

/// What is said to an assistant is nobody else's business.
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
    fn place_is_a_url_or_a_path() {
        let read = |text: &str| text.parse::<Place>().unwrap();
        assert_eq!(read("none"), Place::Nowhere);
        assert_eq!(read("./none"), Place::File("./none".into()));
        assert_eq!(read("a b.sqlite"), Place::File("a b.sqlite".into()));
        let url = "postgres://ann:secret@host/db";
        assert_eq!(read(url), Place::Postgres(url.to_owned()));
        assert_eq!(read("rediss://host"), Place::Redis("rediss://host".to_owned()));
        assert!(!format!("{:?}", read(url)).contains("secret"));
    }
}
