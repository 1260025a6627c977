//! Tool calls that wait for approval.

use ai_services::approval::{Approval, ApprovalHandler, Decision, PendingCall, PendingTurn};
use ai_services::memory::{
    ChatMemoryStore, InMemoryChatMemoryStore, JournalPosition, MemoryId, MessageWindowChatMemory,
};
use ai_services::message::{ChatMessage, ToolCall};
use ai_services::model::ToolSpecification;
use ai_services::schemars::json_schema;
use ai_services::store::sqlite::SqliteChatMemoryStore;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::tool::{Tool, ToolInput, ToolOutput};
use ai_services::{
    AnswerStream, DurableTurns, ErrorKind, InvocationContext, Outcome, Result, StreamEvent,
    ai_service, async_trait,
};
use futures_util::future::join_all;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

#[ai_service]
trait Support {
    async fn chat(&self, #[memory_id] user: &str, #[user_message] text: &str) -> Result<String>;

    async fn ask(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> Result<Outcome<String>>;

    fn stream(&self, #[memory_id] user: &str, #[user_message] text: &str) -> AnswerStream;
}

const ARGUMENTS: &str = r#"{"order":"A7","amount":100}"#;

/// The things that outlive a process: the store, and the arguments of the refunds that were made.
struct Shop {
    store: Arc<dyn ChatMemoryStore>,
    refunds: Arc<Mutex<Vec<String>>>,
    /// The directory of the store's file.
    directory: Option<TempDir>,
}

impl Default for Shop {
    fn default() -> Self {
        let store = Arc::new(InMemoryChatMemoryStore::new());
        Self { store, refunds: Arc::default(), directory: None }
    }
}

impl Shop {
    async fn on_sqlite() -> Self {
        let directory = Some(tempfile::tempdir().unwrap());
        let mut shop = Self { directory, ..Self::default() };
        shop.restart().await;
        shop
    }

    /// Returns a shop with each store.
    async fn all() -> [Self; 2] {
        [Self::default(), Self::on_sqlite().await]
    }

    /// Opens the file again, as another process does.
    async fn restart(&mut self) {
        let path = self.directory.as_ref().unwrap().path().join("memory.sqlite");
        self.store = Arc::new(SqliteChatMemoryStore::open(path).await.unwrap());
    }

    /// Moves the clock: the only time that a waiting journal depends on comes closer by this duration.
    async fn wait(&self, duration: Duration) {
        let (journals, id) = (self.store.journals().unwrap(), MemoryId::from("ann"));
        let journal = journals.journal(&id).await.unwrap().unwrap();
        let mut records = journal.records.clone();
        let mut waiting: serde_json::Value = serde_json::from_str(records.last().unwrap()).unwrap();
        let expires = waiting["expires"].as_u64().unwrap();
        waiting["expires"] = (expires - duration.as_millis() as u64).into();
        *records.last_mut().unwrap() = waiting.to_string();
        journals.discard(&id, journal.position()).await.unwrap();
        let start = JournalPosition::start(journal.turn);
        journals.append(&id, start, &records, None).await.unwrap();
    }

    fn refund(&self, description: &str) -> Tool {
        let parameters = json_schema!({
            "type": "object",
            "properties": { "order": { "type": "string" }, "amount": { "type": "integer" } },
        });
        let specification =
            ToolSpecification::new("refund", description).with_parameters(parameters);
        let refunds = Arc::clone(&self.refunds);
        let run = move |call: ToolInput| {
            refunds.lock().unwrap().push(call.call().arguments().to_owned());
            async { Ok(ToolOutput::text("refunded")) }
        };
        Tool::from_fn(specification, run).requiring_approval()
    }

    /// Starts a process whose model calls `refund` first, and then answers with the result of the call.
    fn start(&self) -> SupportService {
        self.start_with("Refunds an order.", DurableTurns::new())
    }

    fn start_with(&self, description: &str, durable_turns: DurableTurns) -> SupportService {
        let store = Arc::clone(&self.store);
        SupportService::builder()
            .chat_model(model())
            .tools(self.refund(description))
            .chat_memory_provider(move |id| {
                let window = MessageWindowChatMemory::builder().id(id).max_messages(100);
                window.store(Arc::clone(&store)).build()
            })
            .durable_turns(durable_turns)
            .build()
            .unwrap()
    }

    /// Starts a turn that waits for approval, and returns it as its JSON form passes it on.
    async fn suspended(&self) -> PendingTurn {
        let outcome = self.start().ask("ann", "Refund A7.").await.unwrap();
        let Outcome::Pending(pending) = outcome else { panic!("{outcome:?}") };
        let json = serde_json::to_string(&pending).unwrap();
        serde_json::from_str(&json).unwrap()
    }

    fn refunds(&self) -> Vec<String> {
        self.refunds.lock().unwrap().clone()
    }

    async fn messages(&self) -> Vec<ChatMessage> {
        self.store.get_messages(&"ann".into()).await.unwrap()
    }

    /// Resumes the turn in a new process, and returns the texts of its tool result.
    async fn resume(&self) -> Vec<String> {
        let turn = self.start().resume("ann").await.unwrap().unwrap();
        let contents = turn.response.tool_executions[0].result().contents();
        contents.iter().filter_map(|content| content.text()).map(str::to_owned).collect()
    }
}

fn model() -> ScriptedChatModel {
    ScriptedChatModel::from_fn(|_, request| match request.turn.len() {
        1 => ScriptedAnswer::tool_calls([ToolCall::new("1", "refund", ARGUMENTS)]),
        _ => ScriptedAnswer::text("Done."),
    })
}

#[tokio::test]
async fn suspended_turn_is_an_outcome_an_error_or_an_event() {
    let shop = Shop::default();
    let support = shop.start();
    let error = support.chat("ann", "Refund A7.").await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Suspended, false));
    let pending = error.detail::<PendingTurn>().unwrap();
    let [call] = &pending.calls[..] else { panic!("{pending:?}") };
    assert_eq!((call.tool.as_str(), call.arguments.as_str()), ("refund", ARGUMENTS));
    assert_eq!(call.description, "Refunds an order.");
    assert_eq!(support.pending_turn("ann").await.unwrap().as_ref(), Some(pending));

    let Outcome::Pending(pending) = support.ask("bob", "Refund A7.").await.unwrap() else {
        panic!("not suspended")
    };
    assert_eq!(pending.memory_id, "bob");

    let mut stream = support.stream("cleo", "Refund A7.");
    let mut last = None;
    while let Some(event) = stream.next().await {
        last = Some(event.unwrap());
    }
    assert!(matches!(last, Some(StreamEvent::Pending(_))), "{last:?}");
    let error = support.stream("dora", "Refund A7.").collect().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Suspended);
    assert!(shop.refunds().is_empty() && shop.messages().await.is_empty());
}

