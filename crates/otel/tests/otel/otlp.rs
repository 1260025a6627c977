//! Telemetry as a collector gets it: by OTLP over HTTP, decoded with the messages of the protocol.

use crate::fixture::{Agent, agent, look_up};
use ai_services::message::ToolCall;
use ai_services::model::TokenUsage;
use ai_services::otel::Telemetry;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use opentelemetry::metrics::MeterProvider;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{MetricExporter, SpanExporter, WithExportConfig};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use prost::Message;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tracing_subscriber::layer::SubscriberExt;

/// The bodies that a collector has received.
#[derive(Clone, Default)]
struct Collector {
    traces: Arc<Mutex<Vec<Bytes>>>,
    metrics: Arc<Mutex<Vec<Bytes>>>,
}

impl Collector {
    /// Starts a collector and returns its address.
    async fn start() -> (Self, String) {
        let collector = Self::default();
        let routes = Router::new()
            .route(
                "/v1/traces",
                post(|State(this): State<Self>, body: Bytes| async move {
                    this.traces.lock().unwrap().push(body);
                }),
            )
            .route(
                "/v1/metrics",
                post(|State(this): State<Self>, body: Bytes| async move {
                    this.metrics.lock().unwrap().push(body);
                }),
            )
            .with_state(collector.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        #[allow(clippy::disallowed_methods, reason = "the collector ends with the test")]
        tokio::spawn(async move { axum::serve(listener, routes).await });
        (collector, url)
    }

    fn spans(&self) -> Vec<Span> {
        let bodies = self.traces.lock().unwrap().clone();
        let requests =
            bodies.into_iter().map(|body| ExportTraceServiceRequest::decode(body).unwrap());
        let resources = requests.flat_map(|request| request.resource_spans);
        resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans).collect()
    }

    /// Returns the number of points, their sum, and the unit of a histogram.
    fn histogram(&self, name: &str) -> (u64, f64, String) {
        let bodies = self.metrics.lock().unwrap().clone();
        let body = bodies.into_iter().next_back().unwrap();
        let request = ExportMetricsServiceRequest::decode(body).unwrap();
        let scopes =
            request.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
        let mut metrics = scopes.flat_map(|scope| scope.metrics);
        let metric = metrics.find(|metric| metric.name == name).unwrap();
        let Some(Data::Histogram(histogram)) = metric.data else {
            panic!("{name} is no histogram")
        };
        let points = histogram.data_points;
        let count = points.iter().map(|point| point.count).sum();
        (count, points.iter().filter_map(|point| point.sum).sum(), metric.unit)
    }
}

fn attribute(span: &Span, name: &str) -> Option<Value> {
    let mut found = span.attributes.iter().filter(|attribute| attribute.key == name);
    let value = found.next()?.value.clone()?.value;
    assert!(found.next().is_none(), "{name} occurs twice");
    value
}

fn text(span: &Span, name: &str) -> String {
    match attribute(span, name) {
        Some(Value::StringValue(text)) => text,
        value => panic!("{name} is {value:?}"),
    }
}

/// The part of the fixture that builds an agent.
struct Exported {
    telemetry: Telemetry,
}

/// Runs a call with a tool that fails, and sends its telemetry.
async fn send(url: String) {
    // The exporter's client needs one, even without TLS, if a crate of the build turns TLS on.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let spans = SpanExporter::builder().with_http().with_endpoint(format!("{url}/v1/traces"));
    let points = MetricExporter::builder().with_http().with_endpoint(format!("{url}/v1/metrics"));
    let traces = SdkTracerProvider::builder().with_batch_exporter(spans.build().unwrap()).build();
    let meters =
        SdkMeterProvider::builder().with_periodic_exporter(points.build().unwrap()).build();
    let telemetry = Telemetry::builder().meter(meters.meter("test")).build();
    let subscriber = tracing_subscriber::registry()
        .with(tracing_opentelemetry::layer().with_tracer(traces.tracer("test")))
        .with(telemetry.layer());
    let guard = tracing::subscriber::set_default(subscriber);
    let script = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([ToolCall::new("1", "look_up", r#"{"text":"fail"}"#)])
            .with_usage(TokenUsage::new(10, 2)),
        ScriptedAnswer::text("Sorry.").with_usage(TokenUsage::new(30, 4)),
    ]);
    let exported = Exported { telemetry };
    agent!(exported, script, tools(look_up::tool())).chat("ann", "Hi!").await.unwrap();
    drop(guard);
    let flushing = tokio::task::spawn_blocking(move || {
        traces.force_flush().unwrap();
        meters.force_flush().unwrap();
    });
    flushing.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn collector_receives_the_tree_and_the_metrics() {
    let (collector, url) = Collector::start().await;
    send(url).await;
    let mut spans = collector.spans();
    spans.sort_by_key(|span| span.start_time_unix_nano);
    let names: Vec<_> = spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "invoke_agent Agent",
            "memory.load",
            "chat scripted",
            "execute_tool look_up",
            "chat scripted",
            "memory.commit",
        ]
    );
    let (agent, chat, tool) = (&spans[0], &spans[4], &spans[3]);
    assert!(agent.parent_span_id.is_empty());
    for span in &spans[1..] {
        assert_eq!((&span.trace_id, &span.parent_span_id), (&agent.trace_id, &agent.span_id));
        assert_eq!(text(span, "gen_ai.conversation.id"), text(agent, "gen_ai.conversation.id"));
    }
    assert_eq!((agent.kind(), chat.kind()), (SpanKind::Internal, SpanKind::Client));
    let code = |span: &Span| span.status.as_ref().map_or(StatusCode::Unset, |status| status.code());
    let (unset, failed) = (StatusCode::Unset, StatusCode::Error);
    assert_eq!((code(agent), code(chat), code(tool)), (unset, unset, failed));
    assert_eq!(text(tool, "error.type"), "Tool");
    // Counts are numbers, and lists are lists.
    assert_eq!(attribute(chat, "gen_ai.usage.input_tokens"), Some(Value::IntValue(30)));
    assert_eq!(attribute(agent, "gen_ai.usage.input_tokens"), Some(Value::IntValue(40)));
    let Some(Value::ArrayValue(reasons)) = attribute(chat, "gen_ai.response.finish_reasons") else {
        panic!("no list: {chat:?}");
    };
    assert_eq!(reasons.values[0].value, Some(Value::StringValue("stop".to_owned())));

    let (count, sum, unit) = collector.histogram("gen_ai.client.token.usage");
    assert_eq!((count, sum, unit.as_str()), (4, 46.0, "{token}"));
    let (count, _, unit) = collector.histogram("gen_ai.client.operation.duration");
    assert_eq!((count, unit.as_str()), (2, "s"));
}
