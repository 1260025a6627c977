//! Combined models inside an AI service, with tools and memory.

use super::failing;
use ai_services::combinators::{
    CacheKey, CachedModel, FallbackModel, InMemoryResponseCache, RateLimitedModel, RateLimiter,
    RecordingModel, ReplayModel, ResponseCache, RetryModel, RetryPolicy, RouterModel,
    StoreResponseCache,
};
use ai_services::guardrail::{OutputGuardrail, OutputGuardrailRequest, OutputVerdict};
use ai_services::memory::{InMemoryChatMemoryStore, MemoryId, MessageWindowChatMemory};
use ai_services::message::ToolCall;
use ai_services::model::{ChatModel, ChatRequest, ChatResponse, TokenUsage};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{
    AnswerStream, Error, ErrorKind, Response, StreamEvent, ai_service, async_trait, tools,
};
use serde_json::json;
use std::sync::Arc;

struct Desk;

#[tools]
impl Desk {
    /// Adds two numbers.
    #[tool]
    fn add(&self, a: i64, b: i64) -> i64 {
        a + b
    }
}

#[ai_service]
#[system_message("You add numbers.")]
trait Adder {
    async fn chat(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<Response<String>>;

    async fn sum(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<Vec<i64>>;

    fn stream(&self, #[memory_id] user: &str, #[user_message] text: &str) -> AnswerStream;
}

fn adder(model: impl ChatModel + 'static) -> AdderService {
    AdderService::builder()
        .chat_model(model)
        .chat_memory_provider(|id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(20).build()
        })
        .tools(Desk)
        .build()
        .unwrap()
}

fn call() -> ScriptedAnswer {
    let arguments = json!({ "a": 2, "b": 3 }).to_string();
    ScriptedAnswer::tool_calls([ToolCall::new("1", "add", arguments)])
        .with_usage(TokenUsage::new(10, 1))
}

#[tokio::test]
async fn fallback_between_tool_calls_continues_the_turn() {
    let first = ScriptedChatModel::new([call(), failing(ErrorKind::Unavailable)]);
    let answer = ScriptedAnswer::text("5").with_usage(TokenUsage::new(20, 2));
    let second = ScriptedChatModel::new([answer]);
    let model =
        FallbackModel::builder().model(first.clone()).model(second.clone()).build().unwrap();
    let service = adder(model);
    let response = service.chat("ann", "2 + 3?").await.unwrap();
    assert_eq!((response.value.as_str(), response.token_usage), ("5", TokenUsage::new(30, 3)));
    assert_eq!(response.tool_executions.len(), 1);
    assert_eq!(second.messages_of(0), first.messages_of(1));
    assert_eq!(second.messages_of(0).len(), 4, "system, user, call, result");
    assert_eq!(service.chat_memory("ann").unwrap().messages().await.unwrap().len(), 4);
}

#[tokio::test]
async fn failed_fallback_leaves_the_memory_unchanged() {
    let down = || ScriptedChatModel::new([call(), failing(ErrorKind::Unavailable)]);
    let second = ScriptedChatModel::new([failing(ErrorKind::Unavailable)]);
    let model = FallbackModel::builder().model(down()).model(second).build().unwrap();
    let service = adder(model);
    let error = service.chat("ann", "2 + 3?").await.unwrap_err();
    assert_eq!(error.usage(), Some(&TokenUsage::new(10, 1)));
    assert!(service.chat_memory("ann").unwrap().messages().await.unwrap().is_empty());
}

#[tokio::test]
async fn recorded_turns_are_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("turns.jsonl");
    let play = async |service: AdderService| {
        let first = service.chat("ann", "2 + 3?").await.unwrap();
        let second = service.sum("ann", "Again, as a list.").await.unwrap();
        let mut streamed = String::new();
        let mut stream = service.stream("ann", "Say it.");
        while let Some(event) = stream.next().await {
            if let StreamEvent::Text(text) = event.unwrap() {
                streamed += &text;
                streamed += "|";
            }
        }
        let remembered = service.chat_memory("ann").unwrap().messages().await.unwrap();
        (first.value, first.token_usage, second, streamed, remembered)
    };
    let script = ScriptedChatModel::new([
        call(),
        ScriptedAnswer::text("5").with_usage(TokenUsage::new(20, 2)),
        ScriptedAnswer::text("[5]"),
        ScriptedAnswer::pieces(["fi", "ve"]),
    ]);
    let recorded = play(adder(RecordingModel::new(script, &path))).await;
    assert_eq!((recorded.0.as_str(), &*recorded.2, recorded.3.as_str()), ("5", &[5][..], "fi|ve|"));

    let replay = ReplayModel::open(&path).await.unwrap();
    assert_eq!(play(adder(replay.clone())).await, recorded);
    replay.check_finished().unwrap();
}

#[tokio::test(start_paused = true)]
async fn all_combinators_can_be_nested() {
    let limiter = RateLimiter::builder().requests_per_minute(10).concurrency(2).build().unwrap();
    let script = ScriptedChatModel::new([
        failing(ErrorKind::Unavailable),
        call(),
        ScriptedAnswer::text("5"),
    ]);
    let model = RetryModel::new(RateLimitedModel::new(script.clone(), limiter), RetryPolicy::new());
    let model = FallbackModel::builder().model(model).build().unwrap();
    let model = CachedModel::new(model, InMemoryResponseCache::new());
    let model = RouterModel::builder()
        .model("only", model)
        .route(|_: &ChatRequest| "only")
        .build()
        .unwrap();
    let service = adder(model);
    for user in ["ann", "ben"] {
        assert_eq!(service.chat(user, "2 + 3?").await.unwrap().value, "5");
        assert_eq!(service.chat_memory(user).unwrap().messages().await.unwrap().len(), 4);
    }
    assert_eq!(script.requests().len(), 3);
}

/// Rejects the answer "bad", and asks the model for another one.
struct Picky;

#[async_trait]
impl OutputGuardrail for Picky {
    async fn check(
        &self,
        request: OutputGuardrailRequest<'_>,
    ) -> ai_services::Result<OutputVerdict> {
        Ok(match request.text() {
            "bad" => OutputVerdict::Retry("bad".into()),
            "hopeless" => OutputVerdict::Fatal("hopeless".into()),
            _ => OutputVerdict::Success,
        })
    }

