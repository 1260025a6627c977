//! Costs of a served stream, compared to a handler of axum by hand.
//!
//! A service answers with 1,000 pieces, which are ready at once. The routes are called without a connection, and their
//! bodies are read to the end.
//!
//! | row | measures |
//! |---|---|
//! | `service` | the stream of the service alone |
//! | `by hand` | the same stream as server-sent events of axum, with one struct of serde per piece |
//! | the others | the endpoints of the server |
//!
//! The difference to `service`, divided by 1,000, is the cost of a piece. Before the times, the memory of 200 streams that
//! run at once and are half read is printed.
//!
//! ```text
//! taskset -c 0 cargo bench -p ai-services-benches --bench serve
//! ```
#![allow(clippy::unwrap_used, reason = "a failed stream cannot be measured")]
#![allow(clippy::print_stdout, reason = "the figures are the output")]

use ai_services::message::AiMessage;
use ai_services::model::ChatResponse;
use ai_services::serve::{ChatServer, Principal};
use ai_services::{AnswerStream, Response, StreamEvent};
use ai_services_benches::workload;
use axum::body::Body;
use axum::response::sse::{Event, Sse};
use axum::routing::post;
use axum::{Router, body};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use futures_util::{StreamExt, stream};
use http::Request;
use serde::Serialize;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::hint::black_box;
use tower_service::Service;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const PIECES: usize = 1_000;
const STREAMS: usize = 200;

/// The endpoints, with a request each.
const ENDPOINTS: [(&str, &str); 4] = [
    (
        "/v1/chat/completions",
        r#"{"model":"a","stream":true,"messages":[{"role":"user","content":"Hi"}]}"#,
    ),
    ("/v1/responses", r#"{"model":"a","stream":true,"input":"Hi"}"#),
    ("/ui/a", r#"{"id":"c","messages":[{"role":"user","parts":[{"type":"text","text":"Hi"}]}]}"#),
    (
        "/ag-ui/a",
        r#"{"threadId":"c","runId":"r","messages":[{"role":"user","content":"Hi"}],"tools":[],"context":[]}"#,
    ),
];

fn answer() -> AnswerStream {
    let response = ChatResponse::new(AiMessage::new("word ".repeat(PIECES)));
    let last = Response::new("word ".repeat(PIECES), response);
    let pieces = (0..PIECES).map(|_| StreamEvent::Text("word ".to_owned()));
    let events = pieces.chain([StreamEvent::Completed(Box::new(last))]);
    AnswerStream::from_events(stream::iter(events.map(Ok)))
}

#[derive(Serialize)]
struct Piece {
    text: String,
}

fn by_hand() -> Router {
    let handler = async || {
        let events = answer().filter_map(async |event| match event.unwrap() {
            StreamEvent::Text(text) => Some(Event::default().json_data(Piece { text })),
            _ => None,
        });
        Sse::new(events)
    };
    Router::new().route("/", post(handler))
}

fn served() -> Router {
    let server = ChatServer::builder()
        .authenticate(async |_| Ok(Principal::new("ann")))
        .service("a", |_| answer())
        .build();
    server.unwrap().router()
}

async fn open(router: &mut Router, path: &str, request: &'static str) -> Body {
    let head = Request::post(path).header("content-type", "application/json");
    router.call(head.body(Body::from(request)).unwrap()).await.unwrap().into_body()
}

fn pieces(criterion: &mut Criterion) {
    memory();
    let runtime = workload::runtime();
    let mut group = criterion.benchmark_group("served stream");
    group.throughput(Throughput::Elements(PIECES as u64));
    group.bench_function("service", |bencher| {
        bencher.to_async(&runtime).iter(async || {
            let mut events = answer();
            while let Some(event) = events.next().await {
                black_box(event.unwrap());
            }
        });
    });
    let peer = ("by hand", by_hand(), "/", "{}");
    let ours = ENDPOINTS.map(|(path, request)| (path, served(), path, request));
    for (name, router, path, request) in [peer].into_iter().chain(ours) {
        group.bench_function(name, |bencher| {
            bencher.to_async(&runtime).iter(async || {
                let body = open(&mut router.clone(), path, request).await;
                black_box(body::to_bytes(body, usize::MAX).await.unwrap());
            });
        });
    }
}

/// Prints the memory of many streams that have begun.
fn memory() {
    let runtime = workload::runtime();
    for (path, request) in ENDPOINTS {
        let mut router = served();
        let region = Region::new(ALLOCATOR);
        let bodies = runtime.block_on(async {
            let mut bodies = Vec::with_capacity(STREAMS);
            for _ in 0..STREAMS {
                let mut body = open(&mut router, path, request).await.into_data_stream();
                black_box(body.next().await.unwrap().unwrap());
                bodies.push(body);
            }
            bodies
        });
        let change = region.change();
        let bytes = change.bytes_allocated.saturating_sub(change.bytes_deallocated);
        println!("{STREAMS} streams of {path}: {} KiB", bytes / 1024);
        drop(bodies);
    }
}

criterion_group!(benches, pieces);
criterion_main!(benches);
