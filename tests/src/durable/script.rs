//! The model: it derives each answer from the request alone.

use super::outside::{Happened, Line, Outside};
use ai_services::message::{AiMessage, ChatMessage, ToolCall};
use ai_services::model::{ChatModel, ChatRequest, ChatResponse, TokenUsage};
use ai_services::{Result, async_trait};
use std::sync::Arc;

/// The tool calls of each round.
pub const ROUNDS: [&[&str]; 3] =
    [&["look_up", "charge", "mail"], &["transfer", "note"], &["look_up"]];

/// A model that calls the tools of each round, then answers with `done` and the order.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "the outside world has nothing to show")]
pub struct ScriptedTill {
    outside: Arc<dyn Outside>,
    rounds: Vec<Vec<&'static str>>,
}

impl ScriptedTill {
    /// Creates a model that calls the tools of [`ROUNDS`].
    #[must_use]
    pub fn new(outside: Arc<dyn Outside>) -> Self {
        Self { outside, rounds: ROUNDS.iter().map(|tools| tools.to_vec()).collect() }
    }

    /// Sets the tools of each round.
    #[must_use]
    pub fn with_rounds(self, rounds: Vec<Vec<&'static str>>) -> Self {
        Self { rounds, ..self }
    }

    fn message(&self, order: &str, round: usize) -> AiMessage {
        let Some(tools) = self.rounds.get(round) else { return AiMessage::new(answer(order)) };
        let arguments = serde_json::json!({ "order": order }).to_string();
        // The ids repeat in every round, as those of some providers do.
        let call = |(index, tool): (usize, &&str)| {
            ToolCall::new(format!("call_{index}"), *tool, arguments.as_str())
        };
        AiMessage::builder().tool_calls(tools.iter().enumerate().map(call)).build()
    }
}

#[async_trait]
impl ChatModel for ScriptedTill {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let outside = &self.outside;
        let order = request.turn.first().and_then(ChatMessage::text).unwrap_or_default();
        let rounds = request.turn.iter().filter(|message| !message.tool_calls().is_empty()).count();
        outside.point("before an answer").await;
        outside.write(Line::new(order, Happened::Asked, (rounds + 1).to_string())).await;
        outside.point("after an answer").await;
        let usage = TokenUsage::new(10, 1);
        Ok(ChatResponse::new(self.message(order, rounds)).with_usage(usage))
    }

    fn name(&self) -> &str {
        "till"
    }
}

/// Returns the answer to an order.
pub fn answer(order: &str) -> String {
    format!("done {order}")
}
