//! A service with durable turns whose model calls one tool.

use crate::mortal_store::{Life, MortalStore};
use ai_services::approval::{Decision, ElicitationAnswer, PendingTurn, WaitsFor};
use ai_services::mcp::McpTools;
use ai_services::memory::{ChatMemoryStore, InMemoryChatMemoryStore, MessageWindowChatMemory};
use ai_services::message::{ChatMessage, ToolCall, ToolResult};
use ai_services::store::sqlite::SqliteChatMemoryStore;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{DurableTurns, Outcome, Result, ai_service};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

#[ai_service]
pub(crate) trait Booking {
    async fn chat(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> Result<Outcome<String>>;
}

/// The things that outlive a process.
pub(crate) struct World {
    pub(crate) store: Arc<dyn ChatMemoryStore>,
    pub(crate) tools: McpTools,
    /// The tool that the model calls.
    tool: &'static str,
    /// The number of calls in the answer of the model.
    pub(crate) calls: usize,
    _directory: Option<TempDir>,
}

/// The end of a turn.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) result: ToolResult,
    pub(crate) questions: usize,
}

impl World {
    pub(crate) fn in_memory(tools: &McpTools, tool: &'static str) -> Self {
        let store = Arc::new(InMemoryChatMemoryStore::new());
        Self { store, tools: tools.clone(), tool, calls: 1, _directory: None }
    }

    pub(crate) async fn on_sqlite(tools: &McpTools, tool: &'static str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("memory.sqlite");
        let store = Arc::new(SqliteChatMemoryStore::open(path).await.unwrap());
        Self { store, tools: tools.clone(), tool, calls: 1, _directory: Some(directory) }
    }

    /// Starts a process.
    pub(crate) fn start(&self, life: &Life) -> BookingService {
        let store = Arc::new(MortalStore { store: Arc::clone(&self.store), life: life.clone() });
        let (tool, calls) = (self.tool, self.calls);
        // Each process has a new model, which depends on the request only.
        let model = ScriptedChatModel::from_fn(move |_, request| {
            match request.turn.iter().any(|message| !message.tool_calls().is_empty()) {
                true => ScriptedAnswer::text("Done."),
                false => ScriptedAnswer::tool_calls(
                    (0..calls).map(|id| ToolCall::new(id.to_string(), tool, "{}")),
                ),
            }
        });
        BookingService::builder()
            .chat_model(model)
            .tool_provider(self.tools.clone())
            .chat_memory_provider(move |id| {
                let memory = MessageWindowChatMemory::builder().id(id).max_messages(20);
                memory.store(Arc::clone(&store)).build()
            })
            .durable_turns(DurableTurns::new())
            .build()
            .unwrap()
    }

    /// Starts a process that does not end, and begins a turn, which has to be suspended.
    pub(crate) async fn suspended(&self) -> PendingTurn {
        let service = self.start(&Life::of(usize::MAX));
        match service.chat("ann", "Book!").await.unwrap() {
            Outcome::Pending(pending) => *pending,
            Outcome::Completed(answer) => panic!("not suspended: {answer}"),
        }
    }

    /// Resumes the turn until it ends or waits for a decision.
    pub(crate) async fn resumed(&self) -> std::result::Result<ToolResult, PendingTurn> {
        let service = self.start(&Life::of(usize::MAX));
        loop {
            match service.resume("ann").await {
                Ok(Some(_)) => return Ok(self.result().await),
                Ok(None) => panic!("no turn is open"),
                Err(error) => {
                    let pending = error.detail::<PendingTurn>();
                    let pending = pending.unwrap_or_else(|| panic!("{error}")).clone();
                    if pending.calls[0].waits_for != WaitsFor::Task {
                        return Err(pending);
                    }
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
        }
    }

    /// Returns the result of the tool in the stored turn.
    pub(crate) async fn result(&self) -> ToolResult {
        let messages = self.store.get_messages(&"ann".into()).await.unwrap();
        let result = messages.into_iter().rev().find_map(|message| match message {
            ChatMessage::ToolResult(result) => Some(result),
            _ => None,
        });
        result.expect("no result is stored")
    }

    /// Handles a turn to its end. One process ends after this number of points, and others go on. Returns `None` if no
    /// process ended.
    pub(crate) async fn handle(&self, points: usize) -> Option<Ended> {
        let mut life = Life::of(points);
        let (mut questions, mut has_ended, mut is_first) = (0, false, true);
        loop {
            let service = self.start(&life);
            let step = async {
                if is_first {
                    service.chat("ann", "Book!").await.map(|outcome| match outcome {
                        Outcome::Pending(pending) => Some(*pending),
                        Outcome::Completed(_) => None,
                    })
                } else {
                    match service.resume("ann").await {
                        Err(error) if error.detail::<PendingTurn>().is_some() => {
                            Ok(error.detail::<PendingTurn>().cloned())
                        }
                        outcome => outcome.map(|_| None),
                    }
                }
            };
            let outcome = life.run(step).await;
            is_first = false;
            match outcome {
                None => {
                    has_ended = true;
                    life = Life::of(usize::MAX);
                }
                Some(Ok(Some(pending))) if pending.calls[0].waits_for == WaitsFor::Task => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                Some(Ok(Some(pending))) => {
                    questions += 1;
                    pending.decide(&*self.store, [seat("7A")]).await.unwrap();
                }
                Some(Ok(None)) if !self.is_stored().await => is_first = true,
                Some(Ok(None)) => break,
                Some(Err(error)) => panic!("point {points}: {error}"),
            }
        }
        has_ended.then_some(Ended { result: self.result().await, questions })
    }

    async fn is_stored(&self) -> bool {
        !self.store.get_messages(&"ann".into()).await.unwrap().is_empty()
    }
}

/// Returns the decision that chooses a seat.
pub(crate) fn seat(seat: &str) -> Decision {
    Decision::Respond(vec![ElicitationAnswer::Accept(json!({"seat": seat}))])
}
