//! Commits of a service whose outcome is unknown, and the ids of requests.

use ai_services::memory::{
    Change, ChatMemoryStore, CommitState, InMemoryChatMemoryStore, MemoryId,
    MessageWindowChatMemory, RequestId, Snapshot,
};
use ai_services::message::ChatMessage;
use ai_services::testing::ScriptedChatModel;
use ai_services::{
    Error, ErrorKind, InvocationContext, Result, UnfinishedTurn, ai_service, async_trait,
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
}

/// A store whose first commits are applied, but return another error.
#[derive(Clone, Default)]
struct LossyStore {
    store: InMemoryChatMemoryStore,
    losses: std::sync::Arc<AtomicU32>,
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
    assert_eq!(stored, [ChatMessage::user("?"), ChatMessage::ai("first")]);
}

#[tokio::test]
async fn second_turn_of_a_request_is_not_stored() {
    let (store, request) = (LossyStore::default(), RequestId::new("mine").unwrap());
    let model = ScriptedChatModel::replies(["first", "second", "third"]);
    let assistant = service(&store, &model);
    let context = InvocationContext::new().with(request);
    assistant.chat("ann", context.clone(), "?").await.unwrap();
    let error = assistant.chat("ann", context.clone(), "?").await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Conflict, false));
    assert_eq!(model.requests().len(), 2, "the second turn is not replayed");
    assert_eq!(store.get_messages(&"ann".into()).await.unwrap().len(), 2);
    // Another conversation has its own requests.
    assert_eq!(assistant.chat("bob", context, "?").await.unwrap(), "third");
}
