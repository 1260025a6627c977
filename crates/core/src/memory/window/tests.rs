use crate::memory::{
    ApproximateCounter, Change, ChatMemory, ChatMemoryStore, CompletedTurn, EstimatorId,
    InMemoryChatMemoryStore, MemoryId, MessageWindowChatMemory, Residence, Snapshot,
    TokenCountEstimator, TokenWindowChatMemory, history,
};
use crate::message::{AiMessage, ChatMessage, ToolCall, ToolResult};
use crate::{Error, ErrorKind, Result};
use async_trait::async_trait;
use proptest::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn user(text: &str) -> ChatMessage {
    ChatMessage::user(text)
}

fn ai(text: &str) -> ChatMessage {
    ChatMessage::ai(text)
}

fn system(text: &str) -> ChatMessage {
    ChatMessage::system(text)
}

/// A user message, rounds of one tool call each, an answer.
fn turn(rounds: usize) -> Vec<ChatMessage> {
    let round = || {
        let call = AiMessage::builder().tool_calls([ToolCall::new("1", "t", "{}")]).build();
        [call.into(), ToolResult::new("1", "t", "result").into()]
    };
    let rounds = std::iter::repeat_with(round).take(rounds).flatten();
    std::iter::once(user("question")).chain(rounds).chain([ai("the answer")]).collect()
}

fn snapshot(messages: Vec<ChatMessage>) -> Snapshot {
    Snapshot::new(messages, None).into_turns().0
}

fn memory(max: usize) -> MessageWindowChatMemory {
    MessageWindowChatMemory::with_max_messages(max)
}

/// A store that records its changes, and fails the first `conflicts` commits.
#[derive(Default)]
struct RecordingStore {
    store: InMemoryChatMemoryStore,
    conflicts: AtomicUsize,
    changes: Mutex<Vec<Change>>,
}

impl RecordingStore {
    /// Returns the evicted range and the number of appended messages of each change.
    fn changes(&self) -> Vec<(Option<std::ops::Range<usize>>, usize)> {
        let changes = std::mem::take(&mut *self.changes.lock().unwrap());
        changes.iter().map(|change| (change.evicted(), change.appended().count())).collect()
    }
}

#[async_trait]
impl ChatMemoryStore for RecordingStore {
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
        let conflict = |left: usize| left.checked_sub(1);
        if self.conflicts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, conflict).is_ok() {
            return Err(Error::new(ErrorKind::Conflict, "simulated conflict"));
        }
        self.changes.lock().unwrap().push(change.clone());
        self.store.commit(id, change).await
    }
}

fn recording_memory(max: usize) -> (Arc<RecordingStore>, MessageWindowChatMemory) {
    let store = Arc::new(RecordingStore::default());
    let builder = MessageWindowChatMemory::builder().max_messages(max);
    (Arc::clone(&store), builder.store(store).build().unwrap())
}

#[test]
fn fit_leaves_out_whole_turns() {
    let history = snapshot([turn(0), turn(1), turn(0)].concat());
    let evicted = |max| memory(max).fit(&history, None, &[user("next")]).unwrap();
    assert_eq!([9, 8, 7, 4, 3, 2].map(evicted), [0, 2, 2, 6, 6, 8]);
}

#[test]
fn fit_counts_the_sent_system_message_only() {
    let history = snapshot([vec![system("stored")], turn(0)].concat());
    let turn = [user("next")];
    let sent = system("sent");
    assert_eq!(memory(4).fit(&history, Some(&sent), &turn).unwrap(), 0);
    assert_eq!(memory(3).fit(&history, Some(&sent), &turn).unwrap(), 2);
    assert_eq!(memory(3).fit(&history, None, &turn).unwrap(), 0);
}

