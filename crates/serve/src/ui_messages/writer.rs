//! The answer as a UI message stream.

use crate::answer::Encoder;
use crate::frames::Frames;
use crate::interrupt_id::conversation_digest;
use crate::problem::Problem;
use crate::source::Source;
use crate::tool_tracker::{Sent, ToolTracker};
use ai_services_core::answer::{Response, StreamEvent};
use ai_services_core::approval::{PendingTurn, WaitsFor};
use ai_services_core::memory::MemoryId;
use ai_services_core::message::{Content, ToolCall};
use ai_services_core::model::{FinishReason, TokenUsage, ToolCallDelta};
use ai_services_core::tool::ToolExecution;
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

/// Writes an answer as a UI message stream. Each answer of the model is a step.
///
/// The tools of the server are `dynamic`: the page does not need their types.
pub(super) struct UiWriter {
    tools: ToolTracker,
    /// The part of ids that names the conversation.
    conversation: String,
    /// The part that is being written.
    part: Option<OpenPart>,
    /// Number of parts so far.
    parts: usize,
}

#[derive(Clone, PartialEq, Eq)]
struct OpenPart {
    kind: PartKind,
    id: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PartKind {
    Text,
    Reasoning,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PartDelta<'a> {
    r#type: &'static str,
    id: &'a str,
    delta: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InputDelta<'a> {
    r#type: &'static str,
    tool_call_id: &'a str,
    input_text_delta: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Finish<'a> {
    r#type: &'static str,
    finish_reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_metadata: Option<MessageMetadata>,
}

#[derive(Serialize)]
struct MessageMetadata {
    usage: Usage,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    total_tokens: Option<u64>,
    cached_input_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
}

impl From<TokenUsage> for Usage {
    fn from(usage: TokenUsage) -> Self {
        Self {
            input_tokens: usage.input,
            output_tokens: usage.output,
            total_tokens: usage.total(),
            cached_input_tokens: usage.cached_input,
            reasoning_tokens: usage.reasoning,
        }
    }
}

/// A source with an address.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SourceUrl<'a> {
    r#type: &'static str,
    source_id: &'a str,
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
}

/// A source without an address.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SourceDocument<'a> {
    r#type: &'static str,
    source_id: &'a str,
    media_type: &'static str,
    title: &'a str,
}

impl PartKind {
    /// Returns the types of the events for start, pieces and end.
    fn events(self) -> [&'static str; 3] {
        match self {
            Self::Text => ["text-start", "text-delta", "text-end"],
            Self::Reasoning => ["reasoning-start", "reasoning-delta", "reasoning-end"],
        }
    }
}

impl UiWriter {
    /// Creates a writer. `tools` has the calls that an earlier stream has sent.
    pub(super) fn new(memory_id: &MemoryId, tools: ToolTracker) -> Self {
        Self { tools, conversation: conversation_digest(memory_id), part: None, parts: 0 }
    }

