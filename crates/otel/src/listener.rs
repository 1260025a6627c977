//! The listener of a service: lists, content and the conversation.

use crate::content_json as json;
use crate::settings::Settings;
use crate::{ContentCapture, semconv};
use ai_services_core::Error;
use ai_services_core::event::{Call, CallId, Event};
use ai_services_core::model::{ChatRequest, ChatResponse};
use opentelemetry::{Array, KeyValue, StringValue, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// Receives the events of calls, each within the span of its step.
pub(crate) struct EventRecorder {
    settings: Arc<Settings>,
    /// The last answer of each call that runs.
    answers: Mutex<HashMap<CallId, LastAnswer>>,
}

/// The attributes of an answer that belong to the call, too, if it is the last one.
struct LastAnswer {
    finish_reasons: Option<Value>,
    output: Option<KeyValue>,
}

impl EventRecorder {
    pub(crate) fn new(settings: Arc<Settings>) -> Self {
        Self { settings, answers: Mutex::default() }
    }

    pub(crate) fn observe(&self, call: &Call<'_>, event: &Event<'_>) {
        match *event {
            Event::Started => self.started(call),
            Event::PromptsRendered { system, user } => {
                let system = system.and_then(|message| message.text());
                if let Some(text) = system {
                    self.record(semconv::SYSTEM_INSTRUCTIONS, || json::system_instructions(text));
                }
                self.record(semconv::INPUT_MESSAGES, || {
                    [json::user_message(user)].into_iter().collect()
                });
            }
            Event::Retrieved { contents, .. } => {
                self.record(semconv::RETRIEVAL_DOCUMENTS, || json::documents(contents));
            }
            Event::RequestIssued { request } => self.request(request),
            Event::ResponseReceived { response } => self.response(call.id, response),
            Event::RequestFailed { error } => failed(error),
            Event::ToolStarted { call } => {
                self.record(semconv::TOOL_ARGUMENTS, || json::tool_arguments(call));
            }
            Event::ToolFinished { execution } => {
                self.record(semconv::TOOL_RESULT, || json::tool_result(execution.result()));
            }
            Event::Completed { .. } => {
                if let Some(answer) = lock(&self.answers).remove(&call.id) {
                    let span = Span::current();
                    if let Some(reasons) = answer.finish_reasons {
                        span.set_attribute(semconv::FINISH_REASONS, reasons);
                    }
                    if let Some(KeyValue { key, value, .. }) = answer.output {
                        span.set_attribute(key, value);
                    }
                }
            }
            Event::Suspended { .. } | Event::Failed { .. } | Event::Cancelled => {
                lock(&self.answers).remove(&call.id);
            }
            _ => {}
        }
    }

    fn content(&self) -> &ContentCapture {
        &self.settings.content
    }

    /// Records content as an attribute of the current span, if content is recorded.
    fn record(&self, name: &'static str, content: impl FnOnce() -> serde_json::Value) {
        if let Some(KeyValue { key, value, .. }) = self.content().attribute(name, content) {
            Span::current().set_attribute(key, value);
        }
    }

    fn started(&self, call: &Call<'_>) {
        let id = call.memory_id.and_then(|id| self.settings.memory_ids.recorded(id.as_str()));
        if let Some(id) = id {
            Span::current().record(semconv::CONVERSATION_ID, id);
        }
    }

    fn request(&self, request: &ChatRequest) {
        let stop = &request.parameters().stop;
        if !stop.is_empty() {
            Span::current().set_attribute(semconv::STOP_SEQUENCES, list(stop.iter().cloned()));
        }
        let system = request.messages().find(|message| message.is_system());
        if let Some(text) = system.and_then(|message| message.text()) {
            self.record(semconv::SYSTEM_INSTRUCTIONS, || json::system_instructions(text));
        }
        self.record(semconv::INPUT_MESSAGES, || json::input_messages(request));
        if !request.tools().is_empty() {
            let tools = request.tools().as_slice();
            self.record(semconv::TOOL_DEFINITIONS, || json::tool_definitions(tools));
        }
    }

    fn response(&self, call: CallId, response: &ChatResponse) {
        let span = Span::current();
        let reason = response.finish_reason.as_ref().map(|reason| reason.as_str().into());
        let finish_reasons = reason.map(|reason: Box<str>| list([reason]));
        if let Some(reasons) = finish_reasons.clone() {
            span.set_attribute(semconv::FINISH_REASONS, reasons);
        }
        let output =
            self.content().attribute(semconv::OUTPUT_MESSAGES, || json::output_messages(response));
        if let Some(KeyValue { key, value, .. }) = output.clone() {
            span.set_attribute(key, value);
        }
        lock(&self.answers).insert(call, LastAnswer { finish_reasons, output });
    }
}

/// Adds the event of a failed request to its span. The text of an error may quote content, so it is left out.
fn failed(error: &Error) {
    let kind = KeyValue::new(semconv::EXCEPTION_TYPE, format!("{:?}", error.kind()));
    Span::current().add_event(semconv::EXCEPTION_EVENT, vec![kind]);
}

fn list(texts: impl IntoIterator<Item = Box<str>>) -> Value {
    let texts = texts.into_iter().map(|text| StringValue::from(text.into_string()));
    Value::Array(Array::String(texts.collect()))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
