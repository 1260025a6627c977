//! The answer in the form of OpenAI Responses.

use super::request::response_id;
use super::wire::{
    ContentBody, ConversationObject, DeltaField, Event, IncompleteDetails, ItemBody, MessageItem,
    Metadata, OutputText, PartField, ResponseBody, ResponseError, ResponseObject, TextField,
};
use crate::answer::{Encoder, texts};
use crate::frames::Frames;
use crate::openai::{json, now};
use crate::problem::Problem;
use ai_services_core::answer::{Response, StreamEvent};
use ai_services_core::model::FinishReason;
use serde::Serialize;
use uuid::Uuid;

/// Writes an answer in the form of OpenAI Responses. Each text between tool calls is a message of its own.
pub(super) struct ResponseWriter {
    head: ResponseHead,
    events: EventWriter,
    /// The messages that are complete.
    output: Vec<MessageItem>,
    message: Option<OpenMessage>,
}

/// The fields that all states of a response share.
struct ResponseHead {
    id: String,
    model: String,
    conversation: String,
    created: u64,
}

/// Numbers the events.
struct EventWriter {
    next: u64,
}

/// A message whose text is being written.
struct OpenMessage {
    id: String,
    text: String,
}

impl ResponseHead {
    fn object<'a>(&'a self, status: &'static str, output: &'a [MessageItem]) -> ResponseObject<'a> {
        ResponseObject {
            id: &self.id,
            object: "response",
            created_at: self.created,
            status,
            error: None,
            incomplete_details: None,
            instructions: None,
            metadata: Metadata {},
            model: &self.model,
            output,
            parallel_tool_calls: true,
            temperature: None,
            tool_choice: "auto",
            tools: [],
            top_p: None,
            conversation: ConversationObject { id: &self.conversation },
            usage: None,
        }
    }

    /// Returns the response of a finished call with these messages.
    fn ended<'a>(
        &'a self,
        answer: &Response<String>,
        output: &'a [MessageItem],
    ) -> ResponseObject<'a> {
        let reason = match answer.finish_reason {
            Some(FinishReason::Length) => Some("max_output_tokens"),
            Some(FinishReason::ContentFilter) => Some("content_filter"),
            _ => None,
        };
        let status = if reason.is_some() { "incomplete" } else { "completed" };
        let mut response = self.object(status, output);
        response.incomplete_details = reason.map(|reason| IncompleteDetails { reason });
        response.usage = Some(answer.token_usage.into());
        response
    }
}

impl EventWriter {
    fn send(&mut self, r#type: &'static str, body: impl Serialize, out: &mut Frames) {
        out.event(r#type, &Event { r#type, sequence_number: self.next, body });
        self.next += 1;
    }
}

impl ResponseWriter {
    pub(super) fn new(model: String, conversation: &str) -> Self {
        let head = ResponseHead {
            id: response_id(conversation),
            model,
            conversation: conversation.to_owned(),
            created: now(),
        };
        Self { head, events: EventWriter { next: 0 }, output: Vec::new(), message: None }
    }

    /// Returns the response of a finished call.
    pub(super) fn response(&self, answer: &Response<String>) -> axum::response::Response {
        let item = |text| MessageItem::complete(message_id(), OutputText::new(text));
        let output: Vec<MessageItem> = texts(answer).map(item).collect();
        json(&self.head.ended(answer, &output))
    }

    fn text(&mut self, text: &str, out: &mut Frames) {
        let output_index = self.output.len();
        let message =
            self.message.get_or_insert_with(|| begin(&mut self.events, output_index, out));
        message.text.push_str(text);
        let field = DeltaField { delta: text, logprobs: [] };
        let body = ContentBody { item_id: &message.id, output_index, content_index: 0, field };
        self.events.send("response.output_text.delta", body, out);
    }

    /// Ends the current message, if there is one.
    fn end_message(&mut self, out: &mut Frames) {
        let Some(OpenMessage { id, text }) = self.message.take() else { return };
        let (output_index, content_index) = (self.output.len(), 0);
        let field = TextField { text: &text, logprobs: [] };
        let body = ContentBody { item_id: &id, output_index, content_index, field };
        self.events.send("response.output_text.done", body, out);
        let part = OutputText::new(text);
        let field = PartField { part: &part };
        let body = ContentBody { item_id: &id, output_index, content_index, field };
        self.events.send("response.content_part.done", body, out);
        let item = MessageItem::complete(id, part);
        self.events.send("response.output_item.done", ItemBody { output_index, item: &item }, out);
        self.output.push(item);
    }
}

/// Begins a message.
fn begin(events: &mut EventWriter, output_index: usize, out: &mut Frames) -> OpenMessage {
    let item = MessageItem::begun(message_id());
    events.send("response.output_item.added", ItemBody { output_index, item: &item }, out);
    let part = OutputText::new("");
    let field = PartField { part: &part };
    let body = ContentBody { item_id: &item.id, output_index, content_index: 0, field };
    events.send("response.content_part.added", body, out);
    OpenMessage { id: item.id, text: String::new() }
}

impl Encoder for ResponseWriter {
    fn begin(&mut self, out: &mut Frames) {
        for name in ["response.created", "response.in_progress"] {
            let response = self.head.object("in_progress", &[]);
            self.events.send(name, ResponseBody { response }, out);
        }
    }

    fn event(&mut self, event: StreamEvent, out: &mut Frames) {
        match event {
            StreamEvent::Text(text) => self.text(&text, out),
            StreamEvent::ToolStarted(_) | StreamEvent::ToolFinished(_) => self.end_message(out),
            StreamEvent::Completed(answer) => {
                // The result of a tool can be the answer, without a text of the model.
                if self.message.is_none() && !answer.value.is_empty() {
                    self.text(&answer.value, out);
                }
                self.end_message(out);
                let response = self.head.ended(&answer, &self.output);
                let name = match response.incomplete_details {
                    Some(_) => "response.incomplete",
                    None => "response.completed",
                };
                self.events.send(name, ResponseBody { response }, out);
            }
            StreamEvent::Pending(pending) => {
                self.failed(&Problem::of_call(&(*pending).into(), None), out);
            }
            _ => {}
        }
    }

    fn failed(&mut self, problem: &Problem, out: &mut Frames) {
        let mut response = self.head.object("failed", &self.output);
        response.error = Some(ResponseError { code: problem.code, message: &problem.message });
        self.events.send("response.failed", ResponseBody { response }, out);
    }
}

fn message_id() -> String {
    format!("msg_{}", Uuid::new_v4().simple())
}
