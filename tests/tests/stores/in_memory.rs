//! The store in the memory of the process.

use ai_services::memory::{EvictedMessages, InMemoryChatMemoryStore};
use ai_services::testing::stores::StoreSuite;

async fn passes(evicted_messages: EvictedMessages) {
    let builder = InMemoryChatMemoryStore::builder();
    let store = builder.evicted_messages(evicted_messages).build().unwrap();
    let suite = StoreSuite::of_conversations(store.clone()).second(store.clone());
    let report = suite.evicted_messages(evicted_messages).disposable().run().await;
    println!("{report}");
    assert!(report.is_passed(), "{report}");
    assert!(store.is_empty());
}

#[tokio::test]
async fn in_memory_store_that_forgets_passes() {
    passes(EvictedMessages::Forget).await;
}

#[tokio::test]
async fn in_memory_store_that_keeps_passes() {
    passes(EvictedMessages::Keep).await;
}
