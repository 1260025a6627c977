//! The store in Redis.

use ai_services::memory::{EvictedMessages, LeaseOptions};
use ai_services::store::redis::{RedisChatMemoryStore, RedisChatMemoryStoreBuilder};
use ai_services::testing::stores::StoreSuite;
use ai_services_tests::servers::redis::{self as server, Redis};
use std::sync::atomic::{AtomicU32, Ordering};

/// A store whose keys no other test uses.
fn builder(server: &Redis) -> RedisChatMemoryStoreBuilder {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let prefix = format!("test-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    RedisChatMemoryStore::builder().url(server.url()).key_prefix(prefix)
}

async fn passes(evicted_messages: EvictedMessages, leases: Option<LeaseOptions>) {
    let Some(server) = server::shared() else { return };
    let mut builder = builder(server).evicted_messages(evicted_messages);
    if let Some(options) = leases {
        builder = builder.leases(options);
    }
    let store = builder.clone().connect().await.unwrap();
    let second = builder.connect().await.unwrap();
    let suite = StoreSuite::of_conversations(store).second(second);
    let report = suite.evicted_messages(evicted_messages).disposable().run().await;
    println!("{report}");
    assert!(report.is_passed(), "{report}");
}

#[tokio::test]
async fn redis_store_that_forgets_passes() {
    passes(EvictedMessages::Forget, None).await;
}

#[tokio::test]
async fn redis_store_that_keeps_and_leases_passes() {
    passes(EvictedMessages::Keep, Some(LeaseOptions::new())).await;
}
