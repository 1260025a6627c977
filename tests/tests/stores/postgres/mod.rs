//! The PostgreSQL store.

mod bounded_loads;
mod broken;
mod damage;
mod journals;
mod settings;

use super::summaries;
use ai_services::memory::{EvictedMessages, LeaseOptions, MemoryId};
use ai_services::store::postgres::deadpool_postgres::{Manager, Object, Pool};
use ai_services::store::postgres::tokio_postgres::NoTls;
use ai_services::store::postgres::{PostgresChatMemoryStore, PostgresChatMemoryStoreBuilder};
use ai_services::testing::stores::StoreSuite;
use ai_services_tests::servers::postgres::{self as server, Postgres};
use std::sync::atomic::{AtomicU32, Ordering};

/// A table prefix that no other test uses.
fn prefix() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("memory_{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

fn builder(server: &Postgres, prefix: &str) -> PostgresChatMemoryStoreBuilder {
    PostgresChatMemoryStore::builder().url(server.url()).pool_size(4).table_prefix(prefix)
}

async fn ready(builder: PostgresChatMemoryStoreBuilder) -> PostgresChatMemoryStore {
    let store = builder.build().unwrap();
    store.ensure_schema().await.unwrap();
    store
}

/// A connection that bypasses the store.
async fn raw(server: &Postgres) -> Object {
    let manager = Manager::new(server.url().parse().unwrap(), NoTls);
    Pool::builder(manager).max_size(1).build().unwrap().get().await.unwrap()
}

/// Runs the suite on two pools with the given default isolation level.
async fn run_suite(evicted: EvictedMessages, leases: Option<LeaseOptions>, isolation: &str) {
    run_suite_on(evicted, leases, isolation, |builder| builder).await;
}

async fn run_suite_on(
    evicted: EvictedMessages,
    leases: Option<LeaseOptions>,
    isolation: &str,
    configure: impl Fn(PostgresChatMemoryStoreBuilder) -> PostgresChatMemoryStoreBuilder,
) {
    let Some(server) = server::shared() else { return };
    let prefix = prefix();
    let open = || {
        let url =
            format!("{}?options=-c%20default_transaction_isolation%3D{isolation}", server.url());
        let builder = configure(builder(server, &prefix).url(url).evicted_messages(evicted));
        match leases {
            Some(options) => builder.leases(options),
            None => builder,
        }
    };
    let (store, second) = (ready(open()).await, ready(open()).await);
    let write = |sql: &str| {
        let sql = sql.replace("messages", &format!("{prefix}_messages"));
        move |id: MemoryId| {
            let sql = sql.clone();
            async move {
                let id = id.as_str().as_bytes();
                let changed = raw(server).await.execute(&sql, &[&id]).await?;
                assert_eq!(changed, 1);
                Ok(())
            }
        }
    };
    let newest =
        "key = sha256($1) AND number = (SELECT max(number) FROM messages WHERE key = sha256($1))";
    let damage = format!("UPDATE messages SET record = 'x' || record WHERE {newest}");
    let newer = format!("UPDATE messages SET record = '{{\"v\":2}}' WHERE {newest}");
    let suite = StoreSuite::for_conversation_store(store).second(second).evicted_messages(evicted);
    let suite = suite.disposable().damage(write(&damage)).newer_format(write(&newer));
    let report = suite.run().await;
    assert!(report.is_passed(), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_store_keeps_summaries() {
    let Some(server) = server::shared() else { return };
    for evicted_messages in [EvictedMessages::Delete, EvictedMessages::Keep] {
        let prefix = prefix();
        let open = || ready(builder(server, &prefix).evicted_messages(evicted_messages));
        summaries::run([open().await, open().await], evicted_messages).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_store_without_history_passes() {
    run_suite(EvictedMessages::Delete, None, "read%5C%20committed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_store_with_history_passes() {
    run_suite(EvictedMessages::Keep, None, "repeatable%5C%20read").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_store_with_leases_passes() {
    run_suite(EvictedMessages::Delete, Some(LeaseOptions::new()), "serializable").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_store_with_history_and_leases_passes() {
    run_suite(EvictedMessages::Keep, Some(LeaseOptions::new()), "serializable").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_store_without_cache_passes() {
    let configure = |builder: PostgresChatMemoryStoreBuilder| builder.cache_bytes(0);
    let leases = Some(LeaseOptions::new());
    run_suite_on(EvictedMessages::Keep, leases, "read%5C%20committed", configure).await;
}
