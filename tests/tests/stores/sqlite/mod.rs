//! The SQLite store.

mod damage;
mod files;
mod writing;

use super::summaries;
use ai_services::memory::{ConversationStore, EvictedMessages, LeaseOptions, MemoryId};
use ai_services::store::sqlite::{SqliteChatMemoryStore, SqliteChatMemoryStoreBuilder};
use ai_services::testing::stores::StoreSuite;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// A temporary directory, and the path of a file in it.
fn temp_file() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("conversations.db");
    (directory, path)
}

fn builder(path: &Path) -> SqliteChatMemoryStoreBuilder {
    SqliteChatMemoryStore::builder().path(path)
}

/// A connection that bypasses the store.
fn raw(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(5)).unwrap();
    connection
}

/// Replaces the newest record of a conversation.
fn change_newest(path: &Path, id: &MemoryId, expression: &str) {
    let statement = format!(
        "UPDATE conversation SET record = {expression} WHERE id = ?1 AND number =
             (SELECT max(number) FROM conversation WHERE id = ?1)"
    );
    assert_eq!(raw(path).execute(&statement, [id.as_str()]).unwrap(), 1);
}

async fn run_suite(evicted_messages: EvictedMessages, leases: Option<LeaseOptions>) {
    run_suite_on(evicted_messages, leases, |builder| builder).await;
}

async fn run_suite_on(
    evicted_messages: EvictedMessages,
    leases: Option<LeaseOptions>,
    configure: impl Fn(SqliteChatMemoryStoreBuilder) -> SqliteChatMemoryStoreBuilder,
) {
    let (_directory, path) = temp_file();
    let open = async || {
        let builder = configure(builder(&path).evicted_messages(evicted_messages));
        let builder = match leases {
            Some(options) => builder.leases(options),
            None => builder,
        };
        builder.open().await.unwrap()
    };
    let (damaged, newer) = (path.clone(), path.clone());
    let suite = StoreSuite::for_conversation_store(open().await)
        .second(open().await)
        .evicted_messages(evicted_messages)
        .disposable()
        .damage(move |id| {
            change_newest(&damaged, &id, "replace(record, 'contents', 'contentz')");
            async { Ok(()) }
        })
        .newer_format(move |id| {
            change_newest(&newer, &id, "replace(record, '\"v\":1', '\"v\":2')");
            async { Ok(()) }
        });
    let report = suite.run().await;
    assert!(report.is_passed(), "{report}");
    assert!(open().await.conversations(None, 1).await.unwrap().is_empty());
}

#[tokio::test]
async fn sqlite_store_keeps_summaries() {
    for evicted_messages in [EvictedMessages::Delete, EvictedMessages::Keep] {
        let (_directory, path) = temp_file();
        let open = async || builder(&path).evicted_messages(evicted_messages).open().await.unwrap();
        summaries::run([open().await, open().await], evicted_messages).await;
    }
}

#[tokio::test]
async fn sqlite_store_without_history_passes() {
    run_suite(EvictedMessages::Delete, None).await;
}

#[tokio::test]
async fn sqlite_store_with_history_passes() {
    run_suite(EvictedMessages::Keep, None).await;
}

#[tokio::test]
async fn sqlite_store_with_leases_passes() {
    let options = LeaseOptions::new().duration(Duration::from_secs(1));
    run_suite(EvictedMessages::Delete, Some(options)).await;
}

#[tokio::test]
async fn sqlite_store_with_history_and_leases_passes() {
    run_suite(EvictedMessages::Keep, Some(LeaseOptions::new())).await;
}

#[tokio::test]
async fn sqlite_store_in_memory_passes() {
    let store = SqliteChatMemoryStore::in_memory().await.unwrap();
    let report =
        StoreSuite::for_conversation_store(store.clone()).second(store).disposable().run().await;
    assert!(report.is_passed(), "{report}");
}

#[tokio::test]
async fn sqlite_store_without_cache_passes() {
    let leases = LeaseOptions::new().duration(Duration::from_secs(1));
    run_suite_on(EvictedMessages::Keep, Some(leases), |builder| builder.cache_bytes(0)).await;
}
