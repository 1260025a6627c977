//! Throughput of ingestion, without the cost of embedding.
//!
//! The corpus is 200 Markdown documents of 16 KiB, generated from a fixed seed. The model returns a constant
//! vector of 384 dimensions for each text, so that only the other work is measured: splitting, digests,
//! batches, and the store.
//!
//! | group | measures | peers |
//! |---|---|---|
//! | `split` | splitting the corpus, by size and by the structure of Markdown | |
//! | `ingest` | ingesting the corpus into an empty store, in memory and in a SQLite file | `by hand`: splitting, embedding and adding without a check for stored documents |
//! | `unchanged` | ingesting the unchanged corpus again | |
//!
//! ```text
//! taskset -c 0 cargo bench -p ai-services-benches --bench ingestion
//! ```
#![allow(clippy::unwrap_used, reason = "a failed ingestion cannot be measured")]

use ai_services::document::{
    Document, DocumentSplitter, MarkdownSplitter, Metadata, RecursiveSplitter, key,
};
use ai_services::embedding::{
    EmbeddingEntry, EmbeddingModel, EmbeddingPurpose, EmbeddingStore, Embeddings,
    InMemoryEmbeddingStore,
};
use ai_services::ingestion::{EmbeddingStoreIngestor, IngestionReport};
use ai_services::store::sqlite::SqliteEmbeddingStore;
use ai_services::{Result, async_trait};
use ai_services_benches::random::Random;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use futures_util::stream;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;

const DOCUMENTS: usize = 200;
const BYTES: usize = 16 * 1024;
const BATCH: usize = 64;

/// A model without costs.
struct Free;

#[async_trait]
impl EmbeddingModel for Free {
    async fn embed(&self, texts: &[&str], _: EmbeddingPurpose) -> Result<Embeddings> {
        Ok(Embeddings::new(texts.iter().map(|text| vec![1.0 + text.len() as f32; 384])))
    }
}

fn document(number: usize, random: &mut Random) -> Document {
    let mut text = format!("# Document {number}\n");
    while text.len() < BYTES {
        match random.number() % 16 {
            0 => text.push_str("\n\n## A heading\n\n"),
            1 => text.push_str(".\n\n"),
            2 => text.push_str(". "),
            _ => {
                text.push_str(&random.word());
                text.push(' ');
            }
        }
    }
    Document::new(text, Metadata::new().with(key::SOURCE, format!("{number}.md")))
}

fn corpus() -> Vec<Document> {
    let mut random = Random::new(42);
    (0..DOCUMENTS).map(|number| document(number, &mut random)).collect()
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn ingestor(store: Arc<dyn EmbeddingStore>) -> EmbeddingStoreIngestor {
    EmbeddingStoreIngestor::builder().store(store).model(Free).batch_size(BATCH).build().unwrap()
}

async fn ingest(ingestor: &EmbeddingStoreIngestor, documents: Vec<Document>) -> IngestionReport {
    ingestor.ingest(stream::iter(documents.into_iter().map(Ok))).await.unwrap()
}

/// The peer: a loop that does not check for stored documents.
async fn by_hand(store: &dyn EmbeddingStore, documents: Vec<Document>) {
    let splitter = RecursiveSplitter::builder().build().unwrap();
    let mut entries = Vec::new();
    for (number, document) in documents.iter().enumerate() {
        for (part, segment) in splitter.split(document).into_iter().enumerate() {
            let vector = Free.embed(&[segment.text()], EmbeddingPurpose::Document).await.unwrap();
            let vector = vector.vectors.into_iter().next().unwrap();
            entries.push(EmbeddingEntry::new(format!("{number}/{part}"), vector, segment));
        }
        if entries.len() >= BATCH {
            store.add(std::mem::take(&mut entries)).await.unwrap();
        }
    }
    store.add(entries).await.unwrap();
}

/// An empty store, with its folder.
type EmptyStore = (Arc<dyn EmbeddingStore>, Option<TempDir>);

fn in_memory(_: &Runtime) -> EmptyStore {
    (Arc::new(InMemoryEmbeddingStore::new()), None)
}

fn sqlite(runtime: &Runtime) -> EmptyStore {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteEmbeddingStore::open(folder.path().join("index.db"));
    (Arc::new(runtime.block_on(store).unwrap()), Some(folder))
}

type Open = fn(&Runtime) -> EmptyStore;

const STORES: [(&str, Open); 2] = [("memory", in_memory), ("sqlite", sqlite)];

fn throughput(documents: &[Document]) -> Throughput {
    Throughput::Bytes(documents.iter().map(|document| document.text().len() as u64).sum())
}

fn split(criterion: &mut Criterion) {
    let documents = corpus();
    let mut group = criterion.benchmark_group("split");
    group.throughput(throughput(&documents));
    let splitters: [(&str, Box<dyn DocumentSplitter>); 2] = [
        ("recursive", Box::new(RecursiveSplitter::builder().build().unwrap())),
        ("markdown", Box::new(MarkdownSplitter::builder().build().unwrap())),
    ];
    for (name, splitter) in &splitters {
        group.bench_function(*name, |bencher| {
            bencher.iter(|| {
                documents.iter().map(|document| splitter.split(document).len()).sum::<usize>()
            });
        });
    }
}

fn first(criterion: &mut Criterion) {
    let (documents, runtime) = (corpus(), runtime());
    let mut group = criterion.benchmark_group("ingest");
    group.throughput(throughput(&documents));
    for (name, fresh) in STORES {
        group.bench_function(name, |bencher| {
            let setup = || (fresh(&runtime), documents.clone());
            let routine = |(store, documents): (EmptyStore, Vec<Document>)| {
                runtime.block_on(ingest(&ingestor(Arc::clone(&store.0)), documents));
                store
            };
            bencher.iter_batched(setup, routine, BatchSize::PerIteration);
        });
        group.bench_function(format!("{name} by hand"), |bencher| {
            let setup = || (fresh(&runtime), documents.clone());
            let routine = |(store, documents): (EmptyStore, Vec<Document>)| {
                runtime.block_on(by_hand(&*store.0, documents));
                store
            };
            bencher.iter_batched(setup, routine, BatchSize::PerIteration);
        });
    }
}

fn unchanged(criterion: &mut Criterion) {
    let (documents, runtime) = (corpus(), runtime());
    let mut group = criterion.benchmark_group("unchanged");
    group.throughput(throughput(&documents));
    for (name, fresh) in STORES {
        let (store, _folder) = fresh(&runtime);
        let ingestor = ingestor(store);
        runtime.block_on(ingest(&ingestor, documents.clone()));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let report = runtime.block_on(ingest(&ingestor, documents.clone()));
                assert_eq!(report.totals.embedded, 0);
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3));
    targets = split, first, unchanged
}
criterion_main!(benches);
