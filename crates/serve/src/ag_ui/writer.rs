//! The answer as events of AG-UI.

use super::interrupts::InterruptWriter;
use crate::answer::Encoder;
use crate::frames::Frames;
use crate::problem::Problem;
use crate::source::Source;
use crate::tool_tracker::{Sent, ToolTracker};
use ai_services_core::answer::{Response, StreamEvent};
use ai_services_core::approval::PendingTurn;
use ai_services_core::message::{Content, ToolCall};
use ai_services_core::model::{TokenUsage, ToolCallDelta};
use ai_services_core::tool::ToolExecution;
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

/// Version of the protocol.
const PROTOCOL_VERSION: &str = "1.0";

/// Writes an answer as the events of a run. One message is open at a time.
pub(super) struct RunWriter {
    thread_id: String,
    run_id: String,
    tools: ToolTracker,
    interrupts: InterruptWriter,
    message: Option<OpenMessage>,
}

struct OpenMessage {
    kind: MessageKind,
    id: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MessageKind {
    Text,
    Reasoning,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MessageDelta<'a> {
    r#type: &'static str,
    message_id: &'a str,
    delta: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArgumentsDelta<'a> {
    r#type: &'static str,
    tool_call_id: &'a str,
    delta: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RunFinished<'a> {
    r#type: &'static str,
    thread_id: &'a str,
    run_id: &'a str,
    outcome: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<[Usage; 1]>,
}

/// Counts that the provider did not report are left out.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    #[serde(skip_serializing_if = "Option::is_none")]
    input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_write_input_tokens: Option<u64>,
}

impl From<TokenUsage> for Usage {
    fn from(usage: TokenUsage) -> Self {
        Self {
            input_tokens: usage.input,
            output_tokens: usage.output,
            total_tokens: usage.total(),
            reasoning_tokens: usage.reasoning,
            cached_input_tokens: usage.cached_input,
            cache_write_input_tokens: usage.cache_write_input,
        }
    }
}

impl RunWriter {
    /// Creates a writer. `tools` has the calls that an earlier run has sent.
    pub(super) fn new(
        thread_id: String,
        run_id: String,
        tools: ToolTracker,
        interrupts: InterruptWriter,
    ) -> Self {
        Self { thread_id, run_id, tools, interrupts, message: None }
    }

    fn piece(&mut self, kind: MessageKind, piece: &str, out: &mut Frames) {
        // The protocol has no empty pieces.
        if piece.is_empty() {
            return;
        }
        self.tools.model_writes();
        if self.message.as_ref().is_none_or(|message| message.kind != kind) {
            self.end_message(out);
            self.begin_message(kind, out);
        }
        if let Some(message) = &self.message {
            let r#type = match kind {
                MessageKind::Text => "TEXT_MESSAGE_CONTENT",
                MessageKind::Reasoning => "REASONING_MESSAGE_CONTENT",
            };
            out.data(&MessageDelta { r#type, message_id: &message.id, delta: piece });
        }
    }

    fn begin_message(&mut self, kind: MessageKind, out: &mut Frames) {
        let id = Uuid::new_v4().to_string();
        match kind {
            MessageKind::Text => out.data(&json!({
                "type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant",
            })),
            MessageKind::Reasoning => {
                out.data(&json!({ "type": "REASONING_START", "messageId": id }));
                out.data(&json!({
                    "type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning",
                }));
            }
        }
        self.message = Some(OpenMessage { kind, id });
    }

    fn end_message(&mut self, out: &mut Frames) {
        let Some(OpenMessage { kind, id }) = self.message.take() else { return };
        match kind {
            MessageKind::Text => out.data(&json!({ "type": "TEXT_MESSAGE_END", "messageId": id })),
            MessageKind::Reasoning => {
                out.data(&json!({ "type": "REASONING_MESSAGE_END", "messageId": id }));
                out.data(&json!({ "type": "REASONING_END", "messageId": id }));
            }
        }
    }

    fn call_piece(&mut self, delta: &ToolCallDelta, out: &mut Frames) {
        self.tools.model_writes();
        self.end_message(out);
        let (id, sent) = self.tools.piece(delta);
        if sent == Sent::Nothing {
            call_start(&id, delta.name.as_deref().unwrap_or_default(), out);
        }
        call_arguments(&id, &delta.arguments, out);
    }

    /// Writes a call that is known whole.
    fn call(&mut self, call: &ToolCall, out: &mut Frames) {
        self.end_message(out);
        let (id, sent) = self.tools.whole(call);
        end_call(&id, call.name(), call.arguments(), sent, out);
    }

    fn result(&mut self, execution: &ToolExecution, out: &mut Frames) {
        self.end_message(out);
        let (id, sent) = self.tools.result(execution.call());
        let call = execution.call();
        end_call(&id, call.name(), call.arguments(), sent, out);
        let contents = execution.result().contents();
        let text = contents.iter().filter_map(Content::text).collect::<Vec<_>>().join("\n");
        out.data(&json!({
            "type": "TOOL_CALL_RESULT",
            "messageId": Uuid::new_v4().to_string(),
            "toolCallId": &*id,
            "content": text,
            "role": "tool",
        }));
    }

    fn pending(&mut self, pending: &PendingTurn, out: &mut Frames) {
        self.end_message(out);
        let tracked = self.tools.interrupts(self.interrupts.conversation(), pending);
        let mut interrupts = Vec::with_capacity(pending.calls.len());
        for ((call_id, sent, id), call) in tracked.iter().zip(&pending.calls) {
            end_call(call_id, &call.tool, &call.arguments, *sent, out);
            self.interrupts.write(id, call, &mut interrupts);
        }
        let outcome = json!({ "type": "interrupt", "interrupts": interrupts });
        self.finish(&outcome, TokenUsage::default(), out);
    }

    fn completed(&mut self, response: &Response<String>, out: &mut Frames) {
        // The result of a tool can be the answer, without a text of the model.
        let has_text = self.message.as_ref().is_some_and(|open| open.kind == MessageKind::Text);
        if !has_text {
            self.piece(MessageKind::Text, &response.value, out);
        }
        self.finish(&json!({ "type": "success" }), response.token_usage, out);
    }

    fn finish(&mut self, outcome: &Value, usage: TokenUsage, out: &mut Frames) {
        self.end_message(out);
        for id in self.tools.unfinished() {
            out.data(&json!({ "type": "TOOL_CALL_END", "toolCallId": id }));
        }
        out.data(&RunFinished {
            r#type: "RUN_FINISHED",
            thread_id: &self.thread_id,
            run_id: &self.run_id,
            outcome,
            usage: (!usage.is_empty()).then(|| [usage.into()]),
        });
    }
}

impl Encoder for RunWriter {
    fn begin(&mut self, out: &mut Frames) {
        out.data(&json!({
            "type": "RUN_STARTED",
            "threadId": self.thread_id,
            "runId": self.run_id,
            "protocolVersion": PROTOCOL_VERSION,
        }));
    }

