//! Benchmarks: `cargo test --release --test stores -- --ignored measure`.

#![allow(clippy::print_stdout, reason = "the result of a measurement")]
use ai_services::document::{Metadata, TextSegment};
use ai_services::embedding::{
    EmbeddingEntry, EmbeddingStore, Filter, Replace, TextSearch, VectorSearch,
};
use std::time::{Duration, Instant};

const ENTRIES: u64 = 20_000;
const DIMENSIONS: usize = 384;
const RUNS: usize = 21;

/// A deterministic generator of random numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn vector(&mut self) -> Vec<f32> {
        (0..DIMENSIONS).map(|_| (self.next() % 2_001) as f32 / 1_000.0 - 1.0).collect()
    }

    fn words(&mut self) -> String {
        (0..80).map(|_| format!("w{} ", (self.next() % 300) * (self.next() % 30))).collect()
    }
}

fn entries() -> Vec<EmbeddingEntry> {
    let mut random = Random(88_172_645_463_325_252);
    (0..ENTRIES)
        .map(|number| {
            let metadata = Metadata::new()
                .with("source", format!("{}.md", number % 100))
                .with("page", number as i64 % 20)
                .with("is_public", number % 2 == 0);
            let segment = TextSegment::new(random.words()).with_metadata(metadata);
            EmbeddingEntry::new(format!("{number:06}"), random.vector(), segment)
        })
        .collect()
}

async fn timed<T>(case: &str, mut run: impl AsyncFnMut(&mut Random) -> T) {
    let mut random = Random(42);
    let mut took = Vec::new();
    for _ in 0..RUNS {
        let began = Instant::now();
        run(&mut random).await;
        took.push(began.elapsed());
    }
    took.sort_unstable();
    println!("{case:<44} median {:>10.2?}  worst {:>10.2?}", took[RUNS / 2], took[RUNS - 1]);
}

async fn measure(name: &str, store: &dyn EmbeddingStore) {
    let mut entries = entries();
    let changed: Vec<_> = entries.iter().take(200).cloned().collect();
    let began = Instant::now();
    let rest = entries.split_off(1_000);
    store.add(entries).await.unwrap();
    println!("{name}: 1,000 of {DIMENSIONS} added in {:.2?}", began.elapsed());
    let began = Instant::now();
    store.add(rest).await.unwrap();
    let took: Duration = began.elapsed();
    let throughput = (ENTRIES - 1_000) as f64 / took.as_secs_f64();
    println!("{name}: {} more in {took:.2?}, {throughput:.0}/s", ENTRIES - 1_000);

    let ten = async |random: &mut Random, filter: Option<&Filter>| {
        let vector = random.vector();
        let search = VectorSearch::new(&vector).max_results(10);
        let search = filter.map_or(search.clone(), |filter| search.filter(filter));
        assert_eq!(store.search(&search).await.unwrap().len(), 10);
    };
    timed(&format!("{name}: 10 of {ENTRIES}"), async |random| ten(random, None).await).await;
    for (accepts, filter) in [
        ("1 %, equal text", Filter::key("source").is("7.md")),
        ("5 %, equal number", Filter::key("page").is(7)),
        ("50 %, boolean", Filter::key("is_public").is(true)),
        ("50 %, less than", Filter::key("page").less_than(10)),
        ("all, not equal", Filter::key("page").is_not(20)),
        (
            "10 %, two conditions",
            Filter::key("page").less_than(4).and(Filter::key("is_public").is(true)),
        ),
    ] {
        let case = format!("{name}: 10 of {accepts}");
        timed(&case, async |random| ten(random, Some(&filter)).await).await;
    }
    for words in ["w8091", "w8091 w7 w0", "w0"] {
        timed(&format!("{name}: words {words}"), async |_| {
            store.search_text(&TextSearch::new(words).max_results(10)).await.unwrap()
        })
        .await;
    }
    let of_document = Filter::key("source").is("7.md");
    timed(&format!("{name}: replace 200"), async |_| {
        store.replace(Replace::Matching(&of_document), changed.clone()).await.unwrap();
    })
    .await;
    timed(&format!("{name}: count of 50 %"), async |_| {
        store.count_matching(&Filter::key("is_public").is(true)).await.unwrap()
    })
    .await;
}

#[cfg(feature = "sqlite")]
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn measure_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("measured.db");
    let store = ai_services::store::sqlite::SqliteEmbeddingStore::open(path).await.unwrap();
    measure("SQLite", &store).await;
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn measure_postgres() {
    use ai_services::store::postgres::{HnswOptions, PostgresEmbeddingStore, VectorIndex};
    let Some(server) = ai_services_tests::servers::postgres::with_vectors() else { return };
    let builder = |table| PostgresEmbeddingStore::builder().url(server.url()).table(table);
    let exact = builder("exact").build().unwrap();
    exact.ensure_schema().await.unwrap();
    measure("PostgreSQL", &exact).await;
    let index = VectorIndex::Hnsw(HnswOptions::new());
    let indexed = builder("indexed").dimensions(DIMENSIONS).index(index).build().unwrap();
    indexed.ensure_schema().await.unwrap();
    measure("PostgreSQL, HNSW", &indexed).await;
}
