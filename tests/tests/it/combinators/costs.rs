//! Costs of calls to an AI service.

use super::{costly, failing};
use ai_services::combinators::{CachedModel, FallbackModel, InMemoryResponseCache};
use ai_services::message::{AiMessage, ToolCall};
use ai_services::model::{ChatResponse, IncurredCost, Price, PriceTable, TokenUsage};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{AnswerStream, ErrorKind, Response, ai_service, tool};

#[ai_service]
trait Assistant {
    async fn chat(&self, text: &str) -> ai_services::Result<Response<String>>;

    async fn count(&self, text: &str) -> ai_services::Result<Response<u32>>;

    fn stream(&self, text: &str) -> AnswerStream;
}

/// Tells the time.
#[tool]
fn clock() -> &'static str {
    "noon"
}

/// Prices of 1 and 2 currency units per million tokens of input and output for `scripted`, ten times that for
/// others.
fn prices() -> PriceTable {
    PriceTable::new()
        .price("scripted", Price::per_million(1.0, 2.0))
        .price("other-*", Price::per_million(10.0, 20.0))
}

fn named(model: &str, input: u64, output: u64) -> ScriptedAnswer {
    let mut response = ChatResponse::new(AiMessage::new("done"));
    response.model = Some(model.into());
    response.with_usage(TokenUsage::new(input, output)).into()
}

fn calling(input: u64, output: u64) -> ScriptedAnswer {
    ScriptedAnswer::tool_calls([ToolCall::new("1", "clock", "{}")])
        .with_usage(TokenUsage::new(input, output))
}

fn assistant(model: impl ai_services::model::ChatModel + 'static) -> AssistantService {
    AssistantService::builder()
        .chat_model(model)
        .tools(clock::tool())
        .price_table(prices())
        .build()
        .unwrap()
}

#[tokio::test]
async fn cost_is_the_sum_of_all_models_of_a_turn() {
    let script = || ScriptedChatModel::new([calling(100, 10), named("other-1", 50, 5)]);
    let response = assistant(script()).chat("x").await.unwrap();
    let cost = response.cost.unwrap();
    assert_eq!(cost.parts(), (100 + 2 * 10 + 10 * 50 + 20 * 5) * 1_000_000);
    assert!(cost.is_complete());
    let streamed = assistant(script()).stream("x").collect().await.unwrap();
    assert_eq!(streamed.cost, Some(cost));
}

#[tokio::test]
async fn cost_is_none_without_a_price_table() {
    let script = ScriptedChatModel::new([named("other-1", 50, 5)]);
    let assistant = AssistantService::builder().chat_model(script).build().unwrap();
    assert_eq!(assistant.chat("x").await.unwrap().cost, None);
}

#[tokio::test]
async fn calls_without_price_or_usage_are_counted() {
    let script = ScriptedChatModel::new([calling(100, 10), named("unknown", 50, 5)]);
    let cost = assistant(script).chat("x").await.unwrap().cost.unwrap();
    assert_eq!((cost.parts(), cost.unpriced_calls()), (120_000_000, 1));
    let script = ScriptedChatModel::replies(["no usage"]);
    assert!(!assistant(script).chat("x").await.unwrap().cost.unwrap().is_complete());
}

#[tokio::test]
async fn repairs_are_charged() {
    let wrong = ScriptedAnswer::text("many").with_usage(TokenUsage::new(10, 0));
    let right = ScriptedAnswer::text("7").with_usage(TokenUsage::new(20, 0));
    let script = ScriptedChatModel::new([wrong, right]);
    let response = assistant(script).count("x").await.unwrap();
    assert_eq!(response.cost.unwrap().parts(), 30_000_000);
}

#[tokio::test]
async fn failed_attempts_are_charged() {
    let first = ScriptedChatModel::new([costly(ErrorKind::Timeout, 100)]);
    let second = ScriptedChatModel::new([named("other-1", 10, 0)]);
    let model = FallbackModel::builder().model(first).model(second).build().unwrap();
    let response = assistant(model).chat("x").await.unwrap();
    assert_eq!(response.cost.unwrap().parts(), (100 + 10 * 10) * 1_000_000);
}

#[tokio::test]
async fn cached_answers_are_free() {
    let script =
        ScriptedChatModel::new([ScriptedAnswer::text("once").with_usage(TokenUsage::new(10, 0))]);
    let assistant = assistant(CachedModel::new(script, InMemoryResponseCache::new()));
    assert_eq!(assistant.chat("x").await.unwrap().cost.unwrap().parts(), 10_000_000);
    let cost = assistant.chat("x").await.unwrap().cost.unwrap();
    assert_eq!((cost.parts(), cost.is_complete()), (0, true));
}

#[tokio::test]
async fn error_contains_the_incurred_cost() {
    let script = ScriptedChatModel::new([calling(100, 0), costly(ErrorKind::Timeout, 7)]);
    let error = assistant(script).chat("x").await.unwrap_err();
    assert_eq!(error.usage(), Some(&TokenUsage::new(107, 0)));
    assert_eq!(error.detail::<IncurredCost>().unwrap().cost.parts(), 107_000_000);
    assert!(error.detail::<ai_services::UnfinishedTurn>().is_some());
    let both = FallbackModel::builder()
        .model(ScriptedChatModel::new([costly(ErrorKind::Timeout, 1)]))
        .model(ScriptedChatModel::new([failing(ErrorKind::Timeout)]))
        .build()
        .unwrap();
    let error = assistant(both).chat("x").await.unwrap_err();
    assert_eq!(error.detail::<IncurredCost>().unwrap().cost.parts(), 1_000_000);
}
