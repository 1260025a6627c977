//! Caches of loaded conversations: several handles of one store, each with its own cache.

use ai_services::memory::{Change, ChatMemoryStore, ConversationStore, MemoryId};
use ai_services::message::ChatMessage;
use ai_services_tests::turns::check::{Acknowledged, Requests, tag};
use ai_services_tests::turns::harness::Dice;
use ai_services_tests::turns::place::Place;
use ai_services_tests::turns::play::Player;
use futures_util::future::join_all;
use std::sync::Arc;

/// Returns the places of all installed stores, under this name, and what has to be kept while they are used.
fn places(name: &str) -> (tempfile::TempDir, Vec<Place>) {
    let directory = tempfile::tempdir().unwrap();
    let mut places = Vec::new();
    if cfg!(feature = "sqlite") {
        places.push(Place::Sqlite(directory.path().join("conversations.db")));
    }
    #[cfg(feature = "postgres")]
    if let Some(server) = ai_services_tests::servers::postgres::shared() {
        places.push(Place::Postgres(format!("{}#{name}", server.url())));
    }
    #[cfg(feature = "redis")]
    if let Some(server) = ai_services_tests::servers::redis::shared() {
        places.push(Place::Redis(format!("{}#{name}", server.url())));
    }
    #[cfg(feature = "cassandra")]
    if let Some(node) = ai_services_tests::servers::cassandra::shared() {
        places.push(Place::Cassandra(format!("cassandra://{}#{name}", node.address())));
    }
    (directory, places)
}

/// Number of steps per store. Every third one is a commit.
const STEPS: u64 = 600;

/// Returns a random change: usually an append that evicts from the front, or behind a first message.
fn change(dice: &mut Dice, step: u64) -> Change {
    let count = dice.below(5);
    let new: Vec<_> = (0..count).map(|n| ChatMessage::user(format!("{step} {n}"))).collect();
    match dice.below(12) {
        0 => Change::replace(None, new.into()),
        1..4 => Change::advance(None, 1..1 + dice.below(5) as usize, new),
        4..8 => Change::advance(None, 0..dice.below(4) as usize, new),
        _ => Change::advance(None, 0..0, new),
    }
}

/// Compares loads through two caches with loads without a cache, after random commits by both handles.
async fn cached_loads_equal_uncached_ones(place: &Place) {
    let open = async |cache_bytes| place.open(None, cache_bytes).await.unwrap();
    let handles = [open(None).await, open(None).await];
    let uncached = open(Some(0)).await;
    let (mut dice, id) = (Dice::new(7), MemoryId::from("klaus"));
    for step in 0..STEPS {
        let handle = &handles[dice.below(2) as usize];
        match dice.below(90) {
            0 => handle.delete_messages(&id).await.unwrap(),
            1 => replace_in_the_middle(&**handle, &id).await,
            2..32 => handle.commit(&id, change(&mut dice, step)).await.unwrap(),
            _ => {
                let (cached, expected) =
                    (handle.load(&id).await.unwrap(), uncached.load(&id).await.unwrap());
                assert_eq!(cached.messages(), expected.messages(), "{place}, step {step}");
                assert_eq!(cached.version(), expected.version(), "{place}, step {step}");
                let numbers = |snapshot: &ai_services::memory::Snapshot| {
                    snapshot.change(0..usize::MAX, Vec::new()).evicted_numbers().map(<[_]>::to_vec)
                };
                assert_eq!(numbers(&cached), numbers(&expected), "{place}, step {step}");
            }
        }
    }
}