    fn event(&mut self, event: StreamEvent, out: &mut Frames) {
        match event {
            StreamEvent::Retrieved(sources) => {
                let sources =
                    sources.iter().enumerate().map(|(index, source)| Source::new(index, source));
                let sources: Vec<Source<'_>> = sources.collect();
                out.data(&json!({ "type": "CUSTOM", "name": "retrieved", "value": sources }));
            }
            StreamEvent::Text(text) => self.piece(MessageKind::Text, &text, out),
            StreamEvent::Thinking(text) => self.piece(MessageKind::Reasoning, &text, out),
            StreamEvent::ToolCall(delta) => self.call_piece(&delta, out),
            StreamEvent::ToolStarted(call) => self.call(&call, out),
            StreamEvent::ToolProgressed { call, progress } => {
                if let Some(id) = self.tools.running(&call) {
                    let value = json!({
                        "toolCallId": &*id,
                        "completed": progress.completed,
                        "total": progress.total,
                        "message": progress.message,
                    });
                    out.data(&json!({ "type": "CUSTOM", "name": "tool_progress", "value": value }));
                }
            }
            StreamEvent::ToolFinished(execution) => self.result(&execution, out),
            StreamEvent::Pending(pending) => self.pending(&pending, out),
            StreamEvent::Completed(response) => self.completed(&response, out),
            _ => {}
        }
    }

    fn failed(&mut self, problem: &Problem, out: &mut Frames) {
        out.data(&json!({
            "type": "RUN_ERROR", "message": problem.message, "code": problem.code,
        }));
    }
}

fn call_start(id: &str, name: &str, out: &mut Frames) {
    out.data(&json!({ "type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name }));
}

fn call_arguments(id: &str, arguments: &str, out: &mut Frames) {
    if !arguments.is_empty() {
        out.data(&ArgumentsDelta { r#type: "TOOL_CALL_ARGS", tool_call_id: id, delta: arguments });
    }
}

/// Writes the part of a call that the client does not have yet.
fn end_call(id: &str, name: &str, arguments: &str, sent: Sent, out: &mut Frames) {
    if sent == Sent::Nothing {
        call_start(id, name, out);
        call_arguments(id, arguments, out);
    }
    if sent != Sent::Whole {
        out.data(&json!({ "type": "TOOL_CALL_END", "toolCallId": id }));
    }
}
