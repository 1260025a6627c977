//! The offline demonstration model: a few rules that answer a request like a language model.
//!
//! Its only input is the [`ChatRequest`]: the history is its memory, it calls only the tools of the request,
//! and it answers from their results.

mod arithmetic;
mod intent;
mod reply;

use ai_services::Result;
use ai_services::message::AiMessage;
use ai_services::model::{
    Capabilities, Capability, ChatModel, ChatRequest, ChatResponse, FinishReason, ModelStreamEvent,
    TokenUsage, ToolCallDelta,
};
use futures_util::stream::{self, BoxStream, StreamExt};
use std::time::Duration;

/// A rule-based chat model.
pub(crate) struct DemoModel {
    /// Pause before each event of a stream.
    pause: Duration,
}

impl DemoModel {
    pub(crate) fn new(pause: Duration) -> Self {
        Self { pause }
    }
}

#[ai_services::async_trait]
impl ChatModel for DemoModel {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let message = reply::reply(request);
        let reason = match message.tool_calls() {
            [] => FinishReason::Stop,
            _ => FinishReason::ToolExecution,
        };
        let usage = TokenUsage::new(size_of_request(request), size_of_answer(&message));
        Ok(ChatResponse::new(message).with_finish_reason(reason).with_usage(usage))
    }

    /// Streams the answer word by word.
    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        let events = async move {
            match self.chat(request).await {
                Ok(response) => stream::iter(events(response)),
                Err(error) => stream::iter(vec![Err(error)]),
            }
        };
        let pause = self.pause;
        let paced = stream::once(events).flatten().then(move |event| async move {
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            event
        });
        paced.boxed()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::of([Capability::Tools, Capability::Streaming])
    }

    fn name(&self) -> &str {
        "demo"
    }
}

/// Converts an answer to the events of its stream.
fn events(response: ChatResponse) -> Vec<Result<ModelStreamEvent>> {
    let text = response.message.text().unwrap_or_default();
    let words = text.split_inclusive(char::is_whitespace);
    let words = words.map(|word| ModelStreamEvent::Text(word.to_owned()));
    let calls = response.message.tool_calls().iter().enumerate().map(|(index, call)| {
        let delta = ToolCallDelta::new(index).with_id(call.id()).with_name(call.name());
        ModelStreamEvent::ToolCall(delta.with_arguments(call.arguments()))
    });
    let mut events: Vec<_> = words.chain(calls).map(Ok).collect();
    events.push(Ok(ModelStreamEvent::Completed(Box::new(response))));
    events
}

/// Estimates the input tokens of a request.
fn size_of_request(request: &ChatRequest) -> u64 {
    request
        .messages()
        .map(|message| {
            let calls = message.tool_calls().iter().map(|call| tokens(call.arguments()));
            tokens(message.text().unwrap_or_default()) + calls.sum::<u64>()
        })
        .sum()
}

/// Estimates the output tokens of an answer.
fn size_of_answer(message: &AiMessage) -> u64 {
    let calls = message.tool_calls().iter().map(|call| tokens(call.arguments()));
    tokens(message.text().unwrap_or_default()) + calls.sum::<u64>()
}

/// Estimates the tokens of a message: one per four bytes, and three for its frame.
fn tokens(text: &str) -> u64 {
    text.len().div_ceil(4) as u64 + 3
}
