//! The offline demonstration model: a few rules that look at a request as a language model would.
//!
//! It sees nothing but the [`ChatRequest`]: the history is its only memory, the tools in the request
//! are the only ones it calls, and what it says about them it read in their results.

mod arithmetic;
mod intent;
mod reply;

use ai_services::message::AiMessage;
use ai_services::model::{ChatModel, ChatRequest, ChatResponse, FinishReason, TokenUsage};

/// A model without intelligence.
pub(crate) struct DemoModel;

#[ai_services::async_trait]
impl ChatModel for DemoModel {
    async fn chat(&self, request: &ChatRequest) -> ai_services::Result<ChatResponse> {
        let message = reply::reply(request);
        let reason = match message.tool_calls() {
            [] => FinishReason::Stop,
            _ => FinishReason::ToolExecution,
        };
        let usage = TokenUsage::new(size_of_request(request), size_of_answer(&message));
        Ok(ChatResponse::new(message).with_finish_reason(reason).with_usage(usage))
    }

    fn name(&self) -> &str {
        "demo"
    }
}

/// About how many tokens a language model would have read.
fn size_of_request(request: &ChatRequest) -> u64 {
    request
        .messages()
        .map(|message| {
            let calls = message.tool_calls().iter().map(|call| tokens(call.arguments()));
            tokens(message.text().unwrap_or_default()) + calls.sum::<u64>()
        })
        .sum()
}

/// About how many it would have written.
fn size_of_answer(message: &AiMessage) -> u64 {
    let calls = message.tool_calls().iter().map(|call| tokens(call.arguments()));
    tokens(message.text().unwrap_or_default()) + calls.sum::<u64>()
}

/// Four bytes a token, and some for the frame of a message.
fn tokens(text: &str) -> u64 {
    text.len().div_ceil(4) as u64 + 3
}
