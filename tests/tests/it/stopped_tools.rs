//! Tools that were stopped by their time limit or by a panic, and may have taken effect.

use crate::desk::{Agent, AgentService, call, calling, results};
use ai_services::approval::{ApprovalHandler, Decision, PendingCall};
use ai_services::event::{Call, Event};
use ai_services::memory::{InMemoryChatMemoryStore, MessageWindowChatMemory};
use ai_services::model::ToolSpecification;
use ai_services::schemars::json_schema;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::tool::{
    CallState, Effect, Tool, ToolError, ToolErrorPolicy, ToolInput, ToolOutput, Verifier,
};
use ai_services::{
    DurableTurns, ErrorKind, InvocationContext, Response, UnfinishedTurn, ai_service, async_trait,
};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const STOPPED: &str = "the tool took longer than 2s and was stopped";
const UNKNOWN: &str = "The call may or may not have taken effect, and was not repeated.";
const CHECK: &str = "Do not repeat it without a check that it had no effect.";
const SAME_KEY: &str = "A call with the same arguments has no second effect.";

/// The reason why a tool does not end by itself.
#[derive(Clone, Copy)]
enum End {
    Hangs,
    Panics,
    LosesItsAnswer,
}

/// Returns a tool that never has a result.
fn pay(end: End, effect: Effect) -> Tool {
    let order = json_schema!({ "type": "object", "properties": { "order": { "type": "string" } } });
    let specification = ToolSpecification::new("pay", "Pays.").with_parameters(order);
    let run = move |_: ToolInput| async move {
        match end {
            End::Hangs => std::future::pending().await,
            End::Panics => panic!("SECRET"),
            End::LosesItsAnswer => Err(ToolError::outcome_unknown("the connection broke")),
        }
    };
    Tool::from_fn(specification, run).with_timeout(Duration::from_secs(2)).with_effect(effect)
}

fn verifiable(state: Result<CallState, &'static str>) -> Effect {
    Effect::Verifiable(Verifier::from_fn(move |_| {
        let state = state.clone();
        async move { state.map_err(ToolError::new) }
    }))
}

fn paying() -> ScriptedChatModel {
    calling([call("1", "pay", json!({"order": "A7"}))])
}

/// Returns the result for the model, and the mark of the execution.
async fn told(tool: Tool, policy: ToolErrorPolicy) -> (String, bool) {
    let model = paying();
    let agent = AgentService::builder().chat_model(model.clone()).tools(tool);
    let response = agent.tool_error_policy(policy).build().unwrap().chat("go").await.unwrap();
    let [(text, _)] = &results(&model.messages_of(1))[..] else { panic!("not one result") };
    (text.clone(), response.tool_executions[0].has_unknown_outcome())
}

async fn told_to_model(tool: Tool) -> (String, bool) {
    told(tool, ToolErrorPolicy::SendToModel).await
}

#[tokio::test(start_paused = true)]
async fn stopped_call_of_a_tool_that_only_reads_had_no_effect() {
    let (text, is_unknown) = told_to_model(pay(End::Hangs, Effect::ReadOnly)).await;
    assert_eq!((text.as_str(), is_unknown), (STOPPED, false));
    let (text, is_unknown) = told_to_model(pay(End::Panics, Effect::ReadOnly)).await;
    assert_eq!((text.as_str(), is_unknown), ("the tool failed", false));
}

#[tokio::test(start_paused = true)]
async fn stopped_call_has_an_unknown_outcome() {
    for effect in [Effect::AtMostOnce, Effect::Idempotent, verifiable(Ok(CallState::Unknown))] {
        let (text, is_unknown) = told_to_model(pay(End::Hangs, effect)).await;
        assert_eq!(text, format!("outcome unknown: {STOPPED}. {UNKNOWN} {CHECK}"));
        assert!(is_unknown);
    }
}