    fn name(&self) -> &str {
        "picky"
    }
}

/// A cache whose entries cannot be removed.
#[derive(Clone)]
struct Indelible(InMemoryResponseCache);

#[async_trait]
impl ResponseCache for Indelible {
    async fn get(&self, key: &CacheKey) -> ai_services::Result<Option<ChatResponse>> {
        self.0.get(key).await
    }

    async fn put(&self, key: &CacheKey, response: &ChatResponse) -> ai_services::Result<()> {
        self.0.put(key, response).await
    }

    async fn remove(&self, _: &CacheKey) -> ai_services::Result<()> {
        Err(Error::new(ErrorKind::Store, "read-only"))
    }
}

fn picky(model: &ScriptedChatModel, cache: impl ResponseCache + 'static) -> AdderService {
    AdderService::builder()
        .chat_model(CachedModel::new(model.clone(), cache))
        .chat_memory_provider(|id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(20).build()
        })
        .output_guardrail(Picky)
        .build()
        .unwrap()
}

#[tokio::test]
async fn rejected_answer_is_not_cached_and_the_retry_calls_the_model() {
    let caches: [fn() -> Box<dyn ResponseCache>; 3] = [
        || Box::new(Arc::new(InMemoryResponseCache::new())),
        || Box::new(StoreResponseCache::new(InMemoryChatMemoryStore::new())),
        || Box::new(Indelible(InMemoryResponseCache::new())),
    ];
    for cache in caches {
        let model = ScriptedChatModel::replies(["bad", "good"]);
        let cache: Arc<dyn ResponseCache> = Arc::from(cache());
        let service = picky(&model, cache);
        assert_eq!(service.chat("ann", "hi").await.unwrap().value, "good");
        assert_eq!(service.chat("bob", "hi").await.unwrap().value, "good", "from the cache");
        assert_eq!(model.requests().len(), 2);
        let mut events = service.stream("cy", "hi");
        let mut answer = None;
        while let Some(event) = events.next().await {
            if let StreamEvent::Completed(response) = event.unwrap() {
                answer = Some(response.value);
            }
        }
        assert_eq!(answer.as_deref(), Some("good"));
    }
}

#[tokio::test]
async fn answer_that_fails_the_call_is_not_cached() {
    for (bad, kind) in [("hopeless", ErrorKind::Guardrail), ("bad", ErrorKind::Guardrail)] {
        for streams in [false, true] {
            let model = ScriptedChatModel::replies([bad, bad, bad, "good"]);
            let service = picky(&model, InMemoryResponseCache::new());
            let error = match streams {
                false => service.chat("ann", "hi").await.unwrap_err(),
                true => service.stream("ann", "hi").collect().await.unwrap_err(),
            };
            assert_eq!(error.kind(), kind);
            let before = model.requests().len();
            let again = service.chat("bob", "hi").await;
            assert!(model.requests().len() > before, "the answer came from the cache");
            drop(again);
        }
    }
}

#[tokio::test]
async fn unreadable_answer_is_not_cached() {
    let model = ScriptedChatModel::replies(["five", r#"{"values": [5]}"#, r#"{"values": [6]}"#]);
    let service = picky(&model, InMemoryResponseCache::new());
    assert_eq!(service.sum("ann", "2 + 3?").await.unwrap(), [5]);
    assert_eq!(service.sum("bob", "2 + 3?").await.unwrap(), [6], "the model answers again");
}