    fn piece(&mut self, kind: PartKind, piece: &str, out: &mut Frames) {
        self.model_writes(out);
        let [start, delta, _] = kind.events();
        if self.part.as_ref().is_none_or(|part| part.kind != kind) {
            self.end_part(out);
            self.parts += 1;
            let id = self.parts.to_string();
            out.data(&json!({ "type": start, "id": id }));
            self.part = Some(OpenPart { kind, id });
        }
        if let Some(part) = &self.part {
            out.data(&PartDelta { r#type: delta, id: &part.id, delta: piece });
        }
    }

    fn end_part(&mut self, out: &mut Frames) {
        if let Some(part) = self.part.take() {
            let [_, _, end] = part.kind.events();
            out.data(&json!({ "type": end, "id": part.id }));
        }
    }

    /// Begins a step, if tools have run.
    fn model_writes(&mut self, out: &mut Frames) {
        if self.tools.model_writes() {
            out.data(&json!({ "type": "finish-step" }));
            out.data(&json!({ "type": "start-step" }));
        }
    }

    fn call_piece(&mut self, delta: &ToolCallDelta, out: &mut Frames) {
        self.model_writes(out);
        self.end_part(out);
        let (id, sent) = self.tools.piece(delta);
        if sent == Sent::Nothing {
            let name = delta.name.as_deref().unwrap_or_default();
            out.data(&input_start(&id, name));
        }
        if !delta.arguments.is_empty() {
            let r#type = "tool-input-delta";
            out.data(&InputDelta { r#type, tool_call_id: &id, input_text_delta: &delta.arguments });
        }
    }

    /// Writes a call that is known whole.
    fn call(&mut self, call: &ToolCall, out: &mut Frames) {
        self.end_part(out);
        let (id, sent) = self.tools.whole(call);
        write_input(&id, call.name(), call.arguments(), sent, out);
    }

    fn result(&mut self, execution: &ToolExecution, out: &mut Frames) {
        self.end_part(out);
        let (id, sent) = self.tools.result(execution.call());
        let call = execution.call();
        write_input(&id, call.name(), call.arguments(), sent, out);
        let result = execution.result();
        let text =
            result.contents().iter().filter_map(Content::text).collect::<Vec<_>>().join("\n");
        out.data(&if self.tools.is_denied(&id) {
            json!({ "type": "tool-output-denied", "toolCallId": &*id })
        } else if result.is_error() {
            json!({
                "type": "tool-output-error", "toolCallId": &*id, "errorText": text, "dynamic": true,
            })
        } else {
            // A page shows structured results as such.
            let output: Value = serde_json::from_str(&text).unwrap_or_else(|_| text.into());
            json!({
                "type": "tool-output-available", "toolCallId": &*id, "output": output, "dynamic": true,
            })
        });
    }

    fn pending(&mut self, pending: &PendingTurn, out: &mut Frames) {
        self.end_part(out);
        let tracked = self.tools.interrupts(&self.conversation, pending);
        for ((call_id, sent, id), call) in tracked.iter().zip(&pending.calls) {
            write_input(call_id, &call.tool, &call.arguments, *sent, out);
            let id = id.to_string();
            match &call.waits_for {
                WaitsFor::Approval => out.data(&json!({
                    "type": "tool-approval-request", "approvalId": id, "toolCallId": &**call_id,
                })),
                WaitsFor::Answers(questions) => {
                    let data =
                        json!({ "id": id, "toolCallId": &**call_id, "questions": questions });
                    out.data(
                        &json!({ "type": "data-tool-questions", "id": &**call_id, "data": data }),
                    );
                }
                // A task, which needs no decision. A further part with this id replaces the first.
                _ => {
                    let data = json!({ "id": id, "toolCallId": &**call_id });
                    out.data(&json!({ "type": "data-tool-task", "id": &**call_id, "data": data }));
                }
            }
        }
        self.end("tool-calls", TokenUsage::default(), out);
    }

    fn completed(&mut self, response: &Response<String>, out: &mut Frames) {
        // The result of a tool can be the answer, without a text of the model.
        let has_text = self.part.as_ref().is_some_and(|part| part.kind == PartKind::Text);
        if !has_text && !response.value.is_empty() {
            self.piece(PartKind::Text, &response.value, out);
        }
        let reason = match response.finish_reason {
            Some(FinishReason::Length) => "length",
            Some(FinishReason::ContentFilter) => "content-filter",
            Some(FinishReason::Other(_)) => "other",
            _ => "stop",
        };
        self.end(reason, response.token_usage, out);
    }

    fn end(&mut self, reason: &str, usage: TokenUsage, out: &mut Frames) {
        self.end_part(out);
        out.data(&json!({ "type": "finish-step" }));
        let usage = (!usage.is_empty()).then(|| usage.into());
        out.data(&Finish {
            r#type: "finish",
            finish_reason: reason,
            message_metadata: usage.map(|usage| MessageMetadata { usage }),
        });
        out.done();
    }
}

impl Encoder for UiWriter {
    fn begin(&mut self, out: &mut Frames) {
        if self.tools.is_resumed() {
            // The page goes on with its last message. A step begins with the next answer of the model.
            return out.data(&json!({ "type": "start" }));
        }
        out.data(&json!({ "type": "start", "messageId": Uuid::new_v4().to_string() }));
        out.data(&json!({ "type": "start-step" }));
    }

    fn event(&mut self, event: StreamEvent, out: &mut Frames) {
        match event {
            StreamEvent::Retrieved(sources) => {
                for (index, source) in sources.iter().enumerate() {
                    write_source(&Source::new(index, source), out);
                }
            }
            StreamEvent::Text(text) => self.piece(PartKind::Text, &text, out),
            StreamEvent::Thinking(text) => self.piece(PartKind::Reasoning, &text, out),
            StreamEvent::ToolCall(delta) => self.call_piece(&delta, out),
            StreamEvent::ToolStarted(call) => self.call(&call, out),
            StreamEvent::ToolProgressed { call, progress } => {
                if let Some(id) = self.tools.running(&call) {
                    let data = json!({
                        "toolCallId": &*id,
                        "completed": progress.completed,
                        "total": progress.total,
                        "message": progress.message,
                    });
                    out.data(&json!({
                        "type": "data-tool-progress", "data": data, "transient": true,
                    }));
                }
            }
            StreamEvent::ToolFinished(execution) => self.result(&execution, out),
            StreamEvent::Pending(pending) => self.pending(&pending, out),
            StreamEvent::Completed(response) => self.completed(&response, out),
            _ => {}
        }
    }

    fn failed(&mut self, problem: &Problem, out: &mut Frames) {
        self.end_part(out);
        out.data(&json!({ "type": "error", "errorText": problem.message }));
        out.done();
    }
}

/// Writes the part of a call that the client does not have yet.
fn write_input(id: &str, name: &str, arguments: &str, sent: Sent, out: &mut Frames) {
    if sent == Sent::Nothing {
        out.data(&input_start(id, name));
    }
    if sent != Sent::Whole {
        let input: Value =
            serde_json::from_str(arguments).unwrap_or_else(|_| arguments.to_owned().into());
        out.data(&json!({
            "type": "tool-input-available",
            "toolCallId": id,
            "toolName": name,
            "input": input,
            "dynamic": true,
        }));
    }
}

fn input_start(id: &str, name: &str) -> Value {
    json!({ "type": "tool-input-start", "toolCallId": id, "toolName": name, "dynamic": true })
}

fn write_source(source: &Source<'_>, out: &mut Frames) {
    let Source { id: source_id, url, title } = source;
    match *url {
        Some(url) => out.data(&SourceUrl { r#type: "source-url", source_id, url, title: *title }),
        None => out.data(&SourceDocument {
            r#type: "source-document",
            source_id,
            media_type: "text/plain",
            title: title.unwrap_or("source"),
        }),
    }
}
