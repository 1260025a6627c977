//! Embedding stores through the public API.

mod in_memory;
mod persistence;

use ai_services::document::{Metadata, TextSegment};
use ai_services::embedding::EmbeddingEntry;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Returns an entry with some metadata and a deterministic vector with the dimensions of a small model.
fn entry(number: usize) -> EmbeddingEntry {
    let metadata = Metadata::new().with("number", number as i64).with("rest", number as i64 % 10);
    let segment = TextSegment::new(format!("entry number {number}")).with_metadata(metadata);
    EmbeddingEntry::new(number.to_string(), vector(number), segment)
}

fn vector(number: usize) -> Vec<f32> {
    let mut state = number as u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    next();
    (0..384).map(|_| next()).collect()
}

fn entries(numbers: std::ops::Range<usize>) -> Vec<EmbeddingEntry> {
    numbers.map(entry).collect()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// Polls a future once.
async fn step<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    let step = poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    });
    step.await
}
