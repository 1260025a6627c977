//! Summaries in stores with few abilities, and with other writers.

use super::{Assistant, AssistantService, QUESTION, id, memory, numbered, recorder, texts};
use ai_services::memory::{
    Change, ChatMemoryStore, InMemoryChatMemoryStore, MemoryId, Snapshot, Summarizer,
};
use ai_services::message::ChatMessage;
use ai_services::model::TokenUsage;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{ErrorKind, async_trait};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A store with only the three required methods. Counts the writes.
#[derive(Clone, Default)]
struct Simple(InMemoryChatMemoryStore, Arc<AtomicUsize>);

#[async_trait]
impl ChatMemoryStore for Simple {
    async fn get_messages(&self, id: &MemoryId) -> ai_services::Result<Vec<ChatMessage>> {
        self.0.get_messages(id).await
    }

    async fn update_messages(
        &self,
        id: &MemoryId,
        messages: &[ChatMessage],
    ) -> ai_services::Result<()> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.update_messages(id, messages).await
    }

    async fn delete_messages(&self, id: &MemoryId) -> ai_services::Result<()> {
        self.0.delete_messages(id).await
    }
}

#[tokio::test]
async fn simple_store_is_written_once_per_turn() {
    let (model, store) = (numbered("answer"), Simple::default());
    let memory = memory(6, Summarizer::new(numbered("summary")), store.clone());
    let assistant =
        AssistantService::builder().chat_model(model.clone()).chat_memory(memory).build().unwrap();
    for turn in 0..20 {
        assistant.chat(&format!("question {turn}")).await.unwrap();
        assert_eq!(store.1.load(Ordering::SeqCst), turn + 1);
    }
    assert_eq!(texts(&model.messages_of(19))[0], QUESTION);
}

/// A store whose conversation another writer changes before the third commit.
#[derive(Clone)]
struct Contended {
    store: InMemoryChatMemoryStore,
    commits: Arc<AtomicUsize>,
    other: fn() -> Change,
}

impl Contended {
    fn new(other: fn() -> Change) -> Self {
        Self { store: InMemoryChatMemoryStore::new(), commits: Arc::default(), other }
    }
}

#[async_trait]
impl ChatMemoryStore for Contended {
    async fn get_messages(&self, id: &MemoryId) -> ai_services::Result<Vec<ChatMessage>> {
        self.store.get_messages(id).await
    }

    async fn update_messages(
        &self,
        id: &MemoryId,
        messages: &[ChatMessage],
    ) -> ai_services::Result<()> {
        self.store.update_messages(id, messages).await
    }

    async fn delete_messages(&self, id: &MemoryId) -> ai_services::Result<()> {
        self.store.delete_messages(id).await
    }

    async fn load(&self, id: &MemoryId) -> ai_services::Result<Snapshot> {
        self.store.load(id).await
    }

    async fn commit(&self, id: &MemoryId, change: Change) -> ai_services::Result<()> {
        if self.commits.fetch_add(1, Ordering::SeqCst) == 2 {
            self.store.commit(id, (self.other)()).await?;
        }
        self.store.commit(id, change).await
    }
}

/// Returns the requests of the chat model and of the summarizer after three turns, the last of which is
/// replayed.
async fn replayed(
    max: usize,
    summaries: ScriptedChatModel,
    other: fn() -> Change,
) -> (Vec<Vec<String>>, Vec<String>) {
    let (model, store, events) = (numbered("answer"), Contended::new(other), Arc::default());
    let assistant = AssistantService::builder()
        .chat_model(model.clone())
        .chat_memory(memory(max, Summarizer::new(summaries), store.clone()))
        .listener(recorder(&events))
        .build()
        .unwrap();
    for turn in 0..3 {
        assistant.chat(&format!("question {turn}")).await.unwrap();
    }
    let requests = 0..model.requests().len();
    let requests = requests.map(|number| texts(&model.messages_of(number))).collect();
    assert_eq!(
        store.store.get_messages(&id()).await.unwrap().last().unwrap().text(),
        Some("answer 3")
    );
    let events = std::mem::take(&mut *events.lock().unwrap());
    (requests, events.into_iter().filter(|event| event.contains("folded")).collect())
}

fn touch() -> Change {
    Change::advance(None, 0..0, Vec::new())
}

fn other_turn() -> Change {
    Change::advance(None, 0..0, vec![ChatMessage::user("other"), ChatMessage::ai("writer")])
}

fn replacement() -> Change {
    let turns = ["a", "b"].map(|text| [ChatMessage::user(text), ChatMessage::ai("new")]);
    Change::replace(None, turns.into_iter().flatten().collect())
}

#[tokio::test]
async fn replayed_turn_uses_its_summary_again() {
    let (requests, events) = replayed(4, numbered("summary"), touch).await;
    assert_eq!(requests[3], [QUESTION, "summary 0", "question 2"]);
    assert_eq!(requests[2], requests[3]);
    assert_eq!(events.len(), 1);
}

#[tokio::test]
async fn replayed_turn_summarizes_only_the_turn_of_another_writer() {
    let summaries = numbered("summary");
    let (requests, events) = replayed(4, summaries.clone(), other_turn).await;
    assert_eq!(requests[3], [QUESTION, "summary 1", "question 2"]);
    assert_eq!(events.len(), 2);
    let request = &texts(&summaries.messages_of(1))[1];
    let expected = "The summary so far:\nsummary 0\n\nThe conversation:\n\
        {\"user\":\"other\"}\n{\"assistant\":\"writer\"}\n";
    assert_eq!(request, expected);
}

#[tokio::test]
async fn replayed_turn_does_not_use_the_summary_of_another_history() {
    let summaries = numbered("summary");
    let (requests, _) = replayed(4, summaries.clone(), replacement).await;
    assert_eq!(requests[3], [QUESTION, "summary 1", "question 2"]);
    assert!(!texts(&summaries.messages_of(1))[1].contains("summary 0"));
}

#[tokio::test]
async fn replayed_turn_does_not_repeat_a_failed_summary() {
    let down = ScriptedChatModel::from_fn(|_, _| {
        let error = ScriptedAnswer::error(ErrorKind::Unavailable, "down");
        error.with_usage(TokenUsage::new(5, 0))
    });
    let (requests, events) = replayed(4, down.clone(), other_turn).await;
    assert_eq!(requests[3], ["other", "writer", "question 2"]);
    assert_eq!((down.requests().len(), events.len()), (1, 1));
}
