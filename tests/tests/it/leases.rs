//! Leases of services in several processes that share a store: one turn at a time, without wasted
//! model calls.

use ai_services::memory::{
    Change, ChatMemory, ChatMemoryStore, ConversationLeases, InMemoryChatMemoryStore, LeaseOptions,
    LeaseToken, MemoryId, MessageWindowChatMemory, Snapshot,
};
use ai_services::message::{ChatMessage, ToolCall};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{
    ConcurrentCalls, Error, ErrorKind, Result, UnfinishedTurn, ai_service, async_trait, tool,
};
use futures_util::FutureExt;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

const DURATION: Duration = Duration::from_secs(10);

#[ai_service]
trait Assistant {
    async fn chat(&self, #[memory_id] user: &str, #[user_message] text: &str) -> Result<String>;
}

/// An in-memory store with leases.
#[derive(Default)]
struct LeasedStore {
    store: InMemoryChatMemoryStore,
    holders: Mutex<HashMap<MemoryId, (LeaseToken, Instant)>>,
    renewals: AtomicUsize,
    releases: AtomicUsize,
}

impl LeasedStore {
    fn holder(&self, id: &MemoryId) -> Option<LeaseToken> {
        let holders = self.holders.lock().unwrap();
        holders.get(id).filter(|(_, until)| *until > Instant::now()).map(|(token, _)| *token)
    }

    /// Removes the lease, as if it had expired while its process was suspended.
    fn lose(&self, id: &str) {
        self.holders.lock().unwrap().remove(&id.into());
    }
}

#[async_trait]
impl ChatMemoryStore for LeasedStore {
    async fn get_messages(&self, id: &MemoryId) -> Result<Vec<ChatMessage>> {
        self.store.get_messages(id).await
    }

    async fn update_messages(&self, id: &MemoryId, messages: &[ChatMessage]) -> Result<()> {
        self.store.update_messages(id, messages).await
    }

    async fn delete_messages(&self, id: &MemoryId) -> Result<()> {
        self.store.delete_messages(id).await
    }

    async fn load(&self, id: &MemoryId) -> Result<Snapshot> {
        self.store.load(id).await
    }

    async fn commit(&self, id: &MemoryId, change: Change) -> Result<()> {
        if change.lease().is_some() && change.lease() != self.holder(id) {
            return Err(Error::new(ErrorKind::Conflict, "the lease was lost"));
        }
        if change.lease().is_some() {
            self.holders.lock().unwrap().remove(id);
        }
        self.store.commit(id, change).await
    }

    fn leases(&self) -> Option<&dyn ConversationLeases> {
        Some(self)
    }
}

#[async_trait]
impl ConversationLeases for LeasedStore {
    fn options(&self) -> LeaseOptions {
        LeaseOptions::new().duration(DURATION).max_wait(Duration::from_secs(600))
    }

    async fn acquire(&self, id: &MemoryId, token: LeaseToken) -> Result<bool> {
        let holder = self.holder(id);
        if holder.is_some_and(|holder| holder != token) {
            return Ok(false);
        }
        self.renewals.fetch_add(usize::from(holder.is_some()), Ordering::Relaxed);
        self.holders.lock().unwrap().insert(id.clone(), (token, Instant::now() + DURATION));
        Ok(true)
    }

