//! Time of operations of the in-memory embedding store, with vectors of 384 dimensions.
//!
//! | group | measures | peers |
//! |---|---|---|
//! | `nearest` | the ten nearest of 10,000 and of 100,000 entries | `cosine`: a loop that compares and sorts, without normalized vectors; `sum`: the sum of the same numbers, at memory bandwidth |
//! | `filter` | the same with 100,000 entries and a filter that accepts 1, 50 and 100 % | `nearest` |
//! | `words` | ten of 100,000 texts of 40 words by two, five and 20 words, with an existing index | |
//! | `add` | adding 10,000 entries to an empty store, and replacing them | `clone`: copying them |
//! | `file` | saving (with a sync to disk) and loading 100,000 entries | `copy`: writing the same number of bytes with a sync |
//!
//! The numbers come from a fixed seed. Memory bandwidth is shared with other programs; pin the process to one
//! processor.
//!
//! ```text
//! taskset -c 0 cargo bench -p ai-services-benches --bench search
//! cargo bench -p ai-services-benches --bench search -- nearest/100000
//! ```
#![allow(clippy::unwrap_used, reason = "a failed search cannot be measured")]

use ai_services::document::{Metadata, TextSegment};
use ai_services::embedding::{
    EmbeddingEntry, EmbeddingStore, Filter, InMemoryEmbeddingStore, TextSearch, VectorSearch,
};
use ai_services_benches::random::Random;
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::io::Write;
use std::time::Duration;
use tokio::runtime::Runtime;

const DIMENSIONS: usize = 384;
const LARGE: usize = 100_000;
const SMALL: usize = 10_000;
const TOP: usize = 10;

fn entries(count: usize) -> Vec<EmbeddingEntry> {
    let mut random = Random::new(42);
    let entry = |number: usize| {
        let metadata = Metadata::new()
            .with("source", format!("documents/{}.md", number / 20))
            .with("percent", (random.number() % 100) as i64);
        let text: Vec<_> = (0..40).map(|_| random.word()).collect();
        let segment = TextSegment::new(text.join(" ")).with_metadata(metadata);
        EmbeddingEntry::new(format!("{number:08}"), random.vector(DIMENSIONS), segment)
    };
    (0..count).map(entry).collect()
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn store(entries: &[EmbeddingEntry]) -> InMemoryEmbeddingStore {
    let store = InMemoryEmbeddingStore::new();
    runtime().block_on(store.add(entries.to_vec())).unwrap();
    store
}

/// The peer: compares all entries and sorts them.
fn cosine_loop(vectors: &[Vec<f32>], query: &[f32]) -> Vec<(usize, f32)> {
    let mut scores: Vec<_> = vectors
        .iter()
        .map(|vector| {
            let dot: f32 = vector.iter().zip(query).map(|(a, b)| a * b).sum();
            let own: f32 = vector.iter().map(|a| a * a).sum();
            let other: f32 = query.iter().map(|b| b * b).sum();
            dot / (own * other).sqrt()
        })
        .enumerate()
        .collect();
    scores.sort_by(|a, b| b.1.total_cmp(&a.1));
    scores.truncate(TOP);
    scores
}

/// The lower bound: reads every number once.
fn sum(numbers: &[f32]) -> f32 {
    let mut sums = [0.0; 32];
    for chunk in numbers.as_chunks::<32>().0 {
        for (sum, number) in sums.iter_mut().zip(chunk) {
            *sum += number;
        }
    }
    sums.iter().sum()
}

fn nearest(criterion: &mut Criterion) {
    let (all, runtime, query) = (entries(LARGE), runtime(), Random::new(7).vector(DIMENSIONS));
    for count in [SMALL, LARGE] {
        let some = all.get(..count).unwrap();
        let bytes = count * DIMENSIONS * size_of::<f32>();
        let mut group = criterion.benchmark_group("nearest");
        group.throughput(Throughput::Bytes(bytes as u64));
        let store = store(some);
        let search = VectorSearch::new(&query).max_results(TOP);
        group.bench_function(BenchmarkId::new("store", count), |bencher| {
            bencher.iter(|| runtime.block_on(store.search(&search)).unwrap());
        });
        drop(store);
        let vectors: Vec<_> = some.iter().map(|entry| entry.vector.clone()).collect();
        group.bench_function(BenchmarkId::new("cosine", count), |bencher| {
            bencher.iter(|| cosine_loop(black_box(&vectors), &query));
        });
        let numbers = vectors.concat();
        drop(vectors);
        group.bench_function(BenchmarkId::new("sum", count), |bencher| {
            bencher.iter(|| sum(black_box(&numbers)));
        });
        group.finish();
    }
}

fn filter(criterion: &mut Criterion) {
    let (store, runtime, query) =
        (store(&entries(LARGE)), runtime(), Random::new(7).vector(DIMENSIONS));
    let mut group = criterion.benchmark_group("filter");
    for percent in [1, 50, 100] {
        let filter = Filter::key("percent").less_than(percent);
        let search = VectorSearch::new(&query).max_results(TOP).filter(&filter);
        group.bench_function(BenchmarkId::from_parameter(percent), |bencher| {
            bencher.iter(|| runtime.block_on(store.search(&search)).unwrap());
        });
    }
    let rare = Filter::key("source").is("documents/77.md");
    let search = VectorSearch::new(&query).max_results(TOP * 10).filter(&rare);
    group.bench_function("few matches", |bencher| {
        bencher.iter(|| runtime.block_on(store.search(&search)).unwrap());
    });
    group.bench_function("count", |bencher| {
        bencher.iter(|| runtime.block_on(store.count_matching(&rare)).unwrap());
    });
}

fn words(criterion: &mut Criterion) {
    let (store, runtime, mut random) = (store(&entries(LARGE)), runtime(), Random::new(7));
    let mut group = criterion.benchmark_group("words");
    for count in [2, 5, 20] {
        let text: Vec<_> = (0..count).map(|_| random.word()).collect();
        let text = text.join(" ");
        let search = TextSearch::new(&text).max_results(TOP);
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            bencher.iter(|| runtime.block_on(store.search_text(&search)).unwrap());
        });
    }
}

