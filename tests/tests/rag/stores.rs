//! The retriever of embedding stores.

use crate::{query, texts, turn};
use ai_services::document::{Metadata, MetadataValue, TextSegment};
use ai_services::embedding::{
    EmbeddingEntry, EmbeddingModel, EmbeddingPurpose, EmbeddingStore, Embeddings, Filter, Replace,
    SearchMatch, TextSearch, VectorSearch,
};
use ai_services::memory::MemoryId;
use ai_services::message::UserMessage;
use ai_services::model::{TokenUsage, UsageMeter};
use ai_services::rag::{
    ContentRetriever, EmbeddingStoreContentRetriever, EmbeddingStoreContentRetrieverBuilder, Query,
    SearchMode,
};
use ai_services::{Error, ErrorKind, Result, TurnContext};
use std::sync::{Arc, Mutex};
use tokio::sync::Barrier;

/// A search that a store received.
#[derive(Clone, Debug, PartialEq)]
enum RecordedSearch {
    Vector { vector: Vec<f32>, max: usize, min: f64, filter: Option<Filter> },
    Text { text: String, max: usize, filter: Option<Filter> },
}

/// A store with fixed results, which records its searches.
#[derive(Clone, Default)]
struct StubStore {
    vector_matches: Vec<SearchMatch>,
    text_matches: Vec<SearchMatch>,
    barrier: Option<Arc<Barrier>>,
    searches: Arc<Mutex<Vec<RecordedSearch>>>,
}

impl StubStore {
    fn of(vector_matches: &[(&str, f64)], text_matches: &[(&str, f64)]) -> Self {
        let found = |(id, score): &(&str, f64)| {
            let metadata = Metadata::new().with("source", format!("{id}.md"));
            let segment = TextSegment::new(format!("text of {id}")).with_metadata(metadata);
            SearchMatch::new(*id, *score, segment)
        };
        let (vector_matches, text_matches) =
            (vector_matches.iter().map(found).collect(), text_matches.iter().map(found).collect());
        Self { vector_matches, text_matches, ..Self::default() }
    }

    fn searches(&self) -> Vec<RecordedSearch> {
        self.searches.lock().unwrap().clone()
    }

    async fn record(&self, search: RecordedSearch) {
        self.searches.lock().unwrap().push(search);
        if let Some(barrier) = &self.barrier {
            barrier.wait().await;
        }
    }
}

#[ai_services::async_trait]
impl EmbeddingStore for StubStore {
    async fn replace(&self, _: Replace<'_>, _: Vec<EmbeddingEntry>) -> Result<()> {
        unreachable!("retrieval only reads")
    }

    async fn search(&self, search: &VectorSearch<'_>) -> Result<Vec<SearchMatch>> {
        if search.vector.len() != 2 {
            return Err(Error::new(ErrorKind::InvalidRequest, "the vectors have 2 numbers"));
        }
        self.record(RecordedSearch::Vector {
            vector: search.vector.to_vec(),
            max: search.max_results,
            min: search.min_score,
            filter: search.filter.cloned(),
        })
        .await;
        Ok(self.vector_matches.clone())
    }

    async fn search_text(&self, search: &TextSearch<'_>) -> Result<Vec<SearchMatch>> {
        let text = search.text.to_owned();
        let (max, filter) = (search.max_results, search.filter.cloned());
        self.record(RecordedSearch::Text { text, max, filter }).await;
        Ok(self.text_matches.clone())
    }

    async fn remove(&self, _: &[&str]) -> Result<()> {
        unreachable!("retrieval only reads")
    }

    async fn remove_matching(&self, _: &Filter) -> Result<()> {
        unreachable!("retrieval only reads")
    }

    async fn clear(&self) -> Result<()> {
        unreachable!("retrieval only reads")
    }

    async fn count(&self) -> Result<u64> {
        unreachable!("retrieval only searches")
    }

    async fn count_matching(&self, _: &Filter) -> Result<u64> {
        unreachable!("retrieval only searches")
    }

    async fn values(&self, _: &str, _: Option<&Filter>) -> Result<Vec<MetadataValue>> {
        unreachable!("retrieval only searches")
    }
}

/// An embedding model of queries only: the number of bytes and of vowels.
#[derive(Clone, Copy)]
struct Lengths;

#[ai_services::async_trait]
impl EmbeddingModel for Lengths {
    async fn embed(&self, texts: &[&str], purpose: EmbeddingPurpose) -> Result<Embeddings> {
        assert_eq!(purpose, EmbeddingPurpose::Query);
        let vowels = |text: &str| text.chars().filter(|c| "aeiou".contains(*c)).count() as f32;
        let vectors = texts.iter().map(|text| vec![text.len() as f32, vowels(text)]);
        Ok(Embeddings::new(vectors).with_usage(TokenUsage::new(3, 0)))
    }
}

