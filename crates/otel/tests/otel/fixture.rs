//! Exporters in memory, and a service with every kind of step.

use ai_services::guardrail::{
    InputGuardrail, InputGuardrailRequest, InputVerdict, OutputGuardrail, OutputGuardrailRequest,
    OutputVerdict,
};
use ai_services::model::{Moderation, ModerationModel};
use ai_services::otel::{Telemetry, TelemetryBuilder};
use ai_services::{ai_service, async_trait, tool};
use opentelemetry::metrics::MeterProvider;
use opentelemetry::trace::{SpanId, SpanKind, Status, TracerProvider};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::SubscriberExt;

#[ai_service]
#[system_message("SECRET system")]
pub(crate) trait Agent {
    async fn chat(
        &self,
        #[memory_id] id: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<String>;
    fn stream(
        &self,
        #[memory_id] id: &str,
        #[user_message] text: &str,
    ) -> ai_services::AnswerStream;
    async fn count(
        &self,
        #[memory_id] id: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<u32>;
}

#[ai_service]
pub(crate) trait Moderated {
    #[moderate]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;
}

/// Builds an agent whose telemetry is exported.
macro_rules! agent {
    ($exported:expr, $model:expr $(, $setter:ident($argument:expr))*) => {
        $crate::fixture::AgentService::builder()
            .chat_model($model)
            .chat_memory_provider(|id| {
                ai_services::memory::MessageWindowChatMemory::builder().id(id).max_messages(20).build()
            })
            .listener($exported.telemetry.listener())
            $(.$setter($argument))*
            .build()
            .unwrap()
    };
}

pub(crate) use agent;

/// Looks something up.
#[tool]
pub(crate) fn look_up(text: &str) -> Result<String, String> {
    if text.contains("fail") {
        Err(format!("SECRET error for {text}"))
    } else {
        Ok(format!("SECRET result for {text}"))
    }
}

/// The exported telemetry of one test.
pub(crate) struct Exported {
    spans: InMemorySpanExporter,
    pub(crate) metrics: InMemoryMetricExporter,
    pub(crate) meters: SdkMeterProvider,
    pub(crate) telemetry: Telemetry,
    _guard: DefaultGuard,
}

/// Exports the telemetry of this thread until the value is dropped.
pub(crate) fn export(builder: TelemetryBuilder) -> Exported {
    let spans = InMemorySpanExporter::default();
    let traces = SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build();
    let metrics = InMemoryMetricExporter::default();
    let reader = PeriodicReader::builder(metrics.clone()).build();
    let meters = SdkMeterProvider::builder().with_reader(reader).build();
    let telemetry = builder.meter(meters.meter("test")).build();
    let layer = tracing_opentelemetry::layer().with_tracer(traces.tracer("test"));
    let subscriber = tracing_subscriber::registry().with(layer).with(telemetry.layer());
    let guard = tracing::subscriber::set_default(subscriber);
    Exported { spans, metrics, meters, telemetry, _guard: guard }
}

impl Exported {
    /// Returns the finished spans, in the order of their starts.
    pub(crate) fn spans(&self) -> Vec<SpanData> {
        let mut spans = self.spans.get_finished_spans().unwrap();
        spans.sort_by_key(|span| span.start_time);
        spans
    }

    /// Returns the spans as an indented tree, with the kind `client` and the type of an error.
    pub(crate) fn tree(&self) -> Vec<String> {
        let mut lines = Vec::new();
        add_children(&self.spans(), SpanId::INVALID, 0, &mut lines);
        lines
    }
}

fn add_children(spans: &[SpanData], parent: SpanId, depth: usize, lines: &mut Vec<String>) {
    for span in spans.iter().filter(|span| span.parent_span_id == parent) {
        let mut line = format!("{}{}", "  ".repeat(depth), span.name);
        if span.span_kind == SpanKind::Client {
            line.push_str(" [client]");
        }
        let error = attribute(span, "error.type");
        assert_eq!(error.is_some(), matches!(span.status, Status::Error { .. }), "{span:?}");
        if let Some(error) = error {
            line.push_str(&format!(" !{error}"));
        }
        lines.push(line);
        add_children(spans, span.span_context.span_id(), depth + 1, lines);
    }
}

/// Returns an attribute as text. Fails if the span has two of this name.
pub(crate) fn attribute(span: &SpanData, name: &str) -> Option<String> {
    let mut values = span.attributes.iter().filter(|attribute| attribute.key.as_str() == name);
    let value = values.next().map(|attribute| attribute.value.to_string());
    assert!(values.next().is_none(), "{name} occurs twice: {span:?}");
    value
}

/// A guardrail that rejects messages with the word `forbidden`.
pub(crate) struct Censor;

#[async_trait]
impl InputGuardrail for Censor {
    async fn check(&self, request: InputGuardrailRequest<'_>) -> ai_services::Result<InputVerdict> {
        let is_forbidden = request.text().contains("forbidden");
        Ok(if is_forbidden {
            InputVerdict::Fatal("SECRET reason".into())
        } else {
            InputVerdict::Success
        })
    }

    fn name(&self) -> &str {
        "censor"
    }
}

#[async_trait]
impl OutputGuardrail for Censor {
    async fn check(&self, _: OutputGuardrailRequest<'_>) -> ai_services::Result<OutputVerdict> {
        Ok(OutputVerdict::Success)
    }

    fn name(&self) -> &str {
        "reader"
    }
}

/// A moderation model that accepts everything.
pub(crate) struct Accepting;

#[async_trait]
impl ModerationModel for Accepting {
    async fn moderate(&self, _: &str) -> ai_services::Result<Moderation> {
        Ok(Moderation::passed())
    }

    fn name(&self) -> &str {
        "judge"
    }
}