fn add(criterion: &mut Criterion) {
    let (some, runtime) = (entries(SMALL), runtime());
    let mut group = criterion.benchmark_group("add");
    group.throughput(Throughput::Elements(SMALL as u64));
    group.bench_function("new", |bencher| {
        let fresh = || (InMemoryEmbeddingStore::new(), some.clone());
        bencher.iter_batched(
            fresh,
            |(store, entries)| {
                runtime.block_on(store.add(entries)).unwrap();
                store
            },
            BatchSize::LargeInput,
        );
    });
    let known = store(&some);
    group.bench_function("known", |bencher| {
        bencher.iter_batched(
            || some.clone(),
            |entries| runtime.block_on(known.add(entries)).unwrap(),
            BatchSize::LargeInput,
        );
    });
    group.bench_function("clone", |bencher| bencher.iter(|| some.clone()));
}

fn file(criterion: &mut Criterion) {
    let (store, runtime) = (store(&entries(LARGE)), runtime());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("entries");
    runtime.block_on(store.save(&path)).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let mut group = criterion.benchmark_group("file");
    group.throughput(Throughput::Bytes(bytes.len() as u64)).sample_size(10);
    group.bench_function("save", |bencher| {
        bencher.iter(|| runtime.block_on(store.save(&path)).unwrap());
    });
    group.bench_function("load", |bencher| {
        bencher.iter(|| runtime.block_on(InMemoryEmbeddingStore::load(&path)).unwrap());
    });
    group.bench_function("copy", |bencher| {
        bencher.iter(|| {
            let mut file = std::fs::File::create(directory.path().join("copy")).unwrap();
            file.write_all(&bytes).unwrap();
            file.sync_all().unwrap();
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = nearest, filter, words, add, file
}
criterion_main!(benches);
