//! Time to parse an answer, compared to `serde_json::from_str` into the same type.
//!
//! | group | measures | peer |
//! |---|---|---|
//! | `read` | an answer of 1 KB and of 100 KB as a struct | `serde_json` |
//! | `read leniently` | the same in a code fence, which needs the lenient reader | `serde_json`, without the fence |
//! | `grow` | a struct of 4 KB in pieces of 16 bytes, with a value after each; time per piece | `serde_json` into the whole value, once |
#![allow(clippy::unwrap_used, reason = "a failed parse cannot be measured")]

use ai_services::message::AiMessage;
use ai_services::model::ChatResponse;
use ai_services::output::{Growing, Output};
use ai_services::schema::JsonSchema;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use serde::{Deserialize, Serialize};
use std::hint::black_box;

#[derive(Deserialize, JsonSchema, Serialize)]
struct Report {
    title: String,
    rows: Vec<Row>,
}

#[derive(Deserialize, JsonSchema, Serialize)]
struct Row {
    name: String,
    quantity: u32,
    price: f64,
    state: State,
    note: Option<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema, Serialize)]
enum State {
    Open,
    Sold,
}

/// Returns a report of at least this many bytes of JSON.
fn report(bytes: usize) -> String {
    let row = |index: usize| Row {
        name: format!("item \"{index}\""),
        quantity: index as u32,
        price: index as f64 / 4.0,
        state: if index.is_multiple_of(2) { State::Open } else { State::Sold },
        note: index.is_multiple_of(3).then(|| "a note of some length".to_owned()),
    };
    let of = |rows: usize| {
        let report = Report { title: "Stock".to_owned(), rows: (0..rows).map(row).collect() };
        serde_json::to_string(&report).unwrap()
    };
    (1..).map(of).find(|json| json.len() >= bytes).unwrap()
}

fn reading(criterion: &mut Criterion) {
    let shape = Report::shape();
    for bytes in [1_000, 100_000] {
        let json = report(bytes);
        let mut read = |group: &str, text: &str| {
            let mut group = criterion.benchmark_group(group);
            group.throughput(Throughput::Bytes(json.len() as u64));
            let response = ChatResponse::new(AiMessage::new(text));
            group.bench_function(BenchmarkId::new("output", bytes), |bencher| {
                bencher.iter(|| Report::from_response(black_box(&response), &shape).unwrap());
            });
            group.bench_function(BenchmarkId::new("serde_json", bytes), |bencher| {
                bencher.iter(|| serde_json::from_str::<Report>(black_box(&json)).unwrap());
            });
        };
        read("read", &json);
        read("read leniently", &format!("```json\n{json}\n```"));
    }
}

fn growing(criterion: &mut Criterion) {
    const PIECE: usize = 16;
    let json = report(4_000);
    let pieces: Vec<&str> =
        json.as_bytes().chunks(PIECE).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
    let mut group = criterion.benchmark_group("grow");
    group.throughput(Throughput::Elements(pieces.len() as u64));
    group.bench_function("output", |bencher| {
        bencher.iter(|| {
            let mut growing = Growing::<Report>::new(Report::shape());
            for piece in &pieces {
                growing.push(piece);
                black_box(growing.value());
            }
        });
    });
    group.bench_function("serde_json", |bencher| {
        bencher.iter(|| serde_json::from_str::<Report>(black_box(&json)).unwrap());
    });
}

criterion_group!(benches, reading, growing);
criterion_main!(benches);
