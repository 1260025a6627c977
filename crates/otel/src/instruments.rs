//! The metrics.

use crate::semconv;
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Histogram, Meter};

/// The instruments of a meter.
pub(crate) struct Instruments {
    pub(crate) operation_duration: Histogram<f64>,
    pub(crate) first_chunk: Histogram<f64>,
    pub(crate) per_chunk: Histogram<f64>,
    pub(crate) agent_duration: Histogram<f64>,
    pub(crate) tool_duration: Histogram<f64>,
    tokens: Histogram<u64>,
    pub(crate) agent_inference_calls: Histogram<u64>,
    pub(crate) agent_tool_calls: Histogram<u64>,
}

impl Instruments {
    pub(crate) fn new(meter: &Meter) -> Self {
        let seconds = |name: &'static str, description: &'static str| {
            let histogram = meter.f64_histogram(name).with_unit("s");
            histogram.with_description(description).with_boundaries(semconv::SECONDS.into()).build()
        };
        let calls = |name: &'static str, description: &'static str| {
            let histogram = meter.u64_histogram(name).with_unit("{call}");
            histogram.with_description(description).with_boundaries(semconv::CALLS.into()).build()
        };
        let tokens = meter.u64_histogram(semconv::TOKEN_USAGE).with_unit("{token}");
        Self {
            operation_duration: seconds(semconv::OPERATION_DURATION, "Duration of an operation."),
            first_chunk: seconds(semconv::FIRST_CHUNK, "Time to the first chunk of an answer."),
            per_chunk: seconds(semconv::PER_CHUNK, "Time per chunk after the first one."),
            agent_duration: seconds(semconv::AGENT_DURATION, "Duration of a call of a service."),
            tool_duration: seconds(semconv::TOOL_DURATION, "Duration of a tool call."),
            tokens: tokens
                .with_description("Input and output tokens of an operation.")
                .with_boundaries(semconv::TOKENS.into())
                .build(),
            agent_inference_calls: calls(
                semconv::AGENT_INFERENCE_CALLS,
                "Requests to chat models in a call of a service.",
            ),
            agent_tool_calls: calls(
                semconv::AGENT_TOOL_CALLS,
                "Tool calls in a call of a service.",
            ),
        }
    }

    /// Records a count of tokens, if the provider has reported it.
    pub(crate) fn tokens(&self, kind: &'static str, count: Option<u64>, labels: &[KeyValue]) {
        if let Some(count) = count {
            let mut labels = labels.to_vec();
            labels.push(KeyValue::new(semconv::TOKEN_TYPE, kind));
            self.tokens.record(count, &labels);
        }
    }
}
