//! What counts as an answer, and what is said to one that does not.

use crate::error::Error;
use crate::invocation::ToolExecution;
use crate::message::{AiMessage, Content, ToolCall};
use crate::model::{ChatResponse, FinishReason};
use std::sync::Arc;

/// An answer that was not a value of the method's type, or that output guardrails objected to, so that the
/// model was asked again.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RejectedAnswer {
    /// What the model said.
    pub response: ChatResponse,
    /// What was wrong with it. Of one that guardrails rejected, the
    /// [`Rejection`](crate::guardrail::Rejection) is a detail.
    pub error: Arc<Error>,
}

impl RejectedAnswer {
    pub(super) fn new(response: ChatResponse, error: Error) -> Self {
        Self { response, error: Arc::new(error) }
    }
}

/// Tells the answer from other calls, if a tool takes the answer: what is left to be done, and the
/// answer with its arguments as the text.
pub(super) fn split(
    mut response: ChatResponse,
    answer_tool: Option<&str>,
) -> (ChatResponse, Option<ChatResponse>) {
    let Some(tool) = answer_tool else { return (response, None) };
    let (answers, others): (Vec<_>, Vec<_>) =
        response.message.tool_calls().iter().cloned().partition(|call| call.name() == tool);
    if answers.is_empty() {
        return (response, None);
    }
    // Of several different ones none is the answer, which its reader will find.
    let texts: Vec<&str> = answers.iter().map(ToolCall::arguments).collect();
    let mut message = AiMessage::builder().text(texts.join("\n"));
    if let Some(thinking) = response.message.thinking() {
        message = message.thinking(thinking);
    }
    if let Some(attributes) = response.message.attributes() {
        message = message.attributes(attributes.clone());
    }
    let answer = ChatResponse { message: message.build(), ..response.clone() };
    response.message = response.message.with_tool_calls(others);
    (response, Some(answer))
}

/// The answer that the results of tools are: their texts, one below the other.
pub(super) fn of_results(executions: &[ToolExecution]) -> ChatResponse {
    let contents = executions.iter().flat_map(|execution| execution.result().contents());
    let texts: Vec<&str> = contents.filter_map(Content::text).collect();
    ChatResponse::new(AiMessage::new(texts.join("\n")))
        .with_finish_reason(FinishReason::ToolExecution)
}

/// The answer with another text. What it says in the provider's own words would contradict that, and so
/// would a refusal; what the model thought may hold what the text holds no longer.
pub(crate) fn rewritten(answer: ChatResponse, text: impl Into<Box<str>>) -> ChatResponse {
    let mut message = AiMessage::builder().text(text);
    if let Some(attributes) = answer.message.attributes() {
        message = message.attributes(attributes.clone());
    }
    ChatResponse { message: message.build(), ..answer }
}

/// What the model is told about an answer that cannot be read.
pub(super) fn complaint(error: &Error) -> String {
    format!(
        "Your last answer could not be used: {error}.\nAnswer again, in the form that was asked for, and with nothing else."
    )
}
