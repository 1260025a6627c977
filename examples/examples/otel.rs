//! Traces and metrics with OpenTelemetry.
//!
//! Sends spans and metrics by OTLP over HTTP to the collector at `OTEL_EXPORTER_OTLP_ENDPOINT`, for example
//! `http://localhost:6006` of Phoenix. Without the variable, it prints the spans instead.
//!
//! ```sh
//! OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:6006 cargo run --example otel
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "examples print their results")]

use ai_services::memory::MessageWindowChatMemory;
use ai_services::message::ToolCall;
use ai_services::model::TokenUsage;
use ai_services::otel::{ContentCapture, Telemetry};
use ai_services::rag::{Query, RetrievedContent};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{ErrorKind, ai_service, tool};
use opentelemetry::metrics::MeterProvider;
use opentelemetry::trace::{SpanId, TracerProvider};
use opentelemetry_otlp::{MetricExporter, SpanExporter};
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use tracing_subscriber::layer::SubscriberExt;

#[ai_service]
#[system_message("You are a gardener. Answer in one sentence.")]
trait Gardener {
    async fn chat(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<String>;
}

/// Returns the temperature of the greenhouse in degrees Celsius.
#[tool]
fn temperature() -> f64 {
    31.5
}

async fn handbook(_: Query) -> ai_services::Result<Vec<RetrievedContent>> {
    Ok(vec![RetrievedContent::from("Tomatoes grow best at 20 to 25 degrees.").with_score(0.9)])
}

/// The exporters: to a collector, or in memory.
struct Exporters {
    traces: SdkTracerProvider,
    metrics: SdkMeterProvider,
    in_memory: Option<InMemorySpanExporter>,
}

impl Exporters {
    fn from_env() -> anyhow::Result<Self> {
        let (traces, metrics) = (SdkTracerProvider::builder(), SdkMeterProvider::builder());
        if std::env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_some() {
            // The exporter's client takes the provider of cryptography of the process. An error means that there is one.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let spans = SpanExporter::builder().with_http().build()?;
            let points = MetricExporter::builder().with_http().build()?;
            return Ok(Self {
                traces: traces.with_batch_exporter(spans).build(),
                metrics: metrics.with_periodic_exporter(points).build(),
                in_memory: None,
            });
        }
        let spans = InMemorySpanExporter::default();
        let traces = traces.with_simple_exporter(spans.clone()).build();
        Ok(Self { traces, metrics: metrics.build(), in_memory: Some(spans) })
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let exporters = Exporters::from_env()?;
    let telemetry = Telemetry::builder()
        .meter(exporters.metrics.meter("gardener"))
        // Without this line, no prompt and no answer leaves the process.
        .content(ContentCapture::Attributes { max_bytes: 64 << 10 })
        .build();
    let tracer = exporters.traces.tracer("gardener");
    let subscriber = tracing_subscriber::registry()
        .with(tracing_opentelemetry::layer().with_tracer(tracer))
        .with(telemetry.layer());
    tracing::subscriber::set_global_default(subscriber)?;

    let model = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([ToolCall::new("call-1", "temperature", "{}")])
            .with_usage(TokenUsage::new(120, 12)),
        ScriptedAnswer::text("It is too hot: open the windows.")
            .with_usage(TokenUsage::new(150, 9)),
        ScriptedAnswer::error(ErrorKind::Unavailable, "the model is overloaded"),
    ]);
    let gardener = GardenerService::builder()
        .chat_model(model)
        .chat_memory_provider(|id| {
            MessageWindowChatMemory::builder().id(id).max_messages(20).build()
        })
        .content_retriever(handbook)
        .tools(temperature::tool())
        .listener(telemetry.listener())
        .build()?;
    println!("{}", gardener.chat("ann@example.com", "How are my tomatoes?").await?);
    // The span of a failed call has the status of an error.
    if let Err(error) = gardener.chat("ann@example.com", "And now?").await {
        println!("{error}");
    }

    if let Some(spans) = &exporters.in_memory {
        print_children(&spans.get_finished_spans()?, SpanId::INVALID, 0);
    }
    exporters.traces.shutdown()?;
    // Some back-ends, like Phoenix, take traces only.
    if let Err(error) = exporters.metrics.shutdown() {
        eprintln!("the metrics were not sent: {error}");
    }
    Ok(())
}

/// Prints the spans within a span as an indented tree.
fn print_children(spans: &[SpanData], parent: SpanId, depth: usize) {
    let mut children: Vec<_> = spans.iter().filter(|span| span.parent_span_id == parent).collect();
    children.sort_by_key(|span| span.start_time);
    for span in children {
        println!("{}{}", "  ".repeat(depth), span.name);
        for attribute in &span.attributes {
            if attribute.key.as_str().starts_with("gen_ai.") {
                println!("{}| {} = {}", "  ".repeat(depth), attribute.key, attribute.value);
            }
        }
        print_children(spans, span.span_context.span_id(), depth + 1);
    }
}