async fn replace_in_the_middle(store: &dyn ConversationStore, id: &MemoryId) {
    let mut messages = store.get_messages(id).await.unwrap();
    if messages.len() > 2 {
        messages.remove(messages.len() / 2);
    }
    store.update_messages(id, &messages).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn cached_loads_of_two_writers_equal_uncached_ones() {
    let (_directory, places) = places("equal");
    for place in &places {
        cached_loads_equal_uncached_ones(place).await;
    }
}

/// Number of turns of each client. `contend --stale` plays as many as wanted, in several processes.
const TURNS: u64 = 25;

#[tokio::test(flavor = "multi_thread")]
async fn request_contains_exactly_the_turns_committed_before_it() {
    let (_directory, places) = places("stale");
    for place in &places {
        let mut players = Vec::new();
        for client in 0..4 {
            let store: Arc<dyn ConversationStore> = place.open(None, None).await.unwrap();
            players.push((format!("c{client}"), Player::new(store).unwrap()));
        }
        let clients = players.iter().map(|(client, player)| async move {
            let mut played = Vec::new();
            for n in 0..TURNS {
                let tag = tag(client, n);
                let earlier = player.play("klaus", &tag).await.unwrap().earlier;
                played.push((tag, earlier));
            }
            played
        });
        let (mut acknowledged, mut requests) = (Acknowledged::default(), Requests::default());
        for (tag, earlier) in join_all(clients).await.into_iter().flatten() {
            acknowledged.add("klaus", &tag);
            requests.add(&tag, earlier);
        }
        let store = place.open(None, Some(0)).await.unwrap();
        let ids = || ["klaus".to_owned()];
        let verdict = acknowledged.check(&*store, ids()).await.unwrap();
        assert!(verdict.is_clean(), "{place}: {verdict}");
        let (stale, examples) = requests.stale(&*store, ids()).await.unwrap();
        assert_eq!(stale, 0, "{place}: {examples:#?}");
    }
}

/// Damage to a row that was loaded before, in a conversation that is too long to be read completely each time.
#[cfg(feature = "sqlite")]
#[tokio::test]
async fn sqlite_damage_to_loaded_rows_is_reported() {
    use ai_services::memory::UnreadableRecord;
    use ai_services::store::sqlite::SqliteChatMemoryStore;

    const MESSAGES: usize = 40;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("conversations.db");
    let store = SqliteChatMemoryStore::open(&path).await.unwrap();
    let id = MemoryId::from("klaus");
    let messages: Vec<_> = (0..MESSAGES).map(|n| ChatMessage::user(n.to_string())).collect();
    // The newest row is read by every load, the others by every tenth.
    for (damaged, reported_by) in [(MESSAGES - 1, 1), (0, 10), (MESSAGES / 2, 10)] {
        store.delete_messages(&id).await.unwrap();
        store.update_messages(&id, &messages).await.unwrap();
        store.load(&id).await.unwrap();
        let raw = rusqlite::Connection::open(&path).unwrap();
        let changed = raw.execute(
            "UPDATE conversation SET record = replace(record, 'USER', 'AI') WHERE number =
                 (SELECT number FROM conversation WHERE slot > 0 ORDER BY number LIMIT 1 OFFSET ?1)",
            [damaged as u32],
        );
        assert_eq!(changed.unwrap(), 1);
        for _ in 1..reported_by {
            assert_eq!(store.get_messages(&id).await.unwrap(), messages);
        }
        let error = store.load(&id).await.unwrap_err();
        assert!(error.detail::<UnreadableRecord>().is_some(), "{damaged}: {error}");
        // Also by the loads after that.
        assert!(store.load(&id).await.is_err());
    }
}

/// An estimator that counts its calls.
#[cfg(feature = "sqlite")]
struct Counting(ai_services::memory::EstimatorId, std::sync::atomic::AtomicUsize);

#[cfg(feature = "sqlite")]
impl ai_services::memory::TokenCountEstimator for Counting {
    fn count_text(&self, text: &str) -> usize {
        text.len()
    }

    fn count_message(&self, message: &ChatMessage) -> ai_services::Result<usize> {
        self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(message.text().map_or(1, str::len))
    }

    fn identity(&self) -> Option<ai_services::memory::EstimatorId> {
        Some(self.0)
    }
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn sqlite_turn_counts_the_tokens_of_its_two_messages() {
    use ai_services::memory::{EstimatorId, TokenWindowChatMemory};
    use ai_services::store::sqlite::SqliteChatMemoryStore;
    use ai_services::testing::ScriptedChatModel;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[ai_services::ai_service]
    trait Assistant {
        async fn chat(
            &self,
            #[memory_id] id: &str,
            #[user_message] text: &str,
        ) -> ai_services::Result<String>;
    }

    const TURNS: usize = 60;
    let estimator = Arc::new(Counting(EstimatorId::unique(), AtomicUsize::new(0)));
    let (store, counted) =
        (SqliteChatMemoryStore::in_memory().await.unwrap(), Arc::clone(&estimator));
    let assistant = AssistantService::builder()
        .chat_model(ScriptedChatModel::replies(vec!["Hello."; TURNS]))
        .chat_memory_provider(move |id: &MemoryId| {
            let builder = TokenWindowChatMemory::builder().id(id);
            builder.max_tokens(200, Arc::clone(&estimator)).store(store.clone()).build()
        })
        .build()
        .unwrap();
    for _ in 0..TURNS {
        assistant.chat("klaus", "Hi!").await.unwrap();
    }
    assert_eq!(counted.1.load(Ordering::Relaxed), 2 * TURNS);
}
