//! Models that wrap other models, on their own and inside an AI service.

mod cached;
mod cassettes;
mod costs;
mod fallback;
mod limits;
pub(crate) mod requests;
mod retries;
mod routes;
mod services;

use ai_services::message::ChatMessage;
use ai_services::model::{ChatModel, ChatRequest, ChatResponse, ModelStreamEvent, TokenUsage};
use ai_services::testing::ScriptedAnswer;
use ai_services::{Error, ErrorKind};
use futures_util::StreamExt;

/// Creates a request with one user message.
fn asking(text: &str) -> ChatRequest {
    ChatRequest::new([ChatMessage::user(text)])
}

fn failing(kind: ErrorKind) -> ScriptedAnswer {
    ScriptedAnswer::error(kind, format!("{kind:?}"))
}

/// An error with input token usage.
fn costly(kind: ErrorKind, input: u64) -> ScriptedAnswer {
    failing(kind).with_usage(TokenUsage::new(input, 0))
}

fn text(response: &ChatResponse) -> &str {
    response.message.text().unwrap()
}

/// Collects the texts of a stream, and its answer or error.
async fn streamed(
    model: &dyn ChatModel,
    request: &ChatRequest,
) -> (Vec<String>, Result<ChatResponse, Error>) {
    let mut events = model.stream(request);
    let mut texts = Vec::new();
    loop {
        match events.next().await.expect("a stream ends with an answer or an error") {
            Ok(ModelStreamEvent::Text(text)) => texts.push(text),
            Ok(ModelStreamEvent::Completed(response)) => {
                assert!(events.next().await.is_none());
                return (texts, Ok(*response));
            }
            Ok(_) => {}
            Err(error) => {
                assert!(events.next().await.is_none());
                return (texts, Err(error));
            }
        }
    }
}
