//! Combined models inside an AI service, with tools and memory.

use super::failing;
use ai_services::combinators::{
    CachedModel, FallbackModel, InMemoryResponseCache, RateLimitedModel, RateLimiter,
    RecordingModel, ReplayModel, RetryModel, RetryPolicy, RouterModel,
};
use ai_services::memory::{MemoryId, MessageWindowChatMemory};
use ai_services::message::ToolCall;
use ai_services::model::{ChatModel, ChatRequest, TokenUsage};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{AnswerStream, ErrorKind, Response, StreamEvent, ai_service, tools};
use serde_json::json;

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
