//! A service with a tool that needs approval and one that asks a question, and an endpoint on which a manager decides.
//!
//! The message `refund A B` calls the first tool for both orders in one answer, and `size A` the second one. `count A`
//! returns the number of refunds of the order.

use ai_services::approval::Decision;
use ai_services::memory::{InMemoryChatMemoryStore, MemoryId, MessageWindowChatMemory, ToMemoryId};
use ai_services::message::{AiMessage, ChatMessage, ToolCall};
use ai_services::model::{ChatRequest, ChatResponse, FinishReason, TokenUsage, ToolSpecification};
use ai_services::serve::ClientDecisions;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::tool::{Tool, ToolError, ToolInput, ToolOutput};
use ai_services::{AiService, AnswerStream, DurableTurns, ErrorKind, ai_service, tools};
use ai_services_core::approval::{Awaited, Elicitation, ElicitationKind, NextAttempt, Suspension};
use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

#[ai_service]
pub(crate) trait Shop {
    fn chat(
        &self,
        #[memory_id] conversation: &MemoryId,
        #[user_message] text: &str,
    ) -> AnswerStream;
}

/// The number of refunds of each order.
#[derive(Clone, Default)]
struct Ledger(Arc<Mutex<BTreeMap<String, usize>>>);

#[tools]
impl Ledger {
    /// Refunds an order.
    #[tool(requires_approval)]
    fn refund(&self, order: String) -> String {
        let text = format!("refunded {order}");
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(order).or_default() += 1;
        text
    }
}

impl Ledger {
    fn count(&self, order: &str) -> usize {
        let refunds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        refunds.get(order).copied().unwrap_or_default()
    }

    /// Answers the last message of the user.
    fn play(&self, request: &ChatRequest) -> ScriptedAnswer {
        let messages: Vec<&ChatMessage> = request.messages().collect();
        let position = messages.iter().rposition(|message| message.is_user()).unwrap_or_default();
        let (_, now) = messages.split_at(position);
        let text = now.first().and_then(|message| message.text()).unwrap_or_default();
        match (text.split_once(' '), now.len()) {
            (Some(("refund", orders)), 1) => {
                calls("refund", orders.split(' ').map(|order| json!({ "order": order })))
            }
            (Some(("size", _)), 1) => calls("size", [json!({})]),
            (Some(("count", order)), _) => ScriptedAnswer::text(self.count(order).to_string()),
            _ => results(now),
        }
    }
}

/// Calls a tool with each of these arguments. All calls have one id, as those of some providers.
fn calls(tool: &str, arguments: impl IntoIterator<Item = Value>) -> ScriptedAnswer {
    let call = |arguments: Value| ToolCall::new("call_0", tool, arguments.to_string());
    let calls = arguments.into_iter().map(call);
    let message = AiMessage::builder().text("Let me see.").tool_calls(calls).build();
    let answer = ChatResponse::new(message).with_finish_reason(FinishReason::ToolExecution);
    ScriptedAnswer::from(answer.with_usage(TokenUsage::new(10, 5))).chunked(3)
}

/// A tool that asks the user for a size.
fn size() -> Tool {
    let run = |input: ToolInput| async move {
        match input.continuation() {
            Some(continued) => {
                let answers = serde_json::to_string(&continued.answers);
                Ok(ToolOutput::text(answers.unwrap_or_default()))
            }
            None => Err(ToolError::suspended(Suspension::Awaits(Awaited {
                elicitations: vec![Elicitation::new("shop", "Which size?", size_form())],
                state: Value::Null,
                next: NextAttempt::Acts,
                not_before: 0,
            }))),
        }
    };
    Tool::from_fn(ToolSpecification::new("size", "Asks for a size."), run).suspending()
}

fn size_form() -> ElicitationKind {
    let schema = json!({
        "type": "object",
        "properties": { "size": { "type": "integer", "minimum": 1 } },
        "required": ["size"],
    });
    ElicitationKind::Form { schema }
}

/// Repeats the results of the tools.
fn results(now: &[&ChatMessage]) -> ScriptedAnswer {
    let results: Vec<_> = now.iter().skip(2).filter_map(|message| message.text()).collect();
    let text = format!("Results: {}", results.join("; "));
    ScriptedAnswer::text(text).chunked(3).with_usage(TokenUsage::new(20, 6))
}

/// Returns the service, the access of its clients to turns that wait, and the endpoint of the manager.
pub(crate) fn shop() -> ai_services::Result<(ShopService, ClientDecisions, Router)> {
    let (ledger, store) = (Ledger::default(), InMemoryChatMemoryStore::new());
    let (model, memories) = (ledger.clone(), store.clone());
    let shop = ShopService::builder()
        .chat_model(ScriptedChatModel::from_fn(move |_, request| model.play(request)))
        .tools(ledger)
        .tools(size())
        .chat_memory_provider(move |id| {
            let window = MessageWindowChatMemory::builder().id(id).max_messages(100);
            window.store(memories.clone()).build()
        })
        .durable_turns(DurableTurns::new())
        .build()?;
    let decisions = ClientDecisions::new(AiService::clone(&shop), store.clone());
    let manager = Router::new()
        .route("/decide/{principal}/{conversation}/{decision}", post(decide))
        .with_state((AiService::clone(&shop), store));
    Ok((shop, decisions, manager))
}

/// Decides about all calls of a turn, and resumes it. Returns 404 if no turn waits.
async fn decide(
    State((service, store)): State<(AiService, InMemoryChatMemoryStore)>,
    Path((principal, conversation, decision)): Path<(String, String, String)>,
    headers: HeaderMap,
) -> Result<(), StatusCode> {
    if headers.get("authorization").is_none_or(|token| token != "Bearer manager") {
        return Err(StatusCode::FORBIDDEN);
    }
    let id = (principal.as_str(), conversation.as_str()).to_memory_id();
    let status = |error: ai_services::Error| match error.kind() {
        ErrorKind::Conflict => StatusCode::CONFLICT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let pending = service.pending_turn(&id).await.map_err(status)?;
    let pending = pending.ok_or(StatusCode::NOT_FOUND)?;
    let decision = match &*decision {
        "approve" => Decision::Approve,
        _ => Decision::deny("the manager refused"),
    };
    let decisions = vec![decision; pending.calls.len()];
    pending.decide(&store, decisions).await.map_err(status)?;
    service.resume(&id).await.map(drop).map_err(status)
}
