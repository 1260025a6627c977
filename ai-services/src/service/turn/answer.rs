//! Extracts the answer from a response, and words the complaint about an unusable one.

use crate::Error;
use crate::message::{AiMessage, Content, ToolCall, ToolResult};
use crate::model::{ChatResponse, FinishReason};
use crate::tool::ToolExecution;

/// Separates the calls of the tool whose arguments are the answer from the other calls.
///
/// Returns the response without the separated calls, and the answer with the arguments as its text.
pub(super) fn split(
    mut response: Box<ChatResponse>,
    answer_tool: Option<&str>,
) -> (Box<ChatResponse>, Option<Box<ChatResponse>>) {
    let Some(tool) = answer_tool else { return (response, None) };
    let (answers, others): (Vec<_>, Vec<_>) =
        response.message.tool_calls().iter().cloned().partition(|call| call.name() == tool);
    if answers.is_empty() {
        return (response, None);
    }
    // Conflicting answers are joined so that parsing fails.
    let texts: Vec<&str> = answers.iter().map(ToolCall::arguments).collect();
    let mut message = AiMessage::builder().text(texts.join("\n"));
    if let Some(thinking) = response.message.thinking() {
        message = message.thinking(thinking);
    }
    if let Some(attributes) = response.message.attributes() {
        message = message.attributes(attributes.clone());
    }
    let answer = ChatResponse { message: message.build(), ..(*response).clone() };
    response.message = response.message.with_tool_calls(others);
    (response, Some(Box::new(answer)))
}

/// Returns the results of tools as an answer: their texts, separated by line breaks.
pub(super) fn of_results(executions: &[ToolExecution]) -> ChatResponse {
    let contents = executions.iter().flat_map(|execution| execution.result().contents());
    let texts: Vec<&str> = contents.filter_map(Content::text).collect();
    ChatResponse::new(AiMessage::new(texts.join("\n")))
        .with_finish_reason(FinishReason::ToolExecution)
}

/// Returns the result of a call that must not start, because a budget is used up.
pub(super) fn of_refused_call(call: &ToolCall) -> ToolResult {
    let text = "not executed: no further tool calls are allowed. Answer with what you know.";
    ToolResult::new(call.id(), call.name(), text).into_error()
}

/// Returns the answer with another text.
///
/// Drops the provider's own content and the refusal, which could contradict the new text, and the
/// thinking, which could contain the removed text.
pub(crate) fn rewritten(answer: ChatResponse, text: impl Into<Box<str>>) -> ChatResponse {
    let mut message = AiMessage::builder().text(text);
    if let Some(attributes) = answer.message.attributes() {
        message = message.attributes(attributes.clone());
    }
    ChatResponse { message: message.build(), ..answer }
}

/// Returns the message to the model about an answer that cannot be parsed.
pub(super) fn complaint(error: &Error) -> String {
    format!(
        "Your last answer could not be used: {error}.\nAnswer again, in the form that was asked for, and with nothing else."
    )
}
