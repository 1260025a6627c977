//! The in-memory store.

use super::summaries;
use ai_services::ErrorKind;
use ai_services::memory::{
    Change, ChatMemoryStore, EvictedMessages, InMemoryChatMemoryStore, MemoryId,
};
use ai_services::message::ChatMessage;
use ai_services::testing::stores::StoreSuite;

async fn run_suite(evicted_messages: EvictedMessages) {
    let builder = InMemoryChatMemoryStore::builder();
    let store = builder.evicted_messages(evicted_messages).build().unwrap();
    let suite = StoreSuite::for_conversation_store(store.clone()).second(store.clone());
    let report = suite.evicted_messages(evicted_messages).disposable().run().await;
    assert!(report.is_passed(), "{report}");
    assert!(store.is_empty());
}

#[tokio::test]
async fn in_memory_store_without_history_passes() {
    run_suite(EvictedMessages::Delete).await;
}

#[tokio::test]
async fn in_memory_store_with_history_passes() {
    run_suite(EvictedMessages::Keep).await;
}

#[tokio::test]
async fn in_memory_store_keeps_summaries() {
    for evicted_messages in [EvictedMessages::Delete, EvictedMessages::Keep] {
        let builder = InMemoryChatMemoryStore::builder();
        let store = builder.evicted_messages(evicted_messages).build().unwrap();
        summaries::run([store.clone(), store], evicted_messages).await;
    }
}

/// The futures of the store never wait, so only threads can race.
#[test]
fn in_memory_store_keeps_turns_of_racing_threads() {
    const THREADS: usize = 4;
    const TURNS: usize = 200;
    let (store, id) = (InMemoryChatMemoryStore::new(), MemoryId::from("klaus"));
    let race = async |thread: usize| {
        for turn in 0..TURNS {
            loop {
                let version = store.load(&id).await.unwrap().version();
                let messages = vec![ChatMessage::user(format!("{thread} {turn}"))];
                match store.commit(&id, Change::advance(version, 0..0, messages)).await {
                    Ok(()) => break,
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict),
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let race = &race;
        for thread in 0..THREADS {
            scope.spawn(move || block_on(race(thread)));
        }
    });
    let messages = block_on(store.get_messages(&id)).unwrap();
    assert_eq!(messages.len(), THREADS * TURNS);
    for thread in 0..THREADS {
        let prefix = format!("{thread} ");
        let turns = messages.iter().filter_map(|message| message.text()?.strip_prefix(&prefix));
        assert!(turns.eq((0..TURNS).map(|turn| turn.to_string())));
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}