#[tokio::test]
async fn approved_call_runs_once_after_restarts() {
    let shop = Shop::default();
    let pending = shop.suspended().await;
    for _ in 0..3 {
        // Nothing changes while nobody has decided.
        let support = shop.start();
        assert_eq!(support.resume("ann").await.unwrap_err().kind(), ErrorKind::Suspended);
        let recovery = support.recover(&*shop.store, 10).await.unwrap();
        assert_eq!((recovery.resumed.len(), recovery.waiting), (0, vec![pending.clone()]));
    }
    pending.decide(&*shop.store, [Decision::Approve]).await.unwrap();
    assert!(shop.refunds().is_empty(), "a decision runs nothing");
    assert_eq!(shop.resume().await, ["refunded"]);
    assert_eq!(shop.refunds(), [ARGUMENTS]);
    assert_eq!(shop.messages().await.len(), 4);
    let error = pending.decide(&*shop.store, [Decision::Approve]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
}

const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

#[tokio::test]
async fn call_is_approved_a_week_and_three_restarts_later() {
    let mut shop = Shop::on_sqlite().await;
    let pending = shop.suspended().await;
    shop.restart().await;
    shop.wait(WEEK).await;
    assert_eq!(shop.start().resume("ann").await.unwrap_err().kind(), ErrorKind::Suspended);
    // A process with neither model nor tools.
    shop.restart().await;
    pending.decide(&*shop.store, [Decision::Approve]).await.unwrap();
    shop.restart().await;
    assert_eq!(shop.resume().await, ["refunded"]);
    assert_eq!(shop.refunds(), [ARGUMENTS]);
    assert_eq!(shop.messages().await.len(), 4);
}

#[tokio::test]
async fn decision_after_the_expiry_is_refused() {
    let mut shop = Shop::on_sqlite().await;
    let pending = shop.suspended().await;
    // The default is 30 days.
    shop.wait(5 * WEEK).await;
    shop.restart().await;
    let error = pending.decide(&*shop.store, [Decision::Approve]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(shop.resume().await, ["the call was denied: the time for a decision is over"]);
    assert!(shop.refunds().is_empty());
}

#[tokio::test]
async fn next_call_finishes_a_decided_turn() {
    let shop = Shop::default();
    let pending = shop.suspended().await;
    let error = shop.start().chat("ann", "Hello?").await.unwrap_err();
    assert_eq!(error.detail::<PendingTurn>(), Some(&pending));
    pending.decide(&*shop.store, [Decision::Approve]).await.unwrap();
    // The next message needs an approval of its own.
    let error = shop.start().chat("ann", "Hello?").await.unwrap_err();
    assert_ne!(error.detail::<PendingTurn>(), Some(&pending));
    assert_eq!((shop.refunds().len(), shop.messages().await.len()), (1, 4));
}

#[tokio::test]
async fn decisions_without_the_tool_are_its_result() {
    for (decision, expected) in [
        (Decision::deny("too late"), "the call was denied: too late"),
        (Decision::Answer("refunded by hand".into()), "refunded by hand"),
    ] {
        let shop = Shop::default();
        shop.suspended().await.decide(&*shop.store, [decision]).await.unwrap();
        assert_eq!(shop.resume().await, [expected]);
        assert!(shop.refunds().is_empty());
    }
}

#[tokio::test]
async fn edited_arguments_replace_those_of_the_model() {
    let shop = Shop::default();
    let pending = shop.suspended().await;
    for invalid in ["", "[1]", "{"] {
        let decision = Decision::Edit(invalid.into());
        let error = pending.decide(&*shop.store, [decision]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{invalid}");
    }
    let edited = r#"{"order":"A7","amount":50}"#;
    pending.decide(&*shop.store, [Decision::Edit(edited.into())]).await.unwrap();
    let expected = format!("refunded\n\nThe call was approved with these arguments: {edited}");
    assert_eq!(shop.resume().await, [expected]);
    assert_eq!(shop.refunds(), [edited]);
}

#[tokio::test]
async fn one_of_64_concurrent_decisions_is_accepted() {
    for shop in Shop::all().await {
        let pending = shop.suspended().await;
        let decisions = (0..64).map(|number| {
            let decision = match number % 2 {
                0 => Decision::Approve,
                _ => Decision::deny("no"),
            };
            pending.decide(&*shop.store, [decision])
        });
        let outcomes = join_all(decisions).await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
        let errors = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        assert!(errors.map(|error| error.kind()).all(|kind| kind == ErrorKind::Conflict));
    }
}

#[tokio::test]
async fn decision_is_bound_to_every_byte_of_the_call() {
    for shop in Shop::all().await {
        let pending = shop.suspended().await;
        let mut others = Vec::new();
        for position in 0..ARGUMENTS.len() {
            let mut changed = pending.clone();
            let mut bytes = ARGUMENTS.as_bytes().to_vec();
            bytes[position] ^= 1;
            changed.calls[0].arguments = String::from_utf8(bytes).unwrap();
            others.push(changed);
        }
        let mut change = |change: fn(&mut PendingTurn)| {
            let mut changed = pending.clone();
            change(&mut changed);
            others.push(changed);
        };
        change(|pending| pending.calls[0].tool = "look_up".into());
        change(|pending| pending.calls[0].definition.push('0'));
        change(|pending| pending.memory_id = "bob".into());
        change(|pending| pending.position.push('0'));
        for other in &others {
            let error = other.decide(&*shop.store, [Decision::Approve]).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict, "{other:?}");
        }
        let error = pending.decide(&*shop.store, []).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        pending.decide(&*shop.store, [Decision::Approve]).await.unwrap();
    }
}

#[tokio::test]
async fn changed_definition_of_the_tool_needs_a_new_decision() {
    for shop in Shop::all().await {
        let pending = shop.suspended().await;
        pending.decide(&*shop.store, [Decision::Approve]).await.unwrap();
        let changed = shop.start_with("Refunds an order twice.", DurableTurns::new());
        let error = changed.resume("ann").await.unwrap_err();
        let again = error.detail::<PendingTurn>().unwrap();
        assert_eq!(again.calls[0].description, "Refunds an order twice.");
        assert!(shop.refunds().is_empty());
        again.decide(&*shop.store, [Decision::Approve]).await.unwrap();
        assert!(changed.resume("ann").await.unwrap().is_some());
        assert_eq!(shop.refunds().len(), 1);
    }
}

#[tokio::test]
async fn expired_turn_counts_as_denied() {
    let shop = Shop::default();
    let settings = DurableTurns::new().approval_expiry(Duration::ZERO);
    let support = shop.start_with("Refunds an order.", settings);
    let Outcome::Pending(pending) = support.ask("ann", "Refund A7.").await.unwrap() else {
        panic!("not suspended")
    };
    let error = pending.decide(&*shop.store, [Decision::Approve]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("the time for a decision is over"), "{error}");
    assert_eq!(shop.resume().await, ["the call was denied: the time for a decision is over"]);
    assert!(shop.refunds().is_empty());
}

/// Decides in the call.
struct Manager(Result<Decision, ErrorKind>);

#[async_trait]
impl ApprovalHandler for Manager {
    async fn decide(&self, call: &PendingCall, _: &InvocationContext) -> Result<Decision> {
        assert_eq!(call.arguments, ARGUMENTS);
        self.0.clone().map_err(|kind| ai_services::Error::new(kind, "no manager"))
    }
}

#[tokio::test]
async fn handler_decides_within_the_call() {
    let decisions = [
        (Ok(Decision::Approve), Ok("Done."), 1),
        (Ok(Decision::deny("no")), Ok("Done."), 0),
        (Err(ErrorKind::Timeout), Err(ErrorKind::Timeout), 0),
    ];
    for (decision, expected, refunds) in decisions {
        for durable in [false, true] {
            let (shop, model) = (Shop::default(), model());
            let mut builder = SupportService::builder()
                .chat_model(model.clone())
                .tools(shop.refund("Refunds an order."))
                .approval_handler(Manager(decision.clone()))
                .chat_memory_provider(|id| {
                    MessageWindowChatMemory::builder().id(id).max_messages(100).build()
                });
            if durable {
                builder = builder.durable_turns(DurableTurns::new());
            }
            let outcome = builder.build().unwrap().chat("ann", "Refund A7.").await;
            assert_eq!(outcome.as_deref().map_err(|error| error.kind()), expected);
            assert_eq!(shop.refunds().len(), refunds);
        }
    }
}

#[tokio::test]
async fn policy_takes_precedence_over_the_tool() {
    let shop = Shop::default();
    let store = Arc::clone(&shop.store);
    let support = SupportService::builder()
        .chat_model(model())
        .tools(shop.refund("Refunds an order."))
        .chat_memory_provider(move |id| {
            let window = MessageWindowChatMemory::builder().id(id).max_messages(100);
            window.store(Arc::clone(&store)).build()
        })
        .durable_turns(DurableTurns::new())
        .approval_policy(|call, _| match call.arguments().contains("\"amount\":100") {
            true => Approval::NotRequired,
            false => Approval::Required,
        })
        .build()
        .unwrap();
    assert_eq!(support.chat("ann", "Refund A7.").await.unwrap(), "Done.");
    assert_eq!(shop.refunds().len(), 1);
}

#[test]
fn approval_without_a_handler_or_a_journal_does_not_build() {
    let error = SupportService::builder()
        .chat_model(model())
        .tools(Shop::default().refund("Refunds an order."))
        .chat_memory_provider(|id| {
            MessageWindowChatMemory::builder().id(id).max_messages(100).build()
        })
        .build()
        .map(drop)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("the tool `refund` requires approval"), "{error}");
}