fn builder(store: &StubStore) -> EmbeddingStoreContentRetrieverBuilder {
    EmbeddingStoreContentRetriever::builder(store.clone()).embedding_model(Lengths)
}

#[tokio::test]
async fn query_is_embedded_and_searched_for() {
    let store = StubStore::of(&[("a", 0.9), ("b", 0.8)], &[]);
    let retriever = builder(&store).build().unwrap();
    let found = retriever.retrieve(&query("banana")).await.unwrap();
    assert_eq!(texts(&found), ["text of a", "text of b"]);
    assert_eq!((found[0].score, found[0].id.as_deref()), (Some(0.9), Some("a")));
    assert_eq!(found[0].segment.metadata().get("source"), Some(&"a.md".into()));
    let search = RecordedSearch::Vector { vector: vec![6.0, 3.0], max: 3, min: 0.0, filter: None };
    assert_eq!(store.searches(), [search]);
}

/// An embedding model that recognizes no word.
struct Unfamiliar;

#[ai_services::async_trait]
impl EmbeddingModel for Unfamiliar {
    async fn embed(&self, texts: &[&str], _: EmbeddingPurpose) -> Result<Embeddings> {
        Ok(Embeddings::new(texts.iter().map(|_| vec![0.0, -0.0])))
    }
}

#[tokio::test]
async fn query_whose_vector_is_zero_finds_nothing() {
    let store = StubStore::of(&[("near", 0.9)], &[("matching", 0.8)]);
    for (mode, expected) in
        [(SearchMode::Vector, vec![]), (SearchMode::Hybrid, vec!["text of matching"])]
    {
        let builder = EmbeddingStoreContentRetriever::builder(store.clone());
        let retriever = builder.embedding_model(Unfamiliar).mode(mode).build().unwrap();
        assert_eq!(texts(&retriever.retrieve(&query("xyzzy")).await.unwrap()), expected);
    }
}

