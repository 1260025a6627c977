//! The Cassandra store.

mod commits;
mod damage;
mod journals;
mod proxy;
mod setup;

use super::summaries;
use ai_services::memory::{EvictedMessages, LeaseOptions, MemoryId};
use ai_services::message::ChatMessage;
use ai_services::store::cassandra::scylla::client::session::Session;
use ai_services::store::cassandra::scylla::client::session_builder::SessionBuilder;
use ai_services::store::cassandra::{CassandraChatMemoryStore, CassandraChatMemoryStoreBuilder};
use ai_services::testing::stores::StoreSuite;
use ai_services_tests::servers::cassandra::{self as server, Cassandra};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A builder of a store whose tables no other test uses.
fn builder(server: &Cassandra) -> CassandraChatMemoryStoreBuilder {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let prefix = format!("test{}", COUNT.fetch_add(1, Ordering::Relaxed));
    CassandraChatMemoryStore::builder()
        .contact_points([server.address()])
        // The machine may be busy.
        .connect_timeout(Duration::from_secs(30))
        .request_timeout(Duration::from_secs(60))
        .keyspace("stores")
        .table_prefix(prefix)
}

async fn open(builder: CassandraChatMemoryStoreBuilder) -> CassandraChatMemoryStore {
    let store = builder.connect().await.unwrap();
    store.ensure_schema().await.unwrap();
    store
}

/// Returns the name of the table of a store.
fn table(store: &CassandraChatMemoryStore) -> String {
    let shown = format!("{store:?}");
    let (_, rest) = shown.split_once("messages: \"").unwrap();
    format!("stores.{}", rest.split_once('"').unwrap().0)
}

async fn session(server: &Cassandra) -> Arc<Session> {
    Arc::new(SessionBuilder::new().known_node(server.address()).build().await.unwrap())
}

fn user(text: &str) -> ChatMessage {
    ChatMessage::user(text.to_owned())
}

fn turn(number: usize) -> Vec<ChatMessage> {
    vec![user(&format!("question {number}")), ChatMessage::ai(format!("answer {number}"))]
}

async fn run_suite(
    evicted_messages: EvictedMessages,
    leases: Option<LeaseOptions>,
    configure: impl FnOnce(CassandraChatMemoryStoreBuilder) -> CassandraChatMemoryStoreBuilder,
) {
    let Some(server) = server::shared() else { return };
    let mut builder = configure(builder(server).evicted_messages(evicted_messages));
    if let Some(options) = leases {
        builder = builder.leases(options);
    }
    let store = open(builder.clone()).await;
    let second = builder.connect().await.unwrap();
    let (table, raw) = (table(&store), session(server).await);
    let change_newest = move |id: MemoryId, change: fn(String) -> String| {
        let (table, raw) = (table.clone(), raw.clone());
        async move {
            let query = format!("SELECT number, record FROM {table} WHERE id = ? AND kind = 1");
            let found = raw.query_unpaged(query, (id.as_str(),)).await?.into_rows_result()?;
            let (number, record) = found.rows::<(i64, String)>()?.last().unwrap()?;
            let update =
                format!("UPDATE {table} SET record = ? WHERE id = ? AND kind = 1 AND number = ?");
            raw.query_unpaged(update, (change(record), id.as_str(), number)).await?;
            Ok(())
        }
    };
    let change = change_newest.clone();
    let damage = move |id| change(id, |record| record.replace("message", "massage"));
    let newer = move |id| change_newest(id, |record| record.replace("\"v\":1", "\"v\":2"));
    let report = StoreSuite::for_conversation_store(store)
        .second(second)
        .evicted_messages(evicted_messages)
        .disposable()
        .damage(damage)
        .newer_format(newer)
        .time_limit(Duration::from_secs(600))
        .run()
        .await;
    assert!(report.is_passed(), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_store_keeps_summaries() {
    let Some(server) = server::shared() else { return };
    for evicted_messages in [EvictedMessages::Delete, EvictedMessages::Keep] {
        let builder = builder(server).evicted_messages(evicted_messages);
        let stores = [open(builder.clone()).await, builder.connect().await.unwrap()];
        summaries::run(stores, evicted_messages).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_store_with_history_and_leases_passes() {
    run_suite(EvictedMessages::Keep, Some(LeaseOptions::new()), |builder| builder).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_store_without_history_and_cache_passes() {
    run_suite(EvictedMessages::Delete, None, |builder| builder.cache_bytes(0)).await;
}