    async fn release(&self, id: &MemoryId, token: LeaseToken) -> Result<()> {
        self.releases.fetch_add(1, Ordering::Relaxed);
        if self.holder(id) == Some(token) {
            self.holders.lock().unwrap().remove(id);
        }
        Ok(())
    }
}

static RUNS: AtomicUsize = AtomicUsize::new(0);

/// Books a seat.
#[tool]
fn book() -> String {
    RUNS.fetch_add(1, Ordering::Relaxed);
    "booked".to_owned()
}

/// Creates a service that shares only the store with the others, like one in another process.
fn process(store: &Arc<LeasedStore>, model: &ScriptedChatModel) -> AssistantService {
    process_with(store, model, ConcurrentCalls::Queue)
}

fn process_with(
    store: &Arc<LeasedStore>,
    model: &ScriptedChatModel,
    concurrent_calls: ConcurrentCalls,
) -> AssistantService {
    let store = Arc::clone(store);
    AssistantService::builder()
        .chat_model(model.clone())
        .chat_memory_provider(move |id: &MemoryId| {
            let builder = MessageWindowChatMemory::builder().id(id).max_messages(20);
            builder.store(Arc::clone(&store)).build()
        })
        .tools(book::tool())
        .concurrent_calls(concurrent_calls)
        .build()
        .unwrap()
}

fn slow(seconds: u64) -> ScriptedChatModel {
    ScriptedChatModel::from_fn(move |number, _| {
        ScriptedAnswer::text(number.to_string()).after(Duration::from_secs(seconds))
    })
}

#[tokio::test(start_paused = true)]
async fn two_processes_run_their_turns_one_after_the_other() {
    let (store, model) = (Arc::new(LeasedStore::default()), slow(3));
    let (one, two) = (process(&store, &model), process(&store, &model));
    let (first, second) = tokio::join!(one.chat("ann", "a"), two.chat("ann", "b"));
    assert_eq!((first.unwrap(), second.unwrap()), ("0".to_owned(), "1".to_owned()));
    assert_eq!(model.requests().len(), 2);
    let expected = [ChatMessage::user("a"), ChatMessage::ai("0"), ChatMessage::user("b")];
    assert_eq!(model.messages_of(1), expected);
}

#[tokio::test(start_paused = true)]
async fn commit_releases_the_lease() {
    let (store, model) = (Arc::new(LeasedStore::default()), slow(0));
    process(&store, &model).chat("ann", "a").await.unwrap();
    assert_eq!(store.holder(&"ann".into()), None);
    tokio::task::yield_now().await;
    assert_eq!(store.releases.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn lease_is_renewed_while_a_turn_runs() {
    let (store, model) = (Arc::new(LeasedStore::default()), slow(100));
    let (one, two) = (process(&store, &model), process(&store, &model));
    let (first, second) = tokio::join!(one.chat("ann", "a"), two.chat("ann", "b"));
    first.unwrap();
    second.unwrap();
    assert_eq!(model.requests().len(), 2);
    // Two turns of 100 s, with a renewal after every third of 10 s.
    assert!((58..=60).contains(&store.renewals.load(Ordering::Relaxed)));
}

#[tokio::test(start_paused = true)]
async fn other_ids_are_not_blocked() {
    let (store, model) = (Arc::new(LeasedStore::default()), slow(3));
    let (one, two) = (process(&store, &model), process(&store, &model));
    let start = Instant::now();
    let (first, second) = tokio::join!(one.chat("ann", "a"), two.chat("bob", "b"));
    first.unwrap();
    second.unwrap();
    assert_eq!(start.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn dropped_call_releases_the_lease() {
    let (store, model) = (Arc::new(LeasedStore::default()), slow(3));
    let one = process(&store, &model);
    assert!(one.chat("ann", "a").now_or_never().is_none());
    assert_eq!(store.releases.load(Ordering::Relaxed), 0);
    let start = Instant::now();
    process(&store, &model).chat("ann", "b").await.unwrap();
    assert!(start.elapsed() < DURATION, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn failed_call_releases_the_lease_before_it_returns() {
    let store = Arc::new(LeasedStore::default());
    let model = ScriptedChatModel::new([ScriptedAnswer::error(ErrorKind::Unavailable, "down")]);
    process(&store, &model).chat("ann", "a").await.unwrap_err();
    assert_eq!(store.holder(&"ann".into()), None);
    assert_eq!(store.releases.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_lease_times_out() {
    let (store, model) = (Arc::new(LeasedStore::default()), slow(10_000));
    let (one, two) = (process(&store, &model), process(&store, &model));
    let rejecting = process_with(&store, &model, ConcurrentCalls::Reject);
    let mut running = Box::pin(one.chat("ann", "a"));
    assert!((&mut running).now_or_never().is_none());

    let start = Instant::now();
    let error = rejecting.chat("ann", "b").await.unwrap_err();
    assert_eq!((error.kind(), start.elapsed()), (ErrorKind::Busy, Duration::ZERO));
    assert!(error.is_retryable());

    let waiting = two.chat("ann", "b");
    let error = tokio::select! {
        outcome = waiting => outcome.unwrap_err(),
        _ = &mut running => panic!("the model must be slower than the time limit"),
    };
    assert_eq!((error.kind(), start.elapsed().as_secs()), (ErrorKind::Busy, 600));
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn turn_without_tools_is_retried_after_a_lost_lease() {
    let store = Arc::new(LeasedStore::default());
    let lease_store = Arc::clone(&store);
    let model = ScriptedChatModel::from_fn(move |number, _| {
        if number == 0 {
            lease_store.lose("ann");
        }
        ScriptedAnswer::text(number.to_string())
    });
    assert_eq!(process(&store, &model).chat("ann", "a").await.unwrap(), "1");
    assert_eq!(store.holder(&"ann".into()), None);
}

#[tokio::test(start_paused = true)]
async fn error_after_a_lost_lease_contains_the_answer() {
    let store = Arc::new(LeasedStore::default());
    let lease_store = Arc::clone(&store);
    let model = ScriptedChatModel::from_fn(move |number, _| match number {
        0 => ScriptedAnswer::tool_calls([ToolCall::new("1", "book", "{}")]),
        _ => {
            lease_store.lose("ann");
            ScriptedAnswer::text("done")
        }
    });
    let service = process(&store, &model);
    let error = service.chat("ann", "a").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let turn = error.detail::<UnfinishedTurn>().unwrap();
    assert_eq!(turn.answer.as_ref().unwrap().message.text(), Some("done"));
    assert_eq!((turn.tool_executions.len(), RUNS.load(Ordering::Relaxed)), (1, 1));
    assert!(service.chat_memory("ann").unwrap().messages().await.unwrap().is_empty());
}