#[tokio::test]
async fn vector_without_a_direction_fails_a_search_of_a_store() {
    let store = ai_services::embedding::InMemoryEmbeddingStore::new();
    let error = store.search(&VectorSearch::new(&[0.0, 0.0])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    let retriever =
        EmbeddingStoreContentRetriever::builder(store).embedding_model(Unfamiliar).build().unwrap();
    assert!(retriever.retrieve(&query("xyzzy")).await.unwrap().is_empty());
}

#[tokio::test]
async fn empty_query_finds_nothing() {
    let store = StubStore::of(&[("near", 0.9)], &[("matching", 0.8)]);
    for mode in [SearchMode::Vector, SearchMode::Text, SearchMode::Hybrid] {
        let retriever = builder(&store).mode(mode).build().unwrap();
        for text in ["", " \n"] {
            assert!(retriever.retrieve(&query(text)).await.unwrap().is_empty());
        }
    }
    assert!(store.searches().is_empty());
}

#[tokio::test]
async fn limits_and_filter_are_passed_to_the_store() {
    let store = StubStore::default();
    let filter = Filter::key("lang").is("en");
    let retriever =
        builder(&store).max_results(7).min_score(0.6).filter(filter.clone()).build().unwrap();
    retriever.retrieve(&query("banana")).await.unwrap();
    let search =
        RecordedSearch::Vector { vector: vec![6.0, 3.0], max: 7, min: 0.6, filter: Some(filter) };
    assert_eq!(store.searches(), [search]);
}

#[tokio::test]
async fn filter_is_computed_from_the_query() {
    let store = StubStore::of(&[], &[("a", 1.0)]);
    let retriever = builder(&store)
        .mode(SearchMode::Text)
        .dynamic_filter(|query: &Query| {
            let customer = query.turn().memory_id()?;
            Some(Filter::key("customer").is(customer.as_str()))
        })
        .build()
        .unwrap();
    let hostile = MemoryId::from("x\" or 1 = 1");
    let of_customer = TurnContext::builder(UserMessage::new("?")).memory_id(hostile).build();
    assert_eq!(retriever.retrieve(&Query::new("q", of_customer)).await.unwrap().len(), 1);
    let filter = Some(Filter::key("customer").is("x\" or 1 = 1"));
    assert_eq!(store.searches(), [RecordedSearch::Text { text: "q".to_owned(), max: 3, filter }]);
    // A query without a memory id must not see the entries of a customer.
    assert!(retriever.retrieve(&Query::new("q", turn("?"))).await.unwrap().is_empty());
    assert_eq!(store.searches().len(), 1);
}

#[tokio::test]
async fn text_search_needs_no_model() {
    let store = StubStore::of(&[], &[("a", 12.5)]);
    let text = EmbeddingStoreContentRetriever::builder(store.clone()).mode(SearchMode::Text);
    let found = text.build().unwrap().retrieve(&query("a OR b*")).await.unwrap();
    assert_eq!((texts(&found), found[0].score), (vec!["text of a"], Some(12.5)));
    assert_eq!(
        store.searches(),
        [RecordedSearch::Text { text: "a OR b*".to_owned(), max: 3, filter: None }]
    );
}

#[tokio::test(start_paused = true)]
async fn hybrid_search_runs_both_searches_concurrently() {
    let mut store = StubStore::of(&[("a", 0.9), ("b", 0.8)], &[("c", 7.0), ("b", 5.0), ("d", 1.0)]);
    store.barrier = Some(Arc::new(Barrier::new(2)));
    let filter = Filter::key("lang").is("en");
    let retriever =
        builder(&store).mode(SearchMode::Hybrid).filter(filter.clone()).build().unwrap();
    let query = query("banana");
    let searching =
        tokio::time::timeout(std::time::Duration::from_secs(9), retriever.retrieve(&query));
    let found = searching.await.expect("both searches run concurrently").unwrap();
    let ids: Vec<_> = found.iter().map(|content| content.id.as_deref().unwrap()).collect();
    assert_eq!(ids, ["b", "a", "c"]);
    let scores: Vec<_> = found.iter().map(|content| content.score.unwrap()).collect();
    assert_eq!(scores, [1.0 / 62.0 + 1.0 / 62.0, 1.0 / 61.0, 1.0 / 61.0]);
    let filter = Some(filter);
    let vector = RecordedSearch::Vector {
        vector: vec![6.0, 3.0],
        max: 20,
        min: 0.0,
        filter: filter.clone(),
    };
    let text = RecordedSearch::Text { text: "banana".to_owned(), max: 20, filter };
    let searches = store.searches();
    assert!(
        searches.len() == 2 && searches.contains(&vector) && searches.contains(&text),
        "{searches:?}"
    );
}

#[tokio::test]
async fn hybrid_search_takes_enough_candidates() {
    for (candidates, max_results, expected) in [(None, 30, 30), (Some(50), 5, 50), (Some(1), 5, 5)]
    {
        let store = StubStore::default();
        let mut builder = builder(&store).mode(SearchMode::Hybrid).max_results(max_results);
        if let Some(candidates) = candidates {
            builder = builder.candidates(candidates);
        }
        builder.build().unwrap().retrieve(&query("q")).await.unwrap();
        let max = |search| match search {
            RecordedSearch::Vector { max, .. } | RecordedSearch::Text { max, .. } => max,
        };
        assert_eq!(store.searches().into_iter().map(max).collect::<Vec<_>>(), [expected, expected]);
    }
}

#[tokio::test]
async fn embedding_is_metered() {
    let meter = UsageMeter::new();
    let turn = TurnContext::builder(UserMessage::new("?")).meter(meter.clone()).build();
    let retriever = builder(&StubStore::default()).build().unwrap();
    retriever.retrieve(&Query::new("q", turn)).await.unwrap();
    assert_eq!(meter.total().input, Some(3));
}

/// An embedding model with vectors of a wrong length, or without vectors.
struct WrongVectors(Vec<Vec<f32>>);

#[ai_services::async_trait]
impl EmbeddingModel for WrongVectors {
    async fn embed(&self, _: &[&str], _: EmbeddingPurpose) -> Result<Embeddings> {
        Ok(Embeddings::new(self.0.clone()))
    }
}

#[tokio::test]
async fn wrong_vectors_are_errors() {
    for (vectors, kind) in
        [(vec![vec![1.0; 3]], ErrorKind::InvalidRequest), (vec![], ErrorKind::InvalidResponse)]
    {
        let retriever =
            builder(&StubStore::default()).embedding_model(WrongVectors(vectors)).build().unwrap();
        assert_eq!(retriever.retrieve(&query("q")).await.unwrap_err().kind(), kind);
    }
}

#[test]
fn invalid_settings_are_rejected_by_the_builder() {
    let bare = || EmbeddingStoreContentRetriever::builder(StubStore::default());
    let with_model = || bare().embedding_model(Lengths);
    for builder in [
        bare(),
        bare().mode(SearchMode::Hybrid),
        with_model().max_results(0),
        with_model().min_score(1.1),
        with_model().min_score(f64::NAN),
    ] {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
    }
}
