//! Metrics against the usage that the framework reports.

use crate::fixture::{Agent, Exported, agent, export, look_up};
use ai_services::combinators::FallbackModel;
use ai_services::event::{Call, Event};
use ai_services::message::{AiMessage, ToolCall};
use ai_services::model::{ChatResponse, TokenUsage};
use ai_services::otel::Telemetry;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{Error, ErrorKind};
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A histogram, for each set of attributes.
#[derive(Debug, Default)]
struct Points {
    unit: String,
    bounds: Vec<f64>,
    /// Sum and count by attributes.
    values: BTreeMap<String, (f64, u64)>,
}

fn histograms(exported: &Exported) -> BTreeMap<String, Points> {
    exported.meters.force_flush().unwrap();
    let mut all = BTreeMap::new();
    let finished = exported.metrics.get_finished_metrics().unwrap();
    for metric in finished.last().unwrap().scope_metrics().flat_map(|scope| scope.metrics()) {
        let mut points = Points { unit: metric.unit().to_owned(), ..Points::default() };
        macro_rules! read {
            ($histogram:expr) => {
                for point in $histogram.data_points() {
                    let mut labels: Vec<String> = point
                        .attributes()
                        .map(|label| format!("{}={}", label.key, label.value))
                        .collect();
                    labels.sort();
                    points.bounds = point.bounds().collect();
                    points.values.insert(labels.join(" "), (point.sum() as f64, point.count()));
                }
            };
        }
        match metric.data() {
            AggregatedMetrics::F64(MetricData::Histogram(histogram)) => read!(histogram),
            AggregatedMetrics::U64(MetricData::Histogram(histogram)) => read!(histogram),
            other => panic!("not a histogram: {other:?}"),
        }
        all.insert(metric.name().to_owned(), points);
    }
    all
}

fn tokens(all: &BTreeMap<String, Points>, kind: &str) -> f64 {
    let label = format!("gen_ai.token.type={kind}");
    let usage = &all["gen_ai.client.token.usage"];
    usage.values.iter().filter(|(labels, _)| labels.contains(&label)).map(|(_, (sum, _))| sum).sum()
}

/// Answers with a different usage each time: a tool call, a failure, no count, a text.
fn answer(number: usize) -> ScriptedAnswer {
    let usage = TokenUsage::new(number as u64 % 97, number as u64 % 31);
    match number % 5 {
        0 => {
            let call = ToolCall::new("1", "look_up", r#"{"text":"tea"}"#);
            let message = AiMessage::builder().tool_calls([call]).build();
            ChatResponse::new(message).with_usage(usage).into()
        }
        1 => ScriptedAnswer::text("Hello."),
        2 => Error::new(ErrorKind::Unavailable, "down").with_usage(usage).into(),
        _ => ScriptedAnswer::text("Hello.").with_usage(usage),
    }
}

#[tokio::test]
async fn token_counts_are_the_sums_of_a_thousand_turns() {
    let exported = export(Telemetry::builder());
    let sum = Arc::new(Mutex::new((TokenUsage::default(), 0_u64)));
    let seen = Arc::clone(&sum);
    let model =
        |offset: usize| ScriptedChatModel::from_fn(move |number, _| answer(number * 3 + offset));
    let fallback = FallbackModel::builder().model(model(0)).model(model(1)).build().unwrap();
    let listener = move |_: &Call<'_>, event: &Event<'_>| {
        let mut sum = seen.lock().unwrap();
        match event {
            Event::Completed { usage, .. } => sum.0 += **usage,
            Event::Failed { error } => sum.0 += error.usage().copied().unwrap_or_default(),
            _ => return,
        }
        sum.1 += 1;
    };
    let agent = agent!(exported, fallback, tools(look_up::tool()), listener(listener));
    for turn in 0..1_000 {
        let id = format!("user-{}", turn % 50);
        if turn % 2 == 0 {
            let _ = agent.chat(&id, "Hi!").await;
        } else {
            let _ = agent.stream(&id, "Hi!").collect().await;
        }
    }
    let all = histograms(&exported);
    let (usage, turns) = *sum.lock().unwrap();
    assert_eq!(turns, 1_000);
    assert!(usage.input.unwrap() > 10_000, "{usage:?}");
    assert_eq!(tokens(&all, "input"), usage.input.unwrap() as f64);
    assert_eq!(tokens(&all, "output"), usage.output.unwrap() as f64);
    let calls: u64 =
        all["gen_ai.invoke_agent.duration"].values.values().map(|(_, count)| count).sum();
    assert_eq!(calls, 1_000);
}

#[tokio::test]
async fn histograms_have_the_buckets_of_the_conventions() {
    let exported = export(Telemetry::builder());
    let call = ToolCall::new("1", "look_up", r#"{"text":"tea"}"#);
    let model = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([call]),
        ScriptedAnswer::text("Hello you.").chunked(2).with_usage(TokenUsage::new(3, 4)),
    ]);
    let agent = agent!(exported, model, tools(look_up::tool()));
    agent.stream("ann", "Hi!").collect().await.unwrap();
    let all = histograms(&exported);
    let names: Vec<&str> = all.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "gen_ai.client.operation.duration",
            "gen_ai.client.operation.time_per_output_chunk",
            "gen_ai.client.operation.time_to_first_chunk",
            "gen_ai.client.token.usage",
            "gen_ai.execute_tool.duration",
            "gen_ai.invoke_agent.duration",
            "gen_ai.invoke_agent.inference_calls",
            "gen_ai.invoke_agent.tool_calls",
        ]
    );
    let seconds = (0..14).map(|power| 0.01 * f64::from(1 << power));
    let tokens = (0..14).map(|power| f64::from(1 << (2 * power)));
    let (seconds, tokens): (Vec<f64>, Vec<f64>) = (seconds.collect(), tokens.collect());
    for (name, points) in &all {
        match points.unit.as_str() {
            "s" => assert_eq!(points.bounds, seconds, "{name}"),
            "{token}" => assert_eq!(points.bounds, tokens, "{name}"),
            unit => assert_eq!(unit, "{call}", "{name}"),
        }
    }
    let only = |name: &str| all[name].values.values().copied().next().unwrap();
    assert_eq!(only("gen_ai.invoke_agent.inference_calls"), (2.0, 1));
    assert_eq!(only("gen_ai.invoke_agent.tool_calls"), (1.0, 1));
    // One piece of a tool call, and five of the text.
    assert_eq!(only("gen_ai.client.operation.time_per_output_chunk").1, 4);
    let labels = all["gen_ai.client.operation.duration"].values.keys().next().unwrap();
    assert_eq!(
        labels,
        "gen_ai.operation.name=chat gen_ai.provider.name=scripted gen_ai.request.model=scripted"
    );
}

#[tokio::test]
async fn dropped_call_is_counted_as_cancelled() {
    let exported = export(Telemetry::builder());
    let long = ScriptedAnswer::text("Hello. ".repeat(1_000)).chunked(2);
    let agent = agent!(exported, ScriptedChatModel::new([long]));
    let mut stream = agent.stream("ann", "Hi!");
    stream.next().await.unwrap().unwrap();
    drop(stream);
    let all = histograms(&exported);
    for name in ["gen_ai.client.operation.duration", "gen_ai.invoke_agent.duration"] {
        let labels = all[name].values.keys().next().unwrap();
        assert!(labels.contains("error.type=cancelled"), "{name}: {labels}");
    }
    assert!(!all.contains_key("gen_ai.client.token.usage"), "no count was reported");
}
