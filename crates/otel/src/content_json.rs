//! Messages, tools and sources as the JSON of the conventions.

use ai_services_core::message::{
    AiMessage, ChatMessage, Content, MediaSource, ToolCall, ToolResult, UserMessage,
};
use ai_services_core::model::{ChatRequest, ChatResponse, FinishReason, ToolSpecification};
use ai_services_core::rag::RetrievedContent;
use serde_json::{Value, json};

/// Returns `gen_ai.system_instructions`.
pub(crate) fn system_instructions(text: &str) -> Value {
    json!([text_part(text)])
}

/// Returns `gen_ai.input.messages` of a request, without its system message.
pub(crate) fn input_messages(request: &ChatRequest) -> Value {
    request.messages().filter(|message| !message.is_system()).map(input_message).collect()
}

pub(crate) fn input_message(message: &ChatMessage) -> Value {
    match message {
        ChatMessage::System(message) => {
            json!({"role": "system", "parts": [text_part(message.text())]})
        }
        ChatMessage::User(message) => user_message(message),
        ChatMessage::Ai(message) => json!({"role": "assistant", "parts": answer_parts(message)}),
        ChatMessage::ToolResult(result) => {
            json!({"role": "tool", "parts": [tool_response(result)]})
        }
        ChatMessage::Custom(_) => json!({"role": "custom", "parts": []}),
    }
}

pub(crate) fn user_message(message: &UserMessage) -> Value {
    let parts: Vec<Value> = message.contents().iter().map(content_part).collect();
    match message.name() {
        Some(name) => json!({"role": "user", "parts": parts, "name": name}),
        None => json!({"role": "user", "parts": parts}),
    }
}

/// Returns `gen_ai.output.messages` of an answer.
pub(crate) fn output_messages(response: &ChatResponse) -> Value {
    let reason = response.finish_reason.as_ref().map_or("stop", finish_reason);
    json!([{
        "role": "assistant",
        "parts": answer_parts(&response.message),
        "finish_reason": reason,
    }])
}

/// Returns the name of a reason in the content of an answer.
fn finish_reason(reason: &FinishReason) -> &str {
    match reason {
        FinishReason::ToolExecution => "tool_call",
        reason => reason.as_str(),
    }
}

fn answer_parts(message: &AiMessage) -> Vec<Value> {
    let thinking = message.thinking().map(|text| json!({"type": "reasoning", "content": text}));
    let text = message.text().or_else(|| message.refusal()).map(text_part);
    let calls = message.tool_calls().iter().map(tool_call);
    thinking.into_iter().chain(text).chain(calls).collect()
}

fn tool_call(call: &ToolCall) -> Value {
    json!({
        "type": "tool_call",
        "id": call.id(),
        "name": call.name(),
        "arguments": tool_arguments(call),
    })
}

/// Returns the arguments of a call, as text if the model has not written JSON.
pub(crate) fn tool_arguments(call: &ToolCall) -> Value {
    serde_json::from_str(call.arguments()).unwrap_or_else(|_| call.arguments().into())
}

fn tool_response(result: &ToolResult) -> Value {
    json!({"type": "tool_call_response", "id": result.id(), "response": tool_result(result)})
}

/// Returns the result of a call: its text, or its parts if it has others.
pub(crate) fn tool_result(result: &ToolResult) -> Value {
    match result.text() {
        Some(text) => text.into(),
        None => result.contents().iter().map(content_part).collect(),
    }
}

fn content_part(content: &Content) -> Value {
    let modality = match content {
        Content::Text(text) => return text_part(text),
        Content::Image(_) => "image",
        Content::Audio(_) => "audio",
        Content::Video(_) => "video",
        Content::Pdf(_) => "document",
    };
    let Some(media) = content.media() else { return json!({"type": modality}) };
    let mut part = match &media.source {
        MediaSource::Url(url) => json!({"type": "uri", "modality": modality, "uri": &**url}),
        MediaSource::Base64(data) => {
            json!({"type": "blob", "modality": modality, "content": &**data})
        }
    };
    if let (Some(kind), Some(members)) = (media.media_type(), part.as_object_mut()) {
        members.insert("mime_type".to_owned(), kind.into());
    }
    part
}

fn text_part(text: &str) -> Value {
    json!({"type": "text", "content": text})
}

/// Returns `gen_ai.tool.definitions`.
pub(crate) fn tool_definitions(tools: &[ToolSpecification]) -> Value {
    tools.iter().map(tool_definition).collect()
}

fn tool_definition(tool: &ToolSpecification) -> Value {
    let mut definition =
        json!({"type": "function", "name": &*tool.name, "description": &*tool.description});
    if let (Some(schema), Some(members)) = (&tool.parameters, definition.as_object_mut()) {
        members.insert("parameters".to_owned(), schema.as_value().clone());
    }
    definition
}

/// Returns `gen_ai.retrieval.documents`. The conventions require an id and a score: a content without an id has its
/// position, one without a score the reciprocal of its position.
pub(crate) fn documents(contents: &[RetrievedContent]) -> Value {
    let document = |(content, position): (&RetrievedContent, u32)| {
        let id = content.id.as_deref().map_or_else(|| position.to_string(), str::to_owned);
        let score = content.score.filter(|score| score.is_finite());
        let score = score.unwrap_or_else(|| f64::from(position).recip());
        json!({"id": id, "score": score, "content": content.segment.text()})
    };
    contents.iter().zip(1..).map(document).collect()
}
