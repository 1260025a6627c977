//! The in-memory store.

use super::{block_on, entries, entry, step, vector};
use ai_services::ErrorKind;
use ai_services::document::{Metadata, MetadataValue, TextSegment};
use ai_services::embedding::{
    EmbeddingEntry, EmbeddingStore, Filter, InMemoryEmbeddingStore, Replace, TextSearch,
    VectorSearch,
};
use ai_services::testing::embedding_stores::EmbeddingStoreSuite;
use proptest::collection::vec;
use proptest::prelude::*;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[tokio::test]
async fn in_memory_store_passes_the_suite() {
    let suite = EmbeddingStoreSuite::new(|| async { Ok(InMemoryEmbeddingStore::new()) });
    let report = suite.run().await;
    assert_eq!(report.failures().chain(report.skipped()).count(), 0, "{report}");
}

#[tokio::test]
async fn store_behind_an_arc_passes_the_suite() {
    let make = || async { Ok(Arc::new(InMemoryEmbeddingStore::new()) as Arc<dyn EmbeddingStore>) };
    let report = EmbeddingStoreSuite::new(make).run().await;
    assert_eq!(report.failures().chain(report.skipped()).count(), 0, "{report}");
}

fn score(a: &[f32], b: &[f32]) -> f64 {
    let product = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    f64::midpoint(1.0, product(a, b) / (product(a, a) * product(b, b)).sqrt())
}

/// More entries than a block holds, with ties and repeated ids.
#[derive(Clone, Debug)]
struct Scene {
    entries: Vec<(usize, usize)>,
    removed: Vec<usize>,
    max: usize,
    min: f64,
    rest: Option<i64>,
}

fn scene() -> impl Strategy<Value = Scene> {
    let entries = vec((0..1_500_usize, 0..40_usize), 0..1_600);
    let removed = vec(0..1_500_usize, 0..400);
    let min = prop_oneof![3 => Just(0.0), 1 => 0.4..0.6];
    let rest = prop::option::of(0..10_i64);
    (entries, removed, 0..60_usize, min, rest)
        .prop_map(|(entries, removed, max, min, rest)| Scene { entries, removed, max, min, rest })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn search_agrees_with_a_sorted_list(scene in scene()) {
        let store = InMemoryEmbeddingStore::new();
        let mut list = std::collections::BTreeMap::new();
        for chunk in scene.entries.chunks(200) {
            let batch: Vec<_> = chunk
                .iter()
                .map(|(id, like)| {
                    let EmbeddingEntry { vector, segment, .. } = entry(*like);
                    EmbeddingEntry::new(id.to_string(), vector, segment)
                })
                .collect();
            list.extend(batch.iter().map(|entry| (entry.id.to_string(), entry.clone())));
            block_on(store.add(batch)).unwrap();
        }
        let removed: Vec<_> = scene.removed.iter().map(ToString::to_string).collect();
        let ids: Vec<_> = removed.iter().map(String::as_str).collect();
        block_on(store.remove(&ids)).unwrap();
        list.retain(|id, _| !removed.contains(id));
        prop_assert_eq!(store.len(), list.len());

        let query = vector(7_777);
        let filter = scene.rest.map(|rest| Filter::key("rest").is(rest));
        let mut search = VectorSearch::new(&query).max_results(scene.max).min_score(scene.min);
        search.filter = filter.as_ref();
        let found = block_on(store.search(&search)).unwrap();

        let accepted = list.values().filter(|entry| {
            filter.as_ref().is_none_or(|filter| filter.accepts(entry.segment.metadata()))
        });
        // Scores too close to the limit may fall on either side.
        let mut expected: Vec<_> =
            accepted.map(|entry| (score(&query, &entry.vector), entry)).collect();
        prop_assume!(expected.iter().all(|(score, _)| (score - scene.min).abs() > 1e-6));
        expected.retain(|(score, _)| *score >= scene.min);
        expected.sort_by(|(a, x), (b, y)| b.total_cmp(a).then(x.id.cmp(&y.id)));
        expected.truncate(scene.max);
        prop_assert_eq!(found.len(), expected.len());
        for (found, (score, entry)) in found.iter().zip(expected) {
            prop_assert_eq!(&found.id, &entry.id);
            prop_assert!((found.score - score).abs() < 1e-6);
            prop_assert_eq!(&found.segment, &entry.segment);
        }
    }
}

