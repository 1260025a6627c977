//! Services that are tools of other services.

use crate::desk::call;
use crate::requests::LossyStore;
use ai_services::approval::Decision;
use ai_services::memory::{ChatMemoryStore, InMemoryChatMemoryStore, MessageWindowChatMemory};
use ai_services::message::ChatMessage;
use ai_services::model::{Price, PriceTable, TokenUsage};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::tool::{Effect, Tool, ToolExecution, ToolProvider, ToolRequest};
use ai_services::{
    AnswerStream, Budget, DurableTurns, ErrorKind, InvocationContext, Outcome, Response, Result,
    ai_service, async_trait, tool,
};
use serde::Deserialize;
use serde_json::json;
use std::cell::Cell;
use std::sync::{Arc, Mutex};

#[derive(Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "read by the model only")]
struct Weather {
    city: String,
    degrees: i32,
}

#[ai_service]
trait Expert {
    /// Answers a question about the archive.
    #[tool]
    #[system_message("You are the archivist of {{company}}.")]
    async fn ask(
        &self,
        #[p("The company, by its full name.")] company: &str,
        #[user_message] question: &str,
    ) -> Result<String>;

    /// Returns the weather of a city.
    #[tool(name = "forecast", read_only)]
    #[user_message("The weather in {{city}} for {{days}} days.")]
    async fn weather(&self, city: String, #[v] days: Option<u8>) -> Result<Weather>;

    /// Tells a story.
    #[tool]
    fn tell(&self, topic: &str) -> AnswerStream;

    #[expect(dead_code, reason = "not a tool")]
    async fn private(&self, text: &str) -> Result<String>;
}

#[ai_service]
trait Supervisor {
    async fn chat(&self, text: &str) -> Result<Response<String>>;
}

fn expert(model: &ScriptedChatModel) -> Vec<Tool> {
    ExpertService::builder().chat_model(model.clone()).build().unwrap().into_tools()
}

fn calls(calls: &[(&str, serde_json::Value)]) -> ScriptedAnswer {
    ScriptedAnswer::tool_calls(
        calls.iter().map(|(name, arguments)| call(name, name, arguments.clone())),
    )
}

fn results(executions: &[ToolExecution]) -> Vec<&str> {
    executions.iter().map(|execution| execution.result().text().unwrap()).collect()
}

async fn supervised(inner: &ScriptedChatModel, answer: ScriptedAnswer) -> Result<Response<String>> {
    let outer = ScriptedChatModel::new([answer, ScriptedAnswer::text("done")]);
    let supervisor =
        SupervisorService::builder().chat_model(outer).tools(expert(inner)).build().unwrap();
    supervisor.chat("Go.").await
}

#[tokio::test]
async fn methods_with_tool_are_offered_with_their_schema() {
    let tools = expert(&ScriptedChatModel::replies(["unused"]));
    let names: Vec<_> = tools.iter().map(Tool::name).collect();
    assert_eq!(names, ["ask", "forecast", "tell"]);
    let ask = tools[0].specification();
    assert_eq!(&*ask.description, "Answers a question about the archive.");
    assert_eq!(
        ask.parameters.as_ref().unwrap().as_value(),
        &json!({
            "type": "object",
            "properties": {
                "company": { "type": "string", "description": "The company, by its full name." },
                "question": { "type": "string" },
            },
            "required": ["company", "question"],
        })
    );
    let forecast = tools[1].specification().parameters.as_ref().unwrap().as_value();
    assert_eq!(forecast["required"], json!(["city"]));
}

#[tokio::test]
async fn inner_model_gets_the_rendered_prompts() {
    let inner = ScriptedChatModel::replies(["In 1912."]);
    let answer = calls(&[("ask", json!({ "company": "Acme", "question": "Since when?" }))]);
    let response = supervised(&inner, answer).await.unwrap();
    let request = inner.requests().pop().unwrap();
    assert_eq!(request.system.as_ref().unwrap().text(), Some("You are the archivist of Acme."));
    assert_eq!(request.messages().last().unwrap().text(), Some("Since when?"));
    assert_eq!(results(&response.tool_executions), ["In 1912."]);
}

#[tokio::test]
async fn typed_answer_becomes_json() {
    let inner = ScriptedChatModel::replies(["```json\n{\"city\": \"Oslo\", \"degrees\": 7}\n```"]);
    let answer = calls(&[("forecast", json!({ "city": "Oslo" }))]);
    let response = supervised(&inner, answer).await.unwrap();
    assert_eq!(results(&response.tool_executions), [r#"{"city":"Oslo","degrees":7}"#]);
}

#[tokio::test]
async fn streamed_answer_is_collected() {
    let inner = ScriptedChatModel::replies(["Once upon a time."]);
    let response = supervised(&inner, calls(&[("tell", json!({ "topic": "x" }))])).await.unwrap();
    assert_eq!(results(&response.tool_executions), ["Once upon a time."]);
}

#[tokio::test]
async fn wrong_argument_is_reported_to_the_model() {
    let inner = ScriptedChatModel::replies(["unused"]);
    let answer = calls(&[("forecast", json!({ "city": "Oslo", "days": "many" }))]);
    let response = supervised(&inner, answer).await.unwrap();
    assert_eq!(results(&response.tool_executions), [r#"days: expected u8, found "many""#]);
    assert!(inner.requests().is_empty());
}

/// Refunds an order.
#[tool(requires_approval)]
fn refund(order: &str) -> String {
    REFUNDS.set(REFUNDS.get() + 1);
    format!("refunded {order}")
}

thread_local! {
    /// Number of refunds of this test, whose tools run on its thread.
    static REFUNDS: Cell<usize> = const { Cell::new(0) };
}

#[ai_service]
trait Refunds {
    /// Handles refunds.
    #[tool]
    #[system_message("The customer is {{customer}}.")]
    async fn handle(
        &self,
        #[memory_id]
        #[v]
        customer: &str,
        #[user_message] request: &str,
    ) -> Result<String>;
}

#[ai_service]
trait Desk {
    async fn chat(
        &self,
        #[memory_id] customer: &str,
        #[user_message] text: &str,
        #[context] context: &InvocationContext,
    ) -> Result<Outcome<String>>;
}

struct Models {
    outer: ScriptedChatModel,
    inner: ScriptedChatModel,
}

impl Models {
    fn new() -> Self {
        let handle = |id| call_with(id, "handle", json!({ "request": "Refund A7." }));
        Self {
            outer: ScriptedChatModel::new([handle("1"), ScriptedAnswer::text("All done.")]),
            inner: ScriptedChatModel::new([
                call_with("2", "refund", json!({ "order": "A7" })),
                ScriptedAnswer::text("A7 is refunded."),
            ]),
        }
    }

    fn services(&self, store: &InMemoryChatMemoryStore) -> (RefundsService, DeskService) {
        let memories = |store: &InMemoryChatMemoryStore| {
            let store = store.clone();
            move |id: &ai_services::memory::MemoryId| {
                MessageWindowChatMemory::builder()
                    .id(id)
                    .max_messages(20)
                    .store(store.clone())
                    .build()
            }
        };
        let refunds = RefundsService::builder()
            .chat_model(self.inner.clone())
            .tools(refund::tool())
            .chat_memory_provider(memories(store))
            .durable_turns(DurableTurns::new())
            .build()
            .unwrap();
        let desk = DeskService::builder()
            .chat_model(self.outer.clone())
            .tools(refunds.clone().into_tools())
            .chat_memory_provider(memories(store))
            .durable_turns(DurableTurns::new())
            .build()
            .unwrap();
        (refunds, desk)
    }
}

fn call_with(id: &str, name: &str, arguments: serde_json::Value) -> ScriptedAnswer {
    ScriptedAnswer::tool_calls([call(id, name, arguments)])
}

#[tokio::test]
async fn approval_of_an_inner_call_suspends_the_outer_turn() {
    let (models, store) = (Models::new(), InMemoryChatMemoryStore::new());
    let pending = {
        let (_, desk) = models.services(&store);
        let outcome = desk.chat("ann", "Refund!", &InvocationContext::new()).await.unwrap();
        let Outcome::Pending(pending) = outcome else { panic!("not suspended") };
        pending
    };
    assert_eq!((&*pending.calls[0].tool, &*pending.memory_id), ("refund", "3:ann7:Refunds"));

    // Other processes, which try to resume more often than a turn may be resumed.
    let (refunds, desk) = models.services(&store);
    for _ in 0..20 {
        let recovery = desk.recover(&store, 10).await.unwrap();
        assert_eq!(recovery.waiting, [(*pending).clone()]);
    }
    assert_eq!(desk.pending_turn("ann").await.unwrap().as_ref(), Some(&*pending));
    let entries = store.journals().unwrap().journal(&"ann".into()).await.unwrap().unwrap();
    assert_eq!(entries.records.len(), 4, "{:#?}", entries.records);

    pending.decide(&store, [Decision::Approve]).await.unwrap();
    let turn = desk.resume("ann").await.unwrap().unwrap();
    assert_eq!(turn.response.value.text(), Some("All done."));
    assert_eq!(results(&turn.response.tool_executions), ["A7 is refunded."]);
    assert_eq!(REFUNDS.get(), 1);
    assert_eq!((models.outer.unused_answers(), models.inner.unused_answers()), (0, 0));
    let inner = refunds.chat_memory(&("ann", "Refunds")).unwrap().messages().await.unwrap();
    assert_eq!(inner.len(), 4);
    let system = models.inner.requests()[0].system.clone().unwrap();
    assert_eq!(system.text(), Some("The customer is ann."));
}

#[tokio::test]
async fn inner_turn_that_was_resumed_by_itself_is_not_repeated() {
    let (models, store) = (Models::new(), InMemoryChatMemoryStore::new());
    let (refunds, desk) = models.services(&store);
    let outcome = desk.chat("ann", "Refund!", &InvocationContext::new()).await.unwrap();
    let Outcome::Pending(pending) = outcome else { panic!("not suspended") };
    pending.decide(&store, [Decision::Approve]).await.unwrap();
    refunds.resume(&("ann", "Refunds")).await.unwrap().unwrap();
    let turn = desk.resume("ann").await.unwrap().unwrap();
    assert_eq!(results(&turn.response.tool_executions), ["A7 is refunded."]);
    assert_eq!(REFUNDS.get(), 1);
}

#[tokio::test]
async fn suspended_turn_of_an_outer_call_that_is_not_durable_stays_open() {
    let (models, store) = (Models::new(), InMemoryChatMemoryStore::new());
    let (refunds, _) = models.services(&store);
    let desk = DeskService::builder()
        .chat_model(models.outer.clone())
        .tools(refunds.clone().into_tools())
        .chat_memory_provider(|id| {
            MessageWindowChatMemory::builder().id(id).max_messages(20).build()
        })
        .build()
        .unwrap();
    let outcome = desk.chat("bob", "Refund!", &InvocationContext::new()).await.unwrap();
    let Outcome::Pending(pending) = outcome else { panic!("not suspended") };
    pending.decide(&store, [Decision::deny("too late")]).await.unwrap();
    let turn = refunds.resume(&("bob", "Refunds")).await.unwrap().unwrap();
    assert_eq!(turn.response.value.text(), Some("A7 is refunded."));
}

#[tokio::test]
async fn outer_call_without_a_memory_id_cannot_call_a_method_with_one() {
    let (models, store) = (Models::new(), InMemoryChatMemoryStore::new());
    let (refunds, _) = models.services(&store);
    let supervisor = SupervisorService::builder()
        .chat_model(models.outer.clone())
        .tools(refunds.into_tools())
        .build()
        .unwrap();
    let error = supervisor.chat("Refund!").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tool);
    assert!(error.to_string().contains("`handle` of `Refunds` requires a memory id"), "{error}");
}

#[tokio::test]
async fn effect_follows_from_the_service() {
    let (models, store) = (Models::new(), InMemoryChatMemoryStore::new());
    let (refunds, _) = models.services(&store);
    assert!(matches!(refunds.into_tools()[0].effect(), Effect::Idempotent));
    let tools = expert(&ScriptedChatModel::replies(["unused"]));
    assert!(matches!(tools[0].effect(), Effect::ReadOnly));
    let with_tools = ExpertService::builder()
        .chat_model(ScriptedChatModel::replies(["unused"]))
        .tools(refund::tool())
        .approval_policy(|_, _| ai_services::approval::Approval::NotRequired)
        .durable_turns(DurableTurns::new())
        .build()
        .unwrap();
    assert!(matches!(with_tools.into_tools()[0].effect(), Effect::AtMostOnce));
}

#[tokio::test]
async fn usage_and_cost_of_inner_calls_count() {
    let reply = ScriptedAnswer::text("In 1912.").with_usage(TokenUsage::new(100, 10));
    let inner = ScriptedChatModel::new([reply]);
    let ask = calls(&[("ask", json!({ "company": "Acme", "question": "?" }))]);
    let outer = ScriptedChatModel::new([
        ask.with_usage(TokenUsage::new(5, 1)),
        ScriptedAnswer::text("done").with_usage(TokenUsage::new(7, 2)),
    ]);
    let supervisor = SupervisorService::builder()
        .chat_model(outer)
        .tools(expert(&inner))
        .price_table(PriceTable::new().price("*", Price::per_million(1_000_000.0, 0.0)))
        .build()
        .unwrap();
    let response = supervisor.chat("Go.").await.unwrap();
    assert_eq!((response.token_usage.input, response.token_usage.output), (Some(112), Some(13)));
    assert_eq!(response.cost.unwrap().to_string(), "112");
}

#[tokio::test]
async fn nested_call_checks_the_budget_around_it() {
    // Each answer of the inner model calls a tool again, for 100 tokens.
    let inner = ScriptedChatModel::from_fn(|_, _| {
        call_with("1", "count", json!({})).with_usage(TokenUsage::new(100, 0))
    });
    let expert =
        ExpertService::builder().chat_model(inner.clone()).tools(count::tool()).build().unwrap();
    let ask = json!({ "company": "Acme", "question": "?" });
    let outer = ScriptedChatModel::new([
        call_with("1", "ask", ask).with_usage(TokenUsage::new(50, 0)),
        ScriptedAnswer::text("unused"),
    ]);
    let supervisor = SupervisorService::builder()
        .chat_model(outer.clone())
        .tools(expert.into_tools())
        .budget(Budget::new().tokens(300))
        .build()
        .unwrap();
    let error = supervisor.chat("Go.").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert_eq!(inner.requests().len(), 3);
    assert_eq!(error.usage().unwrap().input, Some(350));
    assert_eq!(outer.requests().len(), 1);
}

/// Counts.
#[tool(read_only)]
fn count() -> u32 {
    1
}

/// Offers the tools of a service to the service itself.
#[derive(Clone, Default)]
struct Cycle(Arc<Mutex<Vec<Tool>>>);

#[async_trait]
impl ToolProvider for Cycle {
    async fn tools(&self, _: &ToolRequest<'_>) -> Result<Vec<Tool>> {
        Ok(self.0.lock().unwrap().clone())
    }
}

#[tokio::test]
async fn cycle_ends_at_the_largest_depth() {
    let model = ScriptedChatModel::from_fn(|_, _| {
        call_with("1", "ask", json!({ "company": "Acme", "question": "?" }))
    });
    let cycle = Cycle::default();
    let service = ExpertService::builder()
        .chat_model(model.clone())
        .tool_provider(cycle.clone())
        .max_nesting(3)
        .build()
        .unwrap();
    *cycle.0.lock().unwrap() = service.clone().into_tools();
    let error = service.ask("Acme", "?").await.unwrap_err();
    assert!(
        error.to_string().contains("more than 3 deep: Expert -> Expert -> Expert -> Expert"),
        "{error}"
    );
    assert_eq!(model.requests().len(), 4);
}

#[tokio::test]
async fn inner_failure_is_concealed_from_the_model() {
    let inner =
        ScriptedChatModel::new([ScriptedAnswer::error(ErrorKind::Authentication, "key 7 refused")]);
    let answer = calls(&[("ask", json!({ "company": "Acme", "question": "?" }))]);
    let response = supervised(&inner, answer).await.unwrap();
    assert_eq!(results(&response.tool_executions), ["the tool failed"]);
}

#[tokio::test]
async fn inner_commit_with_an_unknown_outcome_is_an_unknown_outcome_of_the_call() {
    let (models, store) = (Models::new(), LossyStore::losing(1));
    let inner = ScriptedChatModel::replies(["A7 is refunded."]);
    let refunds = RefundsService::builder()
        .chat_model(inner)
        .chat_memory_provider(move |id| {
            let memory = MessageWindowChatMemory::builder().id(id).max_messages(20);
            memory.store(store.clone()).build()
        })
        .build()
        .unwrap();
    let desk = DeskService::builder()
        .chat_model(models.outer.clone())
        .tools(refunds.into_tools())
        .chat_memory_provider(|id| {
            MessageWindowChatMemory::builder().id(id).max_messages(20).build()
        })
        .build()
        .unwrap();
    desk.chat("ann", "Refund!", &InvocationContext::new()).await.unwrap();
    let messages = models.outer.messages_of(1);
    let result = messages.iter().find_map(|message| match message {
        ChatMessage::ToolResult(result) => Some(result),
        _ => None,
    });
    let result = result.unwrap();
    assert!(result.is_error());
    let text = result.text().unwrap();
    assert!(text.starts_with("outcome unknown: the end of the call was not confirmed"), "{text}");
    assert!(!text.contains("connection"), "{text}");
}
