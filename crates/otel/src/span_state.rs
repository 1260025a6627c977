//! The state of a recorded span.

use crate::instruments::Instruments;
use crate::semconv;
use opentelemetry::KeyValue;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;
use tracing::field::{Field, Visit};

/// The kinds of spans with metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpanKind {
    Agent,
    Chat,
    Embeddings,
    Tool,
    Other,
}

impl SpanKind {
    pub(crate) fn of(name: &str) -> Self {
        match name {
            "invoke_agent" => Self::Agent,
            "chat" => Self::Chat,
            "embeddings" => Self::Embeddings,
            "execute_tool" => Self::Tool,
            _ => Self::Other,
        }
    }
}

/// The data of a span that its metrics and the spans within it need.
pub(crate) struct SpanState {
    pub(crate) kind: SpanKind,
    /// The recorded id of the conversation.
    pub(crate) conversation: Option<Arc<str>>,
    /// `true` until the span has the id of the span around it.
    pub(crate) inherits: bool,
    /// `true` if another model answers the request, in a span within this one.
    pub(crate) delegates: bool,
    pub(crate) inference_calls: u64,
    pub(crate) tool_calls: u64,
    started: Instant,
    labels: Vec<KeyValue>,
    numbers: Numbers,
    is_cached: bool,
}

#[derive(Default)]
struct Numbers {
    input: Option<u64>,
    output: Option<u64>,
    first_chunk: Option<f64>,
    streaming: Option<f64>,
    chunks: u64,
}

impl SpanState {
    pub(crate) fn new(kind: SpanKind, conversation: Option<Arc<str>>) -> Self {
        Self {
            kind,
            inherits: conversation.is_some(),
            conversation,
            delegates: false,
            inference_calls: 0,
            tool_calls: 0,
            started: Instant::now(),
            labels: Vec::new(),
            numbers: Numbers::default(),
            is_cached: false,
        }
    }

    /// Returns `true` if the span is a request that a model got.
    pub(crate) fn is_inference(&self) -> bool {
        self.kind == SpanKind::Chat && !self.delegates && !self.is_cached
    }

    /// Records the metrics of the span, which has ended.
    pub(crate) fn record(&self, instruments: &Instruments) {
        let (labels, duration) = (&self.labels, self.started.elapsed().as_secs_f64());
        match self.kind {
            SpanKind::Agent => {
                instruments.agent_duration.record(duration, labels);
                instruments.agent_inference_calls.record(self.inference_calls, labels);
                instruments.agent_tool_calls.record(self.tool_calls, labels);
            }
            SpanKind::Tool => instruments.tool_duration.record(duration, labels),
            SpanKind::Chat if !self.is_inference() => {}
            SpanKind::Chat | SpanKind::Embeddings => {
                instruments.operation_duration.record(duration, labels);
                self.record_operation(instruments);
            }
            SpanKind::Other => {}
        }
    }

    fn record_operation(&self, instruments: &Instruments) {
        let Numbers { input, output, first_chunk, streaming, chunks } = self.numbers;
        instruments.tokens("input", input, &self.labels);
        instruments.tokens("output", output, &self.labels);
        if let Some(time) = first_chunk {
            instruments.first_chunk.record(time, &self.labels);
        }
        let gaps = chunks.saturating_sub(1);
        if let Some(time) = streaming
            && gaps > 0
        {
            // The mean of the answer for each chunk, so that the sum and the count are exact.
            let mean = time / gaps as f64;
            for _ in 0..gaps {
                instruments.per_chunk.record(mean, &self.labels);
            }
        }
    }

    fn label(&mut self, name: &'static str, value: impl Into<opentelemetry::Value>) {
        self.labels.push(KeyValue::new(name, value));
    }
}

/// Reads the fields of the span.
impl Visit for SpanState {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            semconv::CONVERSATION_ID => self.conversation = Some(value.into()),
            semconv::ORIGIN => self.is_cached = value == "cache",
            semconv::REQUEST_MODEL | semconv::OPERATION_NAME if self.kind == SpanKind::Tool => {}
            name @ (semconv::OPERATION_NAME
            | semconv::PROVIDER_NAME
            | semconv::REQUEST_MODEL
            | semconv::RESPONSE_MODEL
            | semconv::SERVER_ADDRESS
            | semconv::AGENT_NAME
            | semconv::TOOL_NAME
            | semconv::ERROR_TYPE) => self.label(name, value.to_owned()),
            _ => {}
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        let count = u64::try_from(value).ok();
        match field.name() {
            semconv::INPUT_TOKENS => self.numbers.input = count,
            semconv::OUTPUT_TOKENS => self.numbers.output = count,
            semconv::CHUNKS => self.numbers.chunks = count.unwrap_or(0),
            semconv::SERVER_PORT => self.label(semconv::SERVER_PORT, value),
            _ => {}
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        match field.name() {
            semconv::TIME_TO_FIRST_CHUNK => self.numbers.first_chunk = Some(value),
            semconv::STREAMING_TIME => self.numbers.streaming = Some(value),
            _ => {}
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == semconv::ERROR_TYPE {
            self.label(semconv::ERROR_TYPE, format!("{value:?}"));
        }
    }
}