#[test]
fn error_of_a_too_large_turn_names_both_sizes() {
    let error = memory(3).fit(&Snapshot::default(), None, &turn(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TurnTooLarge);
    let message = error.to_string();
    assert!(message.contains("4 messages") && message.contains("is 3"), "{message}");
}

#[test]
fn turn_without_room_for_an_answer_is_rejected() {
    let error = memory(1).fit(&Snapshot::default(), None, &[user("question")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TurnTooLarge);
    assert!(memory(2).fit(&Snapshot::default(), None, &[user("question")]).is_ok());
}

#[tokio::test]
async fn add_writes_only_the_changes() {
    let (store, memory) = recording_memory(3);
    for text in ["a", "b", "c"] {
        memory.add(user(text)).await.unwrap();
    }
    store.changes();
    memory.add(user("d")).await.unwrap();
    memory.add_all(vec![user("e"), user("f")]).await.unwrap();
    assert_eq!(store.changes(), [(Some(0..1), 1), (Some(0..2), 2)]);
}

#[tokio::test]
async fn equal_system_message_is_not_written() {
    let (store, memory) = recording_memory(3);
    memory.add(system("a")).await.unwrap();
    memory.add(user("b")).await.unwrap();
    store.changes();
    memory.add(system("a")).await.unwrap();
    assert_eq!(store.changes(), []);
}

#[tokio::test]
async fn changed_system_message_moves_to_the_end() {
    let (store, memory) = recording_memory(3);
    memory.add_all(vec![system("a"), user("b")]).await.unwrap();
    store.changes();
    memory.add(system("c")).await.unwrap();
    assert_eq!(store.changes(), [(Some(0..1), 1)]);
    assert_eq!(memory.messages().await.unwrap(), [user("b"), system("c")]);
}

#[tokio::test]
async fn system_message_that_reaches_the_front_stays() {
    let (store, memory) = recording_memory(3);
    memory.add_all(vec![user("a"), system("b"), user("c")]).await.unwrap();
    store.changes();
    memory.add_all(vec![user("d"), user("e")]).await.unwrap();
    assert_eq!(memory.messages().await.unwrap(), [system("b"), user("d"), user("e")]);
    // Two separate ranges were evicted, which requires a replacement.
    assert_eq!(store.changes(), [(None, 3)]);
}

#[tokio::test]
async fn results_are_evicted_with_their_call() {
    let memory = memory(4);
    memory.add_all(turn(1)).await.unwrap();
    memory.add_all(vec![user("a"), user("b")]).await.unwrap();
    assert_eq!(memory.messages().await.unwrap(), [ai("the answer"), user("a"), user("b")]);
}

#[tokio::test]
async fn add_is_retried_after_a_conflict() {
    let (store, memory) = recording_memory(9);
    store.conflicts.store(2, Ordering::SeqCst);
    memory.add(user("a")).await.unwrap();
    assert_eq!(memory.messages().await.unwrap(), [user("a")]);
    store.conflicts.store(usize::MAX, Ordering::SeqCst);
    assert_eq!(memory.add(user("b")).await.unwrap_err().kind(), ErrorKind::Conflict);
}

#[tokio::test]
async fn commit_of_a_turn_writes_only_the_changes() {
    let (store, memory) = recording_memory(4);
    memory.add_all([turn(0), turn(0)].concat()).await.unwrap();
    store.changes();
    let snapshot = memory.load().await.unwrap().into_turns().0;
    memory.commit(CompletedTurn::new(snapshot.clone(), None, turn(0))).await.unwrap();
    assert_eq!(store.changes(), [(Some(0..2), 2)]);
    let late = memory.commit(CompletedTurn::new(snapshot, None, turn(0))).await;
    assert_eq!(late.unwrap_err().kind(), ErrorKind::Conflict);
}

#[test]
fn residence_is_the_store_if_one_is_set() {
    assert_eq!(memory(1).residence(), Residence::Here);
    assert_eq!(recording_memory(1).1.residence(), Residence::Store);
}

#[tokio::test]
async fn maximum_must_be_greater_than_zero() {
    let kind = |result: Result<MessageWindowChatMemory>| result.unwrap_err().kind();
    let builder = MessageWindowChatMemory::builder;
    assert_eq!(kind(builder().max_messages(0).build()), ErrorKind::Configuration);
    assert_eq!(kind(builder().dynamic_max_messages(|_| 0).build()), ErrorKind::Configuration);
    let used = memory(0).add(user("a")).await.unwrap_err();
    assert_eq!(used.kind(), ErrorKind::Configuration);
    let tokens = TokenWindowChatMemory::builder().max_tokens(0, ApproximateCounter);
    assert_eq!(tokens.build().unwrap_err().kind(), ErrorKind::Configuration);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_adds_lose_no_messages() {
    let store = InMemoryChatMemoryStore::new();
    let adding = (0..4).map(|writer| {
        let store = store.clone();
        async move {
            for n in 0..50 {
                let memory = MessageWindowChatMemory::builder().max_messages(1_000);
                let memory = memory.store(store.clone()).build().unwrap();
                // A writer that lost every race gets an error, and tries again.
                while memory.add(user(&format!("{writer} {n}"))).await.is_err() {}
            }
        }
    });
    let mut tasks = tokio::task::JoinSet::new();
    for task in adding {
        tasks.spawn(task);
    }
    tasks.join_all().await;
    let messages = store.get_messages(&"default".into()).await.unwrap();
    assert_eq!(messages.len(), 200);
    for writer in ["0", "1", "2", "3"] {
        let of = |message: &&ChatMessage| message.text().unwrap().starts_with(writer);
        let own: Vec<_> = messages.iter().filter(of).collect();
        assert!(own.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(own.len(), 50);
    }
}

/// One token per character, three per message, two per list. Records the number of counted
/// messages.
#[derive(Clone)]
struct Characters {
    id: EstimatorId,
    counted: Arc<AtomicUsize>,
}

impl Characters {
    fn new() -> Self {
        Self { id: EstimatorId::unique(), counted: Arc::default() }
    }

    /// Counts the tokens of a list, without the overhead and without recording it.
    fn count_unrecorded<'a>(messages: impl IntoIterator<Item = &'a ChatMessage>) -> usize {
        let tokens = |message: &ChatMessage| 3 + message.text().map_or(0, str::len);
        messages.into_iter().map(tokens).sum()
    }
}

impl TokenCountEstimator for Characters {
    fn count_text(&self, text: &str) -> usize {
        text.len()
    }

    fn count_message(&self, message: &ChatMessage) -> Result<usize> {
        self.counted.fetch_add(1, Ordering::SeqCst);
        Ok(Self::count_unrecorded([message]))
    }

    fn request_overhead(&self) -> usize {
        2
    }

    fn identity(&self) -> Option<EstimatorId> {
        Some(self.id)
    }
}

fn tokens(
    max: usize,
    estimator: &Characters,
    store: &InMemoryChatMemoryStore,
) -> TokenWindowChatMemory {
    let builder = TokenWindowChatMemory::builder().max_tokens(max, estimator.clone());
    builder.store(store.clone()).build().unwrap()
}

#[tokio::test]
async fn each_message_is_counted_once() {
    let (store, estimator) = (InMemoryChatMemoryStore::new(), Characters::new());
    let new_memory = || tokens(2_000, &estimator, &store);
    for n in 0..1_000 {
        new_memory().add(user(&format!("message {n}"))).await.unwrap();
        new_memory().messages().await.unwrap();
    }
    assert_eq!(estimator.counted.load(Ordering::SeqCst), 1_000);
}

#[tokio::test]
async fn each_message_of_a_turn_is_counted_once() {
    let (store, estimator) = (InMemoryChatMemoryStore::new(), Characters::new());
    for _ in 0..100 {
        let memory = tokens(500, &estimator, &store);
        let snapshot = memory.load().await.unwrap().into_turns().0;
        let turn = turn(2);
        for sent in [1, 3, 5] {
            memory.fit(&snapshot, None, &turn[..sent]).unwrap();
        }
        memory.commit(CompletedTurn::new(snapshot, None, turn)).await.unwrap();
    }
    assert_eq!(estimator.counted.load(Ordering::SeqCst), 600);
}

#[tokio::test]
async fn failing_estimator_writes_nothing() {
    struct Failing;
    impl TokenCountEstimator for Failing {
        fn count_text(&self, _: &str) -> usize {
            0
        }

        fn count_message(&self, message: &ChatMessage) -> Result<usize> {
            if message.is_user() {
                Ok(1)
            } else {
                Err(Error::new(ErrorKind::Unsupported, "not a user message"))
            }
        }
    }
    let memory = TokenWindowChatMemory::builder().max_tokens(10, Failing).build().unwrap();
    assert!(memory.add_all(vec![user("a"), ai("b")]).await.is_err());
    assert_eq!(memory.messages().await.unwrap(), []);
}

/// Commits turns of several lengths under changing maximums.
async fn commit_turns(turns: &[(usize, usize)], system: Option<ChatMessage>) {
    let (store, estimator) = (InMemoryChatMemoryStore::new(), Characters::new());
    let id = MemoryId::from("default");
    for (rounds, max) in turns {
        let memory = tokens(*max, &estimator, &store);
        let before = memory.load().await.unwrap().into_turns().0;
        let completed = CompletedTurn::new(before.clone(), system.clone(), turn(*rounds));
        let committed = memory.commit(completed).await;
        let after = store.load(&id).await.unwrap();
        match committed {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::TurnTooLarge);
                assert_eq!(before.messages(), after.messages());
            }
            Ok(()) => {
                let sum = Characters::count_unrecorded(after.messages());
                let sent = sum + 2 + Characters::count_unrecorded(&system);
                assert!(sent <= *max, "{sent} > {max}");
                assert!(history::is_complete(after.messages()));
                assert!(after.messages().get(0).unwrap().is_user());
                let counted = super::super::tokens::Counted::new(estimator.clone());
                assert_eq!(counted.list(after.messages()).unwrap(), sum);
            }
        }
    }
}

proptest! {
    #[test]
    fn stored_history_is_whole_turns_within_the_maximum(
        turns in prop::collection::vec((0_usize..4, 10_usize..200), 1..30),
        system in prop::option::of("[a-z]{0,20}"),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(commit_turns(&turns, system.map(ChatMessage::system)));
    }

    #[test]
    fn cached_token_sum_equals_a_new_count(
        ops in prop::collection::vec((0_usize..5, "[a-z]{0,9}"), 1..40),
        max in 5_usize..80,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (store, estimator) = (InMemoryChatMemoryStore::new(), Characters::new());
            let memory = tokens(max, &estimator, &store);
            for (kind, text) in ops {
                match kind {
                    0 => memory.add(system(&text)).await.unwrap(),
                    1 => memory.set(vec![user(&text), ai(&text)]).await.unwrap(),
                    2 => memory.add_all(turn(1)).await.unwrap(),
                    _ => memory.add(user(&text)).await.unwrap(),
                }
                let stored = store.load(memory.id()).await.unwrap();
                let counted = super::super::tokens::Counted::new(estimator.clone());
                assert_eq!(counted.list(stored.messages()).unwrap(), Characters::count_unrecorded(stored.messages()));
            }
        });
    }
}