#[tokio::test]
async fn panicked_call_has_an_unknown_outcome_without_the_text_of_the_panic() {
    let (text, is_unknown) = told_to_model(pay(End::Panics, Effect::AtMostOnce)).await;
    assert_eq!(text, format!("outcome unknown: the tool failed. {UNKNOWN} {CHECK}"));
    assert!(is_unknown);
}

#[tokio::test]
async fn lost_answer_of_a_tool_that_only_reads_is_an_error() {
    let (text, is_unknown) = told_to_model(pay(End::LosesItsAnswer, Effect::ReadOnly)).await;
    assert_eq!((text.as_str(), is_unknown), ("the connection broke", false));
}

#[tokio::test]
async fn lost_answer_has_an_unknown_outcome() {
    for effect in [Effect::AtMostOnce, Effect::Idempotent, verifiable(Ok(CallState::Unknown))] {
        let (text, is_unknown) = told_to_model(pay(End::LosesItsAnswer, effect)).await;
        assert_eq!(text, format!("outcome unknown: the connection broke. {UNKNOWN} {CHECK}"));
        assert!(is_unknown);
    }
    let conceal = told(pay(End::LosesItsAnswer, Effect::AtMostOnce), ToolErrorPolicy::Conceal);
    let (text, is_unknown) = conceal.await;
    assert_eq!(text, format!("outcome unknown: the tool failed. {UNKNOWN} {CHECK}"));
    assert!(is_unknown);
}

#[tokio::test(start_paused = true)]
async fn stopped_call_may_be_repeated_if_a_repetition_has_the_same_key() {
    let by_order = pay(End::Hangs, Effect::Idempotent).with_key("{{order}}").unwrap();
    let (text, is_unknown) = told_to_model(by_order).await;
    assert_eq!(text, format!("outcome unknown: {STOPPED}. {UNKNOWN} {SAME_KEY}"));
    assert!(is_unknown);
    // Without an order, the call has a key of its own.
    let tool = pay(End::Hangs, Effect::Idempotent).with_key("{{order}}").unwrap();
    let model = calling([call("1", "pay", json!({}))]);
    let agent = AgentService::builder().chat_model(model.clone()).tools(tool);
    agent.build().unwrap().chat("go").await.unwrap();
    assert!(results(&model.messages_of(1))[0].0.ends_with(CHECK));
}

#[tokio::test(start_paused = true)]
async fn verifier_finds_the_outcome_of_a_stopped_call() {
    let paid = CallState::Executed(ToolOutput::text("paid"));
    for end in [End::Hangs, End::Panics, End::LosesItsAnswer] {
        let (text, is_unknown) = told_to_model(pay(end, verifiable(Ok(paid.clone())))).await;
        assert_eq!((text.as_str(), is_unknown), ("paid", false));
    }
    let (text, is_unknown) =
        told_to_model(pay(End::Hangs, verifiable(Ok(CallState::NotExecuted)))).await;
    assert_eq!(
        text,
        format!("{STOPPED}. A check found no effect of the call. It may be repeated.")
    );
    assert!(!is_unknown);
    let (text, is_unknown) = told_to_model(pay(End::Hangs, verifiable(Err("SECRET")))).await;
    assert!(text.starts_with("outcome unknown") && !text.contains("SECRET") && is_unknown);
}

#[tokio::test(start_paused = true)]
async fn concealed_reason_does_not_conceal_the_unknown_outcome() {
    let (text, is_unknown) =
        told(pay(End::Hangs, Effect::AtMostOnce), ToolErrorPolicy::Conceal).await;
    assert_eq!(text, format!("outcome unknown: the tool failed. {UNKNOWN} {CHECK}"));
    assert!(is_unknown);
}

