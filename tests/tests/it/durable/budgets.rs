//! Budgets of turns that are resumed.

use super::process::{NEVER, World};
use ai_services::approval::Decision;
use ai_services::memory::{InMemoryChatMemoryStore, MessageWindowChatMemory, TurnJournals};
use ai_services::message::ToolCall;
use ai_services::model::TokenUsage;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::tool::{ToolInput, ToolSet};
use ai_services::{
    Budget, BudgetExceeded, BudgetLimit, DurableTurns, Error, Outcome, Result, ai_service, tools,
};
use ai_services_tests::durable::till::Till;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

fn limit(error: &Error) -> BudgetLimit {
    error.detail::<BudgetExceeded>().unwrap_or_else(|| panic!("{error}")).limit
}

/// Runs a turn of three rounds until a process ends after the second one, and resumes it. Each answer has 11 tokens.
async fn resumed(budget: Budget) -> Result<u64> {
    let world = World { budget, ..World::default() };
    let process = world.start_until("after note", DurableTurns::new());
    assert!(process.run(process.till.handle("ann", "order-1")).await.is_none());
    let resumed = world.start(NEVER).till.resume("ann").await?.unwrap();
    Ok(resumed.response.token_usage.total().unwrap())
}

#[tokio::test]
async fn resumed_turn_has_spent_what_its_process_had_spent() {
    let new = Budget::new;
    let table = [
        (new().tokens(34), new().tokens(33), BudgetLimit::Tokens),
        (new().cost(34.0), new().cost(33.0), BudgetLimit::Cost),
        (new().model_calls(4), new().model_calls(3), BudgetLimit::ModelCalls),
        (new().tool_rounds(3), new().tool_rounds(2), BudgetLimit::ToolRounds),
        (new().tool_calls(6), new().tool_calls(5), BudgetLimit::ToolCalls),
    ];
    for (enough, little, expected) in table {
        assert_eq!(resumed(enough).await.unwrap(), 4 * 11, "{enough:?}");
        assert_eq!(limit(&resumed(little).await.unwrap_err()), expected);
    }
}

#[tokio::test]
async fn turn_that_used_up_its_budget_is_not_resumed_again() {
    let world = World { budget: Budget::new().tool_rounds(2), ..World::default() };
    let process = world.start(NEVER);
    assert_eq!(
        limit(&process.till.handle("ann", "order-1").await.unwrap_err()),
        BudgetLimit::ToolRounds
    );
    assert!(process.till.resume("ann").await.unwrap().is_none());
}

#[ai_service]
trait Clerk {
    async fn chat(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> Result<Outcome<String>>;
}

struct Desk;

#[tools]
impl Desk {
    /// Thinks for 10 s, with a model that reads 100 tokens.
    #[tool]
    async fn think(&self, #[context] input: &ToolInput) {
        sleep(Duration::from_secs(10)).await;
        input.meter().add("thinker", TokenUsage::new(100, 0));
    }

    /// Pays.
    #[tool(requires_approval)]
    async fn pay(&self) {
        sleep(Duration::from_secs(10)).await;
    }
}

fn clerk(store: &InMemoryChatMemoryStore, budget: Budget) -> ClerkService {
    let model = ScriptedChatModel::from_fn(|_, request| {
        let call = |tool| ScriptedAnswer::tool_calls([ToolCall::new("1", tool, "{}")]);
        let answer = match request.turn.len() {
            1 => call("think"),
            3 => call("pay"),
            _ => ScriptedAnswer::text("done"),
        };
        answer.with_usage(TokenUsage::new(10, 0)).after(Duration::from_secs(1))
    });
    let store = store.clone();
    ClerkService::builder()
        .chat_model(model)
        .tools(Arc::new(Desk).tools())
        .chat_memory_provider(move |id| {
            let window = MessageWindowChatMemory::builder().id(id).max_messages(20);
            window.store(store.clone()).build()
        })
        .durable_turns(DurableTurns::new())
        .budget(budget)
        .build()
        .unwrap()
}

/// Suspends a turn after 12 s, decides after a day, and resumes it for 11 s.
async fn approved_after_a_day(budget: Budget) -> Result<u64> {
    let store = InMemoryChatMemoryStore::new();
    let Outcome::Pending(pending) = clerk(&store, budget).chat("ann", "go").await? else {
        panic!("not suspended")
    };
    sleep(Duration::from_secs(24 * 60 * 60)).await;
    pending.decide(&store, [Decision::Approve]).await?;
    let started = Instant::now();
    let turn = clerk(&store, budget).resume("ann").await?.unwrap();
    assert_eq!(started.elapsed().as_secs(), 11);
    Ok(turn.response.token_usage.total().unwrap())
}

#[tokio::test(start_paused = true)]
async fn suspension_is_not_running_time() {
    let seconds = |n| Budget::new().running_time(Duration::from_secs(n));
    assert!(approved_after_a_day(seconds(24)).await.is_ok());
    let error = approved_after_a_day(seconds(22)).await.unwrap_err();
    assert_eq!(limit(&error), BudgetLimit::RunningTime);
}

#[tokio::test(start_paused = true)]
async fn models_of_recorded_tools_count_once() {
    assert_eq!(approved_after_a_day(Budget::new().tokens(121)).await.unwrap(), 130);
    let error = approved_after_a_day(Budget::new().tokens(120)).await.unwrap_err();
    assert_eq!(limit(&error), BudgetLimit::Tokens);
}

#[tokio::test(start_paused = true)]
async fn journal_without_amounts_is_resumed() {
    let store = InMemoryChatMemoryStore::new();
    clerk(&store, Budget::new()).chat("ann", "go").await.unwrap();
    let id = "ann".into();
    let journal = store.journal(&id).await.unwrap().unwrap();
    store.discard(&id, journal.position()).await.unwrap();
    let without = |record: &String| {
        let mut record: serde_json::Value = serde_json::from_str(record).unwrap();
        record.as_object_mut().unwrap().remove("spent");
        record.to_string()
    };
    let records: Vec<String> = journal.records.iter().map(without).collect();
    assert_ne!(records, journal.records);
    let start = ai_services::memory::JournalPosition::start(journal.position().turn);
    store.append(&id, start, &records, None).await.unwrap();
    let clerk = clerk(&store, Budget::new());
    let pending = clerk.pending_turn("ann").await.unwrap().unwrap();
    pending.decide(&store, [Decision::Approve]).await.unwrap();
    let turn = clerk.resume("ann").await.unwrap().unwrap();
    assert_eq!(turn.response.token_usage.total(), Some(30));
}
