//! Commits of a service whose outcome is unknown, and the ids of requests.

use crate::desk::add;
use ai_services::memory::{
    Change, ChatMemoryStore, CommitState, InMemoryChatMemoryStore, MemoryId,
    MessageWindowChatMemory, RequestId, Snapshot,
};
use ai_services::message::{ChatMessage, ToolCall};
use ai_services::model::TokenUsage;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{
    AnswerStream, Error, ErrorKind, InvocationContext, Result, StreamEvent, UnfinishedTurn,
    ai_service, async_trait,
};
use std::sync::atomic::{AtomicU32, Ordering};

#[ai_service]
trait Assistant {
    async fn chat(
        &self,
        #[memory_id] user: &str,
        #[context] context: InvocationContext,
        #[user_message] text: &str,
    ) -> Result<String>;

    fn stream(
        &self,
        #[memory_id] user: &str,
        #[context] context: InvocationContext,
        #[user_message] text: &str,
    ) -> AnswerStream;
}

/// A store whose first commits are applied, but return another error.
#[derive(Clone, Default)]
pub(crate) struct LossyStore {
    store: InMemoryChatMemoryStore,
    losses: std::sync::Arc<AtomicU32>,
}

impl LossyStore {
    /// Creates a store with this number of lost answers.
    pub(crate) fn losing(answers: u32) -> Self {
        let store = Self::default();
        store.losses.store(answers, Ordering::SeqCst);
        store
    }
}

#[async_trait]
impl ChatMemoryStore for LossyStore {
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
        self.store.commit(id, change).await?;
        let one_less = |losses: u32| losses.checked_sub(1);
        match self.losses.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less) {
            Ok(_) => Err(Error::new(ErrorKind::UnknownOutcome, "the connection broke")),
            Err(_) => Ok(()),
        }
    }

    async fn commit_state(&self, id: &MemoryId, request: &RequestId) -> Result<CommitState> {
        self.store.commit_state(id, request).await
    }
}

fn service(store: &LossyStore, model: &ScriptedChatModel) -> AssistantService {
    let store = store.clone();
    AssistantService::builder()
        .chat_model(model.clone())
        .tools(add::tool())
        .chat_memory_provider(move |id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(10).store(store.clone()).build()
        })
        .build()
        .unwrap()
}

#[tokio::test]
async fn turn_with_an_unknown_outcome_is_not_replayed() {
    let (store, request) = (LossyStore::default(), RequestId::new("mine").unwrap());
    store.losses.store(1, Ordering::SeqCst);
    let model = ScriptedChatModel::replies(["first", "second"]);
    let assistant = service(&store, &model);
    let context = InvocationContext::new().with(request.clone());
    let error = assistant.chat("ann", context, "?").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownOutcome);
    assert!(!error.is_retryable());
    let unfinished = error.detail::<UnfinishedTurn>().unwrap();
    assert!(unfinished.answer.is_some());
    assert_eq!(model.requests().len(), 1);
    let id = MemoryId::from("ann");
    assert_eq!(store.commit_state(&id, &request).await.unwrap(), CommitState::Committed);
    let stored = store.get_messages(&id).await.unwrap();
    let texts: Vec<_> = stored.iter().map(|message| message.text()).collect();
    assert_eq!(texts, [Some("?"), Some("first")]);
    // The caller repeats the call.
    let context = InvocationContext::new().with(request);
    assert_eq!(assistant.chat("ann", context, "?").await.unwrap(), "first");
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn repeated_request_gets_the_stored_answer() {
    let (store, request) = (LossyStore::default(), RequestId::new("mine").unwrap());
    let model = ScriptedChatModel::replies(["first", "second"]);
    let assistant = service(&store, &model);
    let context = InvocationContext::new().with(request);
    assistant.chat("ann", context.clone(), "?").await.unwrap();
    assert_eq!(assistant.chat("ann", context.clone(), "?").await.unwrap(), "first");
    assert_eq!(model.requests().len(), 1, "the model is not called again");
    assert_eq!(store.get_messages(&"ann".into()).await.unwrap().len(), 2);
    // Another conversation has its own requests.
    assert_eq!(assistant.chat("bob", context, "?").await.unwrap(), "second");
}

#[tokio::test]
async fn second_turn_of_a_request_that_was_evicted_is_not_stored() {
    let store = LossyStore::default();
    let model = ScriptedChatModel::from_fn(|number, _| ScriptedAnswer::text(number.to_string()));
    let assistant = service(&store, &model);
    let context = |id: &str| InvocationContext::new().with(RequestId::new(id).unwrap());
    for number in 0..8 {
        assistant.chat("ann", context(&number.to_string()), "?").await.unwrap();
    }
    // The window of 10 messages has the last 5 turns.
    assert_eq!(assistant.chat("ann", context("3"), "?").await.unwrap(), "3");
    let error = assistant.chat("ann", context("0"), "?").await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Conflict, false));
    assert_eq!(model.requests().len(), 9, "the second turn is not replayed");
    assert_eq!(store.get_messages(&"ann".into()).await.unwrap().len(), 10);
}

#[tokio::test]
async fn repeated_request_streams_the_stored_answer_with_its_tools() {
    let store = LossyStore::default();
    let call = ToolCall::new("1", "add", r#"{"a":1,"b":2}"#);
    let model = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([call]),
        ScriptedAnswer::text("3").with_usage(TokenUsage::new(1, 1)),
    ]);
    let assistant = service(&store, &model);
    let context = InvocationContext::new().with(RequestId::new("mine").unwrap());
    for attempt in 0..2 {
        let mut text = String::new();
        let mut stream = assistant.stream("ann", context.clone(), "?");
        while let Some(event) = stream.next().await {
            match event.unwrap() {
                StreamEvent::Text(piece) => text += &piece,
                StreamEvent::Completed(response) => {
                    assert_eq!((response.value.as_str(), text.as_str()), ("3", "3"));
                    assert_eq!(response.tool_executions[0].result().text(), Some("3"));
                    assert_eq!(response.token_usage.input.is_none(), attempt == 1);
                }
                _ => {}
            }
        }
    }
    assert_eq!(model.requests().len(), 2);
}
