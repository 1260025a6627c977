//! Budgets of calls and conversations.

use ai_services::approval::{ApprovalHandler, Decision, PendingCall};
use ai_services::memory::{
    Change, ChatMemoryStore, InMemoryChatMemoryStore, MessageWindowChatMemory,
};
use ai_services::message::{ChatMessage, ToolCall};
use ai_services::model::{
    Capabilities, Capability, ChatModel, ChatRequest, ChatResponse, Price, PriceTable, TokenUsage,
    ToolChoice,
};
use ai_services::store::sqlite::SqliteChatMemoryStore;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::tool::ToolInput;
use ai_services::{
    AnswerStream, Budget, BudgetExceeded, BudgetLimit, BudgetScope, Error, ErrorKind,
    InvocationContext, OutputStrategy, Response, Result, UnfinishedTurn, ai_service, async_trait,
    tools,
};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep};

#[ai_service]
trait Agent {
    async fn chat(&self, text: &str) -> Result<Response<String>>;

    #[budget(tokens = 15)]
    async fn glance(&self, text: &str) -> Result<String>;

    #[budget(tool_rounds = 40, tokens = 1_000_000)]
    async fn dig(&self, text: &str) -> Result<String>;

    async fn number(&self, text: &str) -> Result<u32>;

    fn stream(&self, text: &str) -> AnswerStream;
}

#[ai_service]
#[budget(running_time = "1m", cost = 9)]
trait Talk {
    async fn chat(&self, #[memory_id] user: &str, #[user_message] text: &str) -> Result<String>;
}

#[derive(Default)]
struct Desk(AtomicUsize);

#[tools]
impl Desk {
    /// Counts.
    #[tool]
    fn count(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst)
    }

    /// Uses a model that reads 100 tokens.
    #[tool]
    fn judge(&self, #[context] input: &ToolInput) {
        input.meter().add("judge", TokenUsage::new(100, 0));
    }

    /// Takes a minute.
    #[tool]
    async fn wait(&self) {
        sleep(Duration::from_secs(60)).await;
    }
}

/// An answer that calls a tool so many times, of 10 tokens.
fn calls(tool: &str, n: usize) -> ScriptedAnswer {
    ScriptedAnswer::tool_calls((0..n).map(|i| ToolCall::new(i.to_string(), tool, "{}")))
        .with_usage(TokenUsage::new(8, 2))
}

/// An answer of 10 tokens.
fn done() -> ScriptedAnswer {
    ScriptedAnswer::text("done").with_usage(TokenUsage::new(8, 2))
}

/// Every token costs 1.
fn prices() -> PriceTable {
    PriceTable::new().price("*", Price::per_million(1e6, 1e6))
}

fn agent(model: impl ChatModel + 'static, budget: Budget) -> (AgentService, Arc<Desk>) {
    let desk = Arc::new(Desk::default());
    let agent = AgentService::builder()
        .chat_model(model)
        .tools(Arc::clone(&desk))
        .price_table(prices())
        .output_strategy(OutputStrategy::Tool)
        .budget(budget)
        .build()
        .unwrap();
    (agent, desk)
}

fn limit(error: &Error) -> (BudgetScope, BudgetLimit) {
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::LimitExceeded, false), "{error}");
    let BudgetExceeded { scope, limit, .. } = *error.detail().unwrap();
    (scope, limit)
}

#[tokio::test]
async fn each_limit_is_exact() {
    let new = Budget::new;
    let table = [
        (new().model_calls(3), new().model_calls(2), BudgetLimit::ModelCalls),
        (new().tool_rounds(2), new().tool_rounds(1), BudgetLimit::ToolRounds),
        (new().tool_calls(4), new().tool_calls(3), BudgetLimit::ToolCalls),
        (new().tokens(21), new().tokens(20), BudgetLimit::Tokens),
        (new().cost(20.5), new().cost(20.0), BudgetLimit::Cost),
    ];
    for (enough, little, expected) in table {
        let script = || ScriptedChatModel::new([calls("count", 2), calls("count", 2), done()]);
        assert_eq!(agent(script(), enough).0.chat("go").await.unwrap().value, "done");
        let error = agent(script(), little).0.chat("go").await.unwrap_err();
        assert_eq!(limit(&error), (BudgetScope::Call, expected));
        assert_eq!(error.usage().and_then(TokenUsage::total), Some(20), "{expected:?}");
        assert!(error.detail::<UnfinishedTurn>().is_some_and(|it| !it.tool_executions.is_empty()));
    }
}