#[tokio::test(start_paused = true)]
async fn error_of_a_stopped_call_names_the_unknown_outcome() {
    let failure = async |effect| {
        let agent = AgentService::builder()
            .chat_model(paying())
            .tools(pay(End::Hangs, effect))
            .tool_error_policy(ToolErrorPolicy::Fail);
        agent.build().unwrap().chat("go").await
    };
    for (effect, note, is_unknown) in [
        (Effect::AtMostOnce, "; the call may or may not have taken effect", true),
        (Effect::Idempotent, "; the call may or may not have taken effect", true),
        (verifiable(Ok(CallState::NotExecuted)), "; a check found no effect of the call", false),
        (Effect::ReadOnly, "", false),
    ] {
        let error = failure(effect).await.unwrap_err();
        assert_eq!(error.to_string(), format!("tool `pay` failed: {STOPPED}{note}"));
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Tool, false));
        let unfinished = error.detail::<UnfinishedTurn>().unwrap();
        assert_eq!(unfinished.tool_executions[0].has_unknown_outcome(), is_unknown);
    }
    let paid = verifiable(Ok(CallState::Executed(ToolOutput::text("paid"))));
    assert_eq!(failure(paid).await.unwrap().value, "done");
}

#[tokio::test(start_paused = true)]
async fn event_of_a_stopped_call_has_the_unknown_outcome() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let agent = AgentService::builder()
        .chat_model(paying())
        .tools(pay(End::Hangs, Effect::AtMostOnce))
        .listener(move |_: &Call<'_>, event: &Event<'_>| {
            if let Event::ToolFinished { execution } = event {
                log.lock().unwrap().push((execution.has_unknown_outcome(), execution.duration()));
            }
        });
    agent.build().unwrap().chat("go").await.unwrap();
    let seen = seen.lock().unwrap();
    let [(true, duration)] = seen[..] else { panic!("{seen:?}") };
    assert!((2000..2010).contains(&duration.as_millis()), "{duration:?}");
}

struct Editor;

#[async_trait]
impl ApprovalHandler for Editor {
    async fn decide(
        &self,
        _: &PendingCall,
        _: &InvocationContext,
    ) -> ai_services::Result<Decision> {
        Ok(Decision::Edit(r#"{"order":"B8"}"#.to_owned()))
    }
}

#[tokio::test(start_paused = true)]
async fn edited_call_keeps_its_unknown_outcome() {
    let model = paying();
    let agent = AgentService::builder()
        .chat_model(model.clone())
        .tools(pay(End::Hangs, Effect::AtMostOnce).requiring_approval())
        .approval_handler(Editor);
    let response = agent.build().unwrap().chat("go").await.unwrap();
    assert!(response.tool_executions[0].has_unknown_outcome());
    let (text, _) = &results(&model.messages_of(1))[0];
    assert!(text.starts_with("outcome unknown") && text.contains("B8"), "{text}");
}

#[ai_service]
trait Shop {
    async fn chat(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<Response<String>>;
}

fn shop(store: &InMemoryChatMemoryStore, model: &ScriptedChatModel, tool: Tool) -> ShopService {
    let store = store.clone();
    let builder = ShopService::builder().chat_model(model.clone()).tools(tool);
    let builder = builder.chat_memory_provider(move |id| {
        MessageWindowChatMemory::builder().id(id).max_messages(20).store(store.clone()).build()
    });
    builder.durable_turns(DurableTurns::new()).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn journal_has_the_unknown_outcome_of_a_stopped_call() {
    let store = InMemoryChatMemoryStore::new();
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let pay = Tool::from_fn(ToolSpecification::new("pay", "Pays."), move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        std::future::pending()
    });
    let interrupted = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([call("1", "pay", json!({}))]),
        ScriptedAnswer::error(ErrorKind::Unavailable, "the provider is overloaded"),
    ]);
    shop(&store, &interrupted, pay.clone()).chat("ann", "go").await.unwrap_err();
    let model = ScriptedChatModel::replies(["done"]);
    let turn = shop(&store, &model, pay).resume("ann").await.unwrap().unwrap();
    assert!(turn.response.tool_executions[0].has_unknown_outcome());
    let (text, _) = &results(&model.messages_of(0))[0];
    let stopped = "the tool took longer than 60s and was stopped";
    assert_eq!(text, &format!("outcome unknown: {stopped}. {UNKNOWN} {CHECK}"));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}
