//! Limits of a turn: checked before tools run, reported with the tools that ran.

use ai_services::message::ToolCall;
use ai_services::model::TokenUsage;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{Budget, Error, ErrorKind, UnfinishedTurn, ai_service, tools};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[ai_service]
trait Agent {
    async fn chat(&self, text: &str) -> ai_services::Result<String>;
}

#[derive(Default)]
struct Counter(AtomicUsize);

#[tools]
impl Counter {
    /// Counts.
    #[tool]
    fn count(&self, text: Option<String>) -> String {
        self.0.fetch_add(1, Ordering::SeqCst);
        text.unwrap_or_default()
    }
}

fn calls(n: usize, arguments: &str) -> ScriptedAnswer {
    ScriptedAnswer::tool_calls((0..n).map(|i| ToolCall::new(i.to_string(), "count", arguments)))
        .with_usage(TokenUsage::new(1, 1))
}

async fn outcome(model: ScriptedChatModel) -> (Result<String, Error>, usize) {
    let counter = Arc::new(Counter::default());
    let agent = AgentService::builder()
        .chat_model(model)
        .tools(Arc::clone(&counter))
        .budget(Budget::new().tool_rounds(2))
        .max_tool_calls_per_answer(3)
        .max_tool_argument_bytes(20)
        .max_tool_result_bytes(8)
        .build()
        .unwrap();
    let outcome = agent.chat("go").await;
    (outcome, counter.0.load(Ordering::SeqCst))
}

#[tokio::test]
async fn exactly_the_allowed_rounds_succeed() {
    let model =
        ScriptedChatModel::new([calls(1, "{}"), calls(1, "{}"), ScriptedAnswer::text("done")]);
    let (outcome, ran) = outcome(model).await;
    assert_eq!((outcome.unwrap().as_str(), ran), ("done", 2));
}

#[tokio::test]
async fn one_round_too_many_is_an_error_with_the_executions() {
    let (outcome, ran) = outcome(ScriptedChatModel::from_fn(|_, _| calls(1, "{}"))).await;
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert_eq!(error.usage(), Some(&TokenUsage::new(3, 3)));
    let report = error.detail::<UnfinishedTurn>().unwrap();
    assert_eq!((ran, report.tool_executions.len(), report.intermediate_responses.len()), (2, 2, 2));
}

#[tokio::test]
async fn too_many_parallel_calls_run_no_tool() {
    let (outcome, ran) = outcome(ScriptedChatModel::new([calls(4, "{}")])).await;
    let error = outcome.unwrap_err();
    assert_eq!((error.kind(), ran), (ErrorKind::LimitExceeded, 0));
    assert_eq!(error.usage(), Some(&TokenUsage::new(1, 1)));
}

#[tokio::test]
async fn too_large_arguments_run_no_tool() {
    let (outcome, ran) =
        outcome(ScriptedChatModel::new([calls(1, r#"{"text":"0123456789"}"#)])).await;
    assert_eq!((outcome.unwrap_err().kind(), ran), (ErrorKind::LimitExceeded, 0));
}

#[tokio::test]
async fn large_result_fails_the_call() {
    let (outcome, ran) =
        outcome(ScriptedChatModel::new([calls(1, r#"{"text":"123456789"}"#)])).await;
    let error = outcome.unwrap_err();
    assert_eq!((error.kind(), ran), (ErrorKind::LimitExceeded, 1));
    assert_eq!(error.to_string(), "tool `count` returned 9 bytes; at most 8 are allowed");
}