#[test]
fn searches_see_whole_batches_on_many_threads() {
    const BATCH: usize = 2_000;
    const ROUNDS: i64 = 30;
    let batch = |round: i64| -> Vec<EmbeddingEntry> {
        let segment = TextSegment::new(format!("round{round}"));
        let segment = segment.with_metadata(Metadata::new().with("round", round));
        let entry =
            |number| EmbeddingEntry::new(format!("{number}"), vector(number), segment.clone());
        (0..BATCH).map(entry).collect()
    };
    let store = InMemoryEmbeddingStore::new();
    block_on(store.add(batch(0))).unwrap();
    let done = AtomicBool::new(false);
    let see = async || {
        let query = vector(1);
        let mut seen = 0;
        while !done.load(Ordering::Relaxed) || seen == 0 {
            let search = VectorSearch::new(&query).max_results(BATCH * 2);
            let found = store.search(&search).await.unwrap();
            assert_eq!(found.len(), BATCH);
            let round = found[0].segment.text().to_owned();
            assert!(found.iter().all(|found| found.segment.text() == round));
            let words = TextSearch::new(&round).max_results(BATCH * 2);
            let with_words = store.search_text(&words).await.unwrap().len();
            assert!(with_words == BATCH || with_words == 0, "{with_words}");
            assert_eq!(store.values("round", None).await.unwrap().len(), 1);
            seen += 1;
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| block_on(see()));
        }
        scope.spawn(|| {
            let everything = Filter::key("round").exists();
            for round in 1..=ROUNDS {
                block_on(store.replace(Replace::Matching(&everything), batch(round))).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
    });
    assert_eq!(store.len(), BATCH);
}

/// Every megabyte of a search is one poll.
#[tokio::test]
async fn long_search_yields_to_other_tasks() {
    let store = InMemoryEmbeddingStore::new();
    store.add(entries(0..3_000)).await.unwrap();
    let query = vector(1);
    let search = VectorSearch::new(&query);
    let mut found = pin!(store.search(&search));
    let mut steps = 1;
    while step(found.as_mut()).await.is_none() {
        steps += 1;
    }
    assert_eq!(steps, 3_000_usize.div_ceil(262_144 / 384));
}

#[tokio::test]
async fn running_search_does_not_see_changes() {
    let store = InMemoryEmbeddingStore::new();
    store.add(entries(0..2_000)).await.unwrap();
    let query = vector(1_999);
    let search = VectorSearch::new(&query).max_results(1);
    let mut found = pin!(store.search(&search));
    assert!(step(found.as_mut()).await.is_none());
    store.clear().await.unwrap();
    store.add(vec![EmbeddingEntry::new("other", vec![1.0], TextSegment::new(""))]).await.unwrap();
    let found = found.await.unwrap();
    assert_eq!((&*found[0].id, found[0].score > 0.999_99), ("1999", true));
    assert_eq!(store.dimensions(), Some(1));
}

#[tokio::test]
async fn full_store_accepts_only_replacements() {
    let store = InMemoryEmbeddingStore::builder().max_entries(3).build().unwrap();
    store.add(entries(0..3)).await.unwrap();
    let error = store.add(entries(2..4)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(error.to_string().contains("at most 3 entries"), "{error}");
    store.add(entries(1..3)).await.unwrap();
    let first = Filter::key("number").less_than(2);
    store.replace(Replace::Matching(&first), entries(3..5)).await.unwrap();
    let everything = Filter::All(Vec::new());
    assert!(store.replace(Replace::Matching(&everything), entries(10..14)).await.is_err());
    assert_eq!(store.values("number", None).await.unwrap(), [2, 3, 4].map(MetadataValue::from));
    let error = InMemoryEmbeddingStore::builder().max_entries(0).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
}

#[tokio::test]
async fn dimensions_can_change_if_all_entries_are_replaced() {
    let store = InMemoryEmbeddingStore::new();
    store.add(entries(0..3)).await.unwrap();
    let new = || vec![EmbeddingEntry::new("new", vec![1.0, 2.0], TextSegment::new(""))];
    let some = Filter::key("number").at_least(1);
    let error = store.replace(Replace::Matching(&some), new()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert!(error.to_string().contains("2 numbers, but those in the store have 384"), "{error}");
    assert_eq!(store.len(), 3);
    store.replace(Replace::Matching(&Filter::All(Vec::new())), new()).await.unwrap();
    assert_eq!((store.len(), store.dimensions()), (1, Some(2)));
}

#[tokio::test]
async fn words_are_weighted_by_bm25() {
    let store = InMemoryEmbeddingStore::new();
    let texts = [("long", "red red blue green grey"), ("short", "red"), ("rare", "blue violet")];
    let entries =
        texts.map(|(id, text)| EmbeddingEntry::new(id, vec![1.0], TextSegment::new(text)));
    store.add(entries.into()).await.unwrap();
    let found = store.search_text(&TextSearch::new("Red violet, red!")).await.unwrap();
    // By hand: N = 3, average length 8 / 3, k1 = 1.2, b = 0.75.
    let idf = |with: f64| (1.0 + (3.0 - with + 0.5) / (with + 0.5)).ln();
    let part = |times: f64, length: f64| {
        times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / (8.0 / 3.0)))
    };
    let expected = [
        ("rare", idf(1.0) * part(1.0, 2.0)),
        ("short", idf(2.0) * part(1.0, 1.0)),
        ("long", idf(2.0) * part(2.0, 5.0)),
    ];
    assert_eq!(found.len(), expected.len());
    for (found, (id, score)) in found.iter().zip(expected) {
        assert_eq!(&*found.id, id);
        assert!((found.score - score).abs() < 1e-12, "{found:?} instead of {score}");
    }
}

#[tokio::test]
async fn values_are_sorted() {
    let store = InMemoryEmbeddingStore::new();
    let values: [MetadataValue; 7] =
        [2.5.into(), "b".into(), 10.into(), true.into(), "a".into(), 9.into(), (-0.5).into()];
    let entries = values.clone().into_iter().enumerate().map(|(number, value)| {
        let segment = TextSegment::new("").with_metadata(Metadata::new().with("key", value));
        EmbeddingEntry::new(number.to_string(), vec![1.0], segment)
    });
    store.add(entries.collect()).await.unwrap();
    let sorted = [4, 1, 5, 2, 6, 0, 3].map(|number: usize| values[number].clone());
    assert_eq!(store.values("key", None).await.unwrap(), sorted);
}
