//! Costs of the guardrails that check texts, per MiB of text.
//!
//! | group | measures |
//! |---|---|
//! | `redact/prose` | a text without findings |
//! | `redact/personal` | a text full of addresses and numbers |
//! | `redact/digits` | a text with many false starts of findings |
//! | `streaming/…` | the same texts, redacted in pieces of 4 bytes, like tokens |
//! | `patterns/…` | the same texts, checked for prompt injection |

use ai_services::guardrail::{ChunkGuardrail, ChunkVerdict, PromptInjectionPatterns, Redaction};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const MIB: usize = 1 << 20;

const PROSE: &str = "The shelf came without screws, so I wrote to the shop in Oslo on 3 May 2026 and asked \
    for a new one; they said it takes 14 days. ";
const PERSONAL: &str = "I am ann@example.org, call +49 30 1234567 or pay to DE89 3704 0044 0532 0130 00 \
    by card 4111 1111 1111 1111 from 192.0.2.7. ";

fn texts() -> [(&'static str, String); 3] {
    let repeated = |text: &str| text.repeat(MIB / text.len());
    [("prose", repeated(PROSE)), ("personal", repeated(PERSONAL)), ("digits", repeated("4111 1 "))]
}

fn guardrails(c: &mut Criterion) {
    let (redaction, patterns) = (Redaction::all(), PromptInjectionPatterns::new());
    let mut group = c.benchmark_group("guardrails");
    group.sample_size(10);
    for (name, text) in texts() {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(format!("redact/{name}"), |b| {
            b.iter(|| redaction.redact(black_box(&text)).len());
        });
        group.bench_function(format!("streaming/{name}"), |b| {
            b.iter(|| streamed(&redaction, black_box(&text)));
        });
        group.bench_function(format!("patterns/{name}"), |b| {
            b.iter(|| patterns.sign_of(black_box(&text)));
        });
    }
    group.finish();
}

/// Returns the length of the output for an ASCII text in pieces of 4 bytes.
fn streamed(redaction: &Redaction, text: &str) -> usize {
    let mut streaming = redaction.streaming();
    let output_length = |verdict| match verdict {
        ChunkVerdict::Rewrite(text) => text.len(),
        _ => 0,
    };
    let mut length = 0;
    for start in (0..text.len()).step_by(4) {
        let piece = text.get(start..text.len().min(start + 4)).unwrap_or_default();
        length += output_length(streaming.check(piece));
    }
    length + output_length(streaming.finish())
}

criterion_group!(benches, guardrails);
criterion_main!(benches);