#[tokio::test]
async fn error_names_the_limit_and_the_amount() {
    let (agent, _) = agent(ScriptedChatModel::new([calls("count", 1)]), Budget::new().tokens(7));
    assert_eq!(
        agent.chat("go").await.unwrap_err().to_string(),
        "the budget of the call allows 7 tokens: 10 were spent, and the model calls more tools; raise \
         `Budget::tokens` if it needs more"
    );
}

#[tokio::test]
async fn no_tool_of_an_answer_with_too_many_calls_starts() {
    let model = ScriptedChatModel::new([calls("count", 1), calls("count", 3)]);
    let (agent, desk) = agent(model, Budget::new().tool_calls(3));
    assert_eq!(limit(&agent.chat("go").await.unwrap_err()).1, BudgetLimit::ToolCalls);
    assert_eq!(desk.0.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn tools_of_the_last_allowed_answer_run() {
    let model = ScriptedChatModel::new([calls("count", 1)]);
    let (agent, desk) = agent(model, Budget::new().model_calls(1));
    assert_eq!(limit(&agent.chat("go").await.unwrap_err()).1, BudgetLimit::ModelCalls);
    assert_eq!(desk.0.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn models_of_tools_count() {
    for (tokens, succeeds) in [(111, true), (110, false)] {
        let model = ScriptedChatModel::new([calls("judge", 1), done()]);
        let (agent, _) = agent(model, Budget::new().tokens(tokens));
        assert_eq!(agent.chat("go").await.is_ok(), succeeds, "{tokens}");
    }
}

#[tokio::test]
async fn repairs_count() {
    let wrong = || ScriptedAnswer::text("none").with_usage(TokenUsage::new(8, 2));
    let model = ScriptedChatModel::new([wrong()]);
    let (agent, _) = agent(model, Budget::new().model_calls(1).finish_without_tools());
    let error = agent.number("How many?").await.unwrap_err();
    assert_eq!(limit(&error).1, BudgetLimit::ModelCalls);
    assert_eq!(error.detail::<UnfinishedTurn>().unwrap().rejected_answers.len(), 1);
}

#[tokio::test]
async fn model_finishes_without_tools() {
    let new = || Budget::new().finish_without_tools();
    for budget in
        [new().tool_rounds(1), new().tool_calls(2), new().tokens(15), new().model_calls(2)]
    {
        let rounds = if budget.tokens.is_some() || budget.model_calls.is_some() { 2 } else { 1 };
        let script = (0..rounds).map(|_| calls("count", 2)).chain([done()]);
        let model = ScriptedChatModel::new(script);
        let (agent, _) = agent(model.clone(), budget);
        assert_eq!(agent.chat("go").await.unwrap().value, "done");
        let requests = model.requests();
        let (last, earlier) = requests.split_last().unwrap();
        assert_eq!(last.parameters().tool_choice, Some(ToolChoice::None), "{budget:?}");
        assert_eq!(last.tools().as_slice().len(), 3);
        assert!(earlier.iter().all(|request| request.parameters().tool_choice.is_none()));
    }
}

#[tokio::test]
async fn refused_calls_have_results_for_the_last_request() {
    let model = ScriptedChatModel::new([calls("count", 3), done()]);
    let (agent, desk) = agent(model.clone(), Budget::new().tool_calls(2).finish_without_tools());
    let response = agent.chat("go").await.unwrap();
    assert_eq!((desk.0.load(Ordering::SeqCst), response.tool_executions.len()), (0, 0));
    let messages = model.messages_of(1);
    let results: Vec<_> = messages.iter().filter(|message| message.is_tool_result()).collect();
    assert_eq!(results.len(), 3);
    assert!(results.iter().all(|result| result.text().unwrap().starts_with("not executed")));
}

#[tokio::test]
async fn model_that_calls_tools_in_its_last_request_fails() {
    let model = ScriptedChatModel::from_fn(|_, _| calls("count", 1));
    let (agent, desk) = agent(model.clone(), Budget::new().tokens(15).finish_without_tools());
    let error = agent.chat("go").await.unwrap_err();
    assert_eq!(limit(&error).1, BudgetLimit::Tokens);
    assert_eq!((model.requests().len(), desk.0.load(Ordering::SeqCst)), (3, 1));
}

#[tokio::test]
async fn last_request_of_a_typed_method_forces_the_answer_tool() {
    let answer = ToolCall::new("a", "final_answer", r#"{"value":7}"#);
    let model = ScriptedChatModel::new([calls("count", 1), ScriptedAnswer::tool_calls([answer])]);
    let (agent, _) = agent(model.clone(), Budget::new().tool_rounds(1).finish_without_tools());
    assert_eq!(agent.number("go").await.unwrap(), 7);
    let choice = model.requests()[1].parameters().tool_choice.clone();
    assert_eq!(choice, Some(ToolChoice::Tool("final_answer".into())));
}

#[tokio::test]
async fn model_that_cannot_be_kept_from_tools_gets_none_in_its_last_request() {
    let tools_of_requests = async |can| {
        let model = ScriptedChatModel::new([calls("count", 1), done()]).with_capabilities(can);
        let (agent, _) = agent(model.clone(), Budget::new().tool_rounds(1).finish_without_tools());
        agent.chat("go").await.unwrap();
        let tools: Vec<_> =
            model.requests().iter().map(|request| request.tools().as_slice().len()).collect();
        tools
    };
    let tools = Capabilities::of([Capability::Tools]);
    assert_eq!(tools_of_requests(tools).await, [3, 0]);
    assert_eq!(tools_of_requests(tools.with(Capability::ForbidTools)).await, [3, 3]);
}

#[tokio::test]
async fn stream_ends_with_the_limit() {
    let model = ScriptedChatModel::from_fn(|_, _| calls("count", 1));
    let (agent, _) = agent(model, Budget::new().tool_rounds(1));
    let error = agent.stream("go").collect().await.unwrap_err();
    assert_eq!(limit(&error).1, BudgetLimit::ToolRounds);
}

#[tokio::test]
async fn stricter_of_attribute_and_builder_counts() {
    let script = || ScriptedChatModel::new([calls("count", 1), calls("count", 1), done()]);
    let error = agent(script(), Budget::new().tokens(1_000)).0.glance("go").await.unwrap_err();
    assert_eq!(limit(&error).1, BudgetLimit::Tokens);
    let error = agent(script(), Budget::new().tokens(15)).0.dig("go").await.unwrap_err();
    assert_eq!(limit(&error).1, BudgetLimit::Tokens);
    let many =
        || ScriptedChatModel::from_fn(|n, _| if n < 40 { calls("count", 1) } else { done() });
    assert_eq!(agent(many(), Budget::new()).0.dig("go").await.unwrap(), "done");
    let error = agent(many(), Budget::new()).0.chat("go").await.unwrap_err();
    assert_eq!(limit(&error).1, BudgetLimit::ToolRounds);
}

#[test]
fn invalid_budgets_do_not_build() {
    let build = |budget, conversation| {
        let builder = AgentService::builder().chat_model(ScriptedChatModel::replies(["Hi."]));
        builder.budget(budget).conversation_budget(conversation).build().map(drop)
    };
    assert!(build(Budget::new(), Budget::new()).is_ok());
    for wrong in [
        Budget::new().cost(1.0),
        Budget::new().tokens(0),
        Budget::new().running_time(Duration::ZERO),
    ] {
        for outcome in [build(wrong, Budget::new()), build(Budget::new(), wrong)] {
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Configuration, "{wrong:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn request_under_way_is_dropped_at_the_end_of_the_running_time() {
    let model = ScriptedChatModel::new([done().after(Duration::from_secs(20))]);
    let seconds = |n| Budget::new().running_time(Duration::from_secs(n));
    let started = Instant::now();
    let error = agent(model, seconds(15)).0.chat("go").await.unwrap_err();
    assert_eq!(limit(&error).1, BudgetLimit::RunningTime);
    assert_eq!(started.elapsed().as_secs(), 15);
    let model = ScriptedChatModel::new([done().after(Duration::from_secs(20))]);
    assert!(agent(model, seconds(21)).0.chat("go").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn tool_is_stopped_at_the_end_of_the_running_time() {
    let model = ScriptedChatModel::new([calls("wait", 1), done().after(Duration::from_secs(5))]);
    let budget = Budget::new().running_time(Duration::from_secs(10)).finish_without_tools();
    let started = Instant::now();
    let response = agent(model, budget).0.chat("go").await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 15, "the last request has no limit");
    assert!(response.tool_executions[0].result().is_error());
}

/// Approves after an hour.
struct Slow;

#[async_trait]
impl ApprovalHandler for Slow {
    async fn decide(&self, _: &PendingCall, _: &InvocationContext) -> Result<Decision> {
        sleep(Duration::from_secs(3_600)).await;
        Ok(Decision::Approve)
    }
}

#[tokio::test(start_paused = true)]
async fn wait_for_approval_is_not_running_time() {
    let agent = AgentService::builder()
        .chat_model(ScriptedChatModel::new([calls("wait", 1), done()]))
        .tools(Desk::default())
        .tool_timeout(Duration::from_secs(90))
        .approval_policy(|_, _| ai_services::approval::Approval::Required)
        .approval_handler(Slow)
        .budget(Budget::new().running_time(Duration::from_secs(70)))
        .build()
        .unwrap();
    let response = agent.chat("go").await.unwrap();
    assert_eq!(response.tool_executions[0].result().text(), Some("success"));
}

/// A model during whose first answer another writer changes the conversation.
struct Interrupted {
    store: InMemoryChatMemoryStore,
    model: ScriptedChatModel,
}

#[async_trait]
impl ChatModel for Interrupted {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let response = self.model.chat(request).await?;
        if self.model.requests().len() == 1 {
            let other = vec![ChatMessage::user("Hi."), ChatMessage::ai("Hello.")];
            self.store.commit(&"ann".into(), Change::advance(None, 0..0, other)).await?;
        }
        Ok(response)
    }

    fn name(&self) -> &str {
        "interrupted"
    }
}

fn talk<S: ChatMemoryStore + Clone + 'static>(
    model: impl ChatModel + 'static,
    store: &S,
    (call, conversation): (Budget, Option<Budget>),
) -> TalkService {
    let store = store.clone();
    let builder = TalkService::builder()
        .chat_model(model)
        .price_table(PriceTable::new())
        .tools(Desk::default())
        .chat_memory_provider(move |id| {
            let window = MessageWindowChatMemory::builder().id(id).max_messages(8);
            window.store(store.clone()).build()
        })
        .budget(call);
    let builder =
        conversation.into_iter().fold(builder, |it, budget| it.conversation_budget(budget));
    builder.build().unwrap()
}

#[tokio::test]
async fn replayed_call_has_spent_its_earlier_attempts() {
    for (tokens, succeeds) in [(11, true), (10, false)] {
        let store = InMemoryChatMemoryStore::new();
        let model = ScriptedChatModel::from_fn(|_, _| done());
        let interrupted = Interrupted { store: store.clone(), model: model.clone() };
        let talk = talk(interrupted, &store, (Budget::new().tokens(tokens), None));
        let outcome = talk.chat("ann", "go").await;
        assert_eq!(outcome.is_ok(), succeeds, "{tokens}: {outcome:?}");
        assert_eq!(model.requests().len(), if succeeds { 2 } else { 1 });
    }
}

#[tokio::test]
async fn conversation_counts_its_stored_turns() {
    let store = InMemoryChatMemoryStore::new();
    let model = ScriptedChatModel::new([
        calls("count", 1),
        done(),
        ScriptedAnswer::error(ErrorKind::Unavailable, "down"),
        done(),
    ]);
    let budgets = (Budget::new(), Some(Budget::new().tokens(30)));
    let talk = talk(model.clone(), &store, budgets);
    talk.chat("ann", "one").await.unwrap();
    assert_eq!(talk.chat("ann", "fails").await.unwrap_err().kind(), ErrorKind::Unavailable);
    talk.chat("ann", "two").await.unwrap();
    let error = talk.chat("ann", "three").await.unwrap_err();
    assert_eq!(limit(&error), (BudgetScope::Conversation, BudgetLimit::Tokens));
    assert_eq!(model.requests().len(), 4, "nothing was spent");
    store.delete_messages(&"ann".into()).await.unwrap();
    assert!(talk.chat("ann", "again").await.is_err_and(|it| it.kind() == ErrorKind::Configuration));
}

#[tokio::test]
async fn conversation_budget_is_checked_during_a_call() {
    let store = InMemoryChatMemoryStore::new();
    let model = ScriptedChatModel::new([done(), calls("count", 1), done()]);
    let talk = talk(model, &store, (Budget::new(), Some(Budget::new().model_calls(2))));
    talk.chat("ann", "one").await.unwrap();
    let error = talk.chat("ann", "two").await.unwrap_err();
    assert_eq!(limit(&error), (BudgetScope::Conversation, BudgetLimit::ModelCalls));
    assert!(error.to_string().contains("the conversation allows 2 model calls: 2 were spent"));
}

#[tokio::test]
async fn conversation_whose_rounds_are_used_up_goes_on_without_tools() {
    let store = InMemoryChatMemoryStore::new();
    let model = ScriptedChatModel::new([calls("count", 1), done(), done()]);
    let conversation = Budget::new().tool_rounds(1).finish_without_tools();
    let talk = talk(model.clone(), &store, (Budget::new(), Some(conversation)));
    talk.chat("ann", "one").await.unwrap();
    talk.chat("ann", "two").await.unwrap();
    assert_eq!(model.requests()[2].parameters().tool_choice, Some(ToolChoice::None));
}

#[tokio::test]
async fn attributes_are_written_only_for_a_conversation_budget() {
    for budget in [None, Some(Budget::new().tokens(1_000))] {
        let store = InMemoryChatMemoryStore::new();
        let talk = talk(ScriptedChatModel::new([done()]), &store, (Budget::new(), budget));
        talk.chat("ann", "one").await.unwrap();
        let messages = store.get_messages(&"ann".into()).await.unwrap();
        let ChatMessage::User(user) = &messages[0] else { panic!("{messages:?}") };
        assert_eq!(user.attributes().is_some(), budget.is_some());
    }
}

#[tokio::test]
async fn conversation_budget_survives_a_restart_with_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("chat.db");
    for (number, succeeds) in [(1, true), (2, true), (3, false)] {
        let store = Arc::new(SqliteChatMemoryStore::open(&file).await.unwrap());
        let budgets = (Budget::new(), Some(Budget::new().tokens(20)));
        let talk = talk(ScriptedChatModel::new([done()]), &store, budgets);
        assert_eq!(talk.chat("ann", "go").await.is_ok(), succeeds, "{number}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn tokens_exceed_their_limit_by_at_most_one_answer(
        answers in prop::collection::vec((0_u64..50, 0_usize..4), 1..12),
        max in 1_u64..200,
        finishes: bool,
    ) {
        let largest = answers.iter().map(|(tokens, _)| *tokens).max().unwrap_or(0);
        let model = ScriptedChatModel::from_fn(move |number, _| {
            let (tokens, n) = answers.get(number).copied().unwrap_or((0, 0));
            let answer = if n == 0 { ScriptedAnswer::text("done") } else { calls("count", n) };
            answer.with_usage(TokenUsage::new(tokens, 0))
        });
        let budget = Budget::new().tokens(max);
        let budget = if finishes { budget.finish_without_tools() } else { budget };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let outcome = runtime.block_on(agent(model, budget).0.chat("go"));
        let spent = match &outcome {
            Ok(response) => response.token_usage.total(),
            Err(error) => error.usage().and_then(TokenUsage::total),
        };
        let more = if finishes { 2 * largest } else { largest };
        prop_assert!(spent.unwrap_or(0) < max + more.max(1), "{spent:?} of {max}");
    }
}
