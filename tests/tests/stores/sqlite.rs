//! The store in a SQLite file.

use ai_services::memory::{ConversationStore, EvictedMessages, LeaseOptions};
use ai_services::store::sqlite::{SqliteChatMemoryStore, SqliteChatMemoryStoreBuilder};
use ai_services::testing::stores::StoreSuite;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory that is gone when the test is over.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "ai-services-sqlite-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("conversations.db")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn builder(path: &Path) -> SqliteChatMemoryStoreBuilder {
    SqliteChatMemoryStore::builder().path(path)
}

async fn passes(evicted_messages: EvictedMessages, leases: Option<LeaseOptions>) {
    let directory = Directory::new();
    let open = async || {
        let builder = builder(&directory.file()).evicted_messages(evicted_messages);
        let builder = match leases {
            Some(options) => builder.leases(options),
            None => builder,
        };
        builder.open().await.unwrap()
    };
    let suite = StoreSuite::of_conversations(open().await).second(open().await);
    let report = suite.evicted_messages(evicted_messages).disposable().run().await;
    println!("{report}");
    assert!(report.is_passed(), "{report}");
    assert!(open().await.conversations(None, 1).await.unwrap().is_empty());
}

#[tokio::test]
async fn sqlite_store_that_forgets_passes() {
    passes(EvictedMessages::Forget, None).await;
}

#[tokio::test]
async fn sqlite_store_that_keeps_passes() {
    passes(EvictedMessages::Keep, None).await;
}

#[tokio::test]
async fn sqlite_store_that_forgets_and_leases_passes() {
    passes(EvictedMessages::Forget, Some(LeaseOptions::new())).await;
}

#[tokio::test]
async fn sqlite_store_that_keeps_and_leases_passes() {
    passes(EvictedMessages::Keep, Some(LeaseOptions::new())).await;
}
