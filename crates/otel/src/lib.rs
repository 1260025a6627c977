//! OpenTelemetry for AI services: spans, metrics and opt-in content of the conventions for generative AI, v1.41.1.
//!
//! The spans of a service are `tracing` spans with the names and attributes of the conventions. The layer of
//! `tracing-opentelemetry` exports them. A [`Telemetry`] adds the rest: metrics, attributes that are lists, the id of
//! the conversation on every span of a call, and content, if you ask for it.
//!
//! # Installation
//!
//! ```sh
//! cargo add ai-services --features otel
//! cargo add tracing-subscriber tracing-opentelemetry
//! cargo add opentelemetry_sdk --features metrics,trace
//! cargo add opentelemetry-otlp
//! ```
//!
//! The exporter's HTTP client may need a provider of cryptography for the process, because `ai-services` chooses none for
//! other crates: call `rustls::crypto::ring::default_provider().install_default()` before you build the exporter.
//!
//! Add the layer once per process, and the listener to each service:
//!
//! ```
//! use ai_services::ai_service;
//! use ai_services::otel::Telemetry;
//! use ai_services::testing::ScriptedChatModel;
//! use opentelemetry::metrics::MeterProvider;
//! use opentelemetry::trace::TracerProvider;
//! use opentelemetry_sdk::metrics::SdkMeterProvider;
//! use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
//! use tracing_subscriber::layer::SubscriberExt;
//!
//! #[ai_service]
//! trait Assistant {
//!     async fn chat(&self, text: &str) -> ai_services::Result<String>;
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> ai_services::Result<()> {
//! let exporter = InMemorySpanExporter::default(); // for example `opentelemetry_otlp::SpanExporter`
//! let traces = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
//! let metrics = SdkMeterProvider::builder().build();
//! let telemetry = Telemetry::builder().meter(metrics.meter("ai-services")).build();
//! let subscriber = tracing_subscriber::registry()
//!     .with(tracing_opentelemetry::layer().with_tracer(traces.tracer("ai-services")))
//!     .with(telemetry.layer());
//! # let _guard = tracing::subscriber::set_default(subscriber);
//! # /*
//! tracing::subscriber::set_global_default(subscriber)?;
//! # */
//!
//! let assistant = AssistantService::builder()
//!     .chat_model(ScriptedChatModel::replies(["Hello!"]))
//!     .listener(telemetry.listener())
//!     .build()?;
//! assistant.chat("Hi!").await?;
//!
//! let spans = exporter.get_finished_spans().unwrap();
//! let names: Vec<_> = spans.iter().map(|span| &*span.name).collect();
//! assert_eq!(names, ["chat scripted", "invoke_agent Assistant"]);
//! # Ok(())
//! # }
//! ```
//!
//! # Spans
//!
//! | span | kind | one for each |
//! |---|---|---|
//! | `invoke_agent {service}` | internal | call of a method |
//! | `chat {model}` | client | request to a chat model, with all of its retries |
//! | `embeddings {model}` | client | request to an embedding model, of a search or an ingestion |
//! | `execute_tool {tool}` | internal | tool call |
//! | `retrieval {route}` | client | retriever and query |
//! | `retrieve`, `guardrail`, `moderation`, `summarize`, `memory.load`, `memory.commit` | internal | step of a call; the names of their attributes begin with `ai_services.` |
//!
//! A fallback and a router have a `chat` span of their own, with one `chat` span for each model that they call within it.
//! The usage is in the inner spans only, so that sums count it once. Retries are events of a span. A step that failed has
//! the status error and `error.type`; one whose call was dropped has `error.type=cancelled`. A failed request has the
//! event `gen_ai.client.operation.exception` with the type of the error, as a span event: log records need the SDK.
//!
//! Not recorded, because the framework does not know them: settings in the builder of a client, `gen_ai.agent.id` and
//! `gen_ai.agent.version`, `gen_ai.request.top_k` of a retrieval, and `gen_ai.request.encoding_formats`.
//!
//! # Metrics
//!
//! | histogram | unit |
//! |---|---|
//! | `gen_ai.client.operation.duration`, of chat and embeddings | s |
//! | `gen_ai.client.token.usage`: counts that a provider reported, never estimates | {token} |
//! | `gen_ai.client.operation.time_to_first_chunk` | s |
//! | `gen_ai.client.operation.time_per_output_chunk`: the mean of an answer, once for each chunk after the first | s |
//! | `gen_ai.invoke_agent.duration`, `gen_ai.execute_tool.duration` | s |
//! | `gen_ai.invoke_agent.inference_calls`, `gen_ai.invoke_agent.tool_calls` | {call} |
//!
//! Metrics are measured by spans: a level or filter that disables the spans of `ai_services` disables their metrics.
//! Cached answers are not operations of a model.
//!
//! # Privacy
//!
//! - **Content** is not recorded by default: no prompts, answers, arguments and results of tools, retrieved texts, and no
//!   texts of errors, which may quote them. Only a [`ContentCapture`] in your code changes that. It is sent to the back-end as it
//!   is: use [`ContentCapture::hook`] to redact it.
//! - **Memory ids** are hashed by default; see [`MemoryIds`].
//! - Names are recorded: of services, models, tools, guardrails and routes, and the names of tools that a model invents.
//! - `tracing-opentelemetry` also records the log events of all crates within a span. Add a filter to its layer if your
//!   tools log content.

mod content;
mod content_json;
mod instruments;
mod layer;
mod listener;
mod memory_ids;
mod semconv;
mod settings;
mod span_state;
mod telemetry;
mod truncation;

pub use content::{ContentCapture, ContentHook};
pub use layer::TelemetryLayer;
pub use memory_ids::MemoryIds;
pub use telemetry::{Telemetry, TelemetryBuilder};
