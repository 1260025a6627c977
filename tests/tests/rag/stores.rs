//! Retrieval from an embedding store.

use crate::{query, texts, turn};
use ai_services::document::{Metadata, MetadataValue, TextSegment};
use ai_services::embedding::{
    EmbeddingEntry, EmbeddingModel, EmbeddingPurpose, EmbeddingStore, Embeddings, Filter,
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

/// What a store was asked for.
#[derive(Clone, Debug, PartialEq)]
enum Asked {
    Vector { vector: Vec<f32>, max: usize, min: f64, filter: Option<Filter> },
    Text { text: String, max: usize, filter: Option<Filter> },
}

/// Finds what it is told to find.
#[derive(Clone, Default)]
struct Shelf {
    near: Vec<SearchMatch>,
    matching: Vec<SearchMatch>,
    meeting: Option<Arc<Barrier>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Shelf {
    fn of(near: &[(&str, f64)], matching: &[(&str, f64)]) -> Self {
        let found = |(id, score): &(&str, f64)| {
            let metadata = Metadata::new().with("source", format!("{id}.md"));
            let segment = TextSegment::new(format!("text of {id}")).with_metadata(metadata);
            SearchMatch::new(*id, *score, segment)
        };
        let (near, matching) =
            (near.iter().map(found).collect(), matching.iter().map(found).collect());
        Self { near, matching, ..Self::default() }
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    async fn note(&self, asked: Asked) {
        self.asked.lock().unwrap().push(asked);
        if let Some(meeting) = &self.meeting {
            meeting.wait().await;
        }
    }
}

#[ai_services::async_trait]
impl EmbeddingStore for Shelf {
    async fn replace(&self, _: Option<&Filter>, _: Vec<EmbeddingEntry>) -> Result<()> {
        unreachable!("retrieval only reads")
    }

    async fn search(&self, search: &VectorSearch<'_>) -> Result<Vec<SearchMatch>> {
        if search.vector.len() != 2 {
            return Err(Error::new(ErrorKind::InvalidRequest, "the vectors have 2 numbers"));
        }
        self.note(Asked::Vector {
            vector: search.vector.to_vec(),
            max: search.max_results,
            min: search.min_score,
            filter: search.filter.cloned(),
        })
        .await;
        Ok(self.near.clone())
    }

    async fn search_text(&self, search: &TextSearch<'_>) -> Result<Vec<SearchMatch>> {
        let text = search.text.to_owned();
        let (max, filter) = (search.max_results, search.filter.cloned());
        self.note(Asked::Text { text, max, filter }).await;
        Ok(self.matching.clone())
    }

    async fn remove(&self, _: &[&str]) -> Result<()> {
        unreachable!("retrieval only reads")
    }

    async fn remove_all(&self, _: Option<&Filter>) -> Result<()> {
        unreachable!("retrieval only reads")
    }

    async fn count(&self, _: Option<&Filter>) -> Result<u64> {
        unreachable!("retrieval only searches")
    }

    async fn values(&self, _: &str, _: Option<&Filter>) -> Result<Vec<MetadataValue>> {
        unreachable!("retrieval only searches")
    }
}

/// Numbers of bytes and of vowels, for queries only.
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

fn builder(shelf: &Shelf) -> EmbeddingStoreContentRetrieverBuilder {
    EmbeddingStoreContentRetriever::builder(shelf.clone()).embedding_model(Lengths)
}

#[tokio::test]
async fn query_is_embedded_and_the_store_searched() {
    let shelf = Shelf::of(&[("a", 0.9), ("b", 0.8)], &[]);
    let retriever = builder(&shelf).build().unwrap();
    let found = retriever.retrieve(&query("banana")).await.unwrap();
    assert_eq!(texts(&found), ["text of a", "text of b"]);
    assert_eq!((found[0].score, found[0].id.as_deref()), (Some(0.9), Some("a")));
    assert_eq!(found[0].segment.metadata().get("source"), Some(&"a.md".into()));
    let asked = Asked::Vector { vector: vec![6.0, 3.0], max: 3, min: 0.0, filter: None };
    assert_eq!(shelf.asked(), [asked]);
}

#[tokio::test]
async fn limits_and_filter_are_handed_on() {
    let shelf = Shelf::default();
    let filter = Filter::key("lang").is("en");
    let retriever =
        builder(&shelf).max_results(7).min_score(0.6).filter(filter.clone()).build().unwrap();
    retriever.retrieve(&query("banana")).await.unwrap();
    let asked = Asked::Vector { vector: vec![6.0, 3.0], max: 7, min: 0.6, filter: Some(filter) };
    assert_eq!(shelf.asked(), [asked]);
}

#[tokio::test]
async fn filter_is_made_of_the_query() {
    let shelf = Shelf::of(&[], &[("a", 1.0)]);
    let retriever = builder(&shelf)
        .mode(SearchMode::Text)
        .filter_by(|query: &Query| {
            let customer = query.turn().memory_id()?;
            Some(Filter::key("customer").is(customer.as_str()))
        })
        .build()
        .unwrap();
    let hostile = MemoryId::from("x\" or 1 = 1");
    let of_customer = TurnContext::builder(UserMessage::new("?")).memory_id(hostile).build();
    assert_eq!(retriever.retrieve(&Query::new("q", of_customer)).await.unwrap().len(), 1);
    let filter = Some(Filter::key("customer").is("x\" or 1 = 1"));
    assert_eq!(shelf.asked(), [Asked::Text { text: "q".to_owned(), max: 3, filter }]);
    // Nobody in particular is not shown what belongs to somebody.
    assert!(retriever.retrieve(&Query::new("q", turn("?"))).await.unwrap().is_empty());
    assert_eq!(shelf.asked().len(), 1);
}

#[tokio::test]
async fn text_search_needs_no_model() {
    let shelf = Shelf::of(&[], &[("a", 12.5)]);
    let text = EmbeddingStoreContentRetriever::builder(shelf.clone()).mode(SearchMode::Text);
    let found = text.build().unwrap().retrieve(&query("a OR b*")).await.unwrap();
    assert_eq!((texts(&found), found[0].score), (vec!["text of a"], Some(12.5)));
    assert_eq!(shelf.asked(), [Asked::Text { text: "a OR b*".to_owned(), max: 3, filter: None }]);
}

#[tokio::test(start_paused = true)]
async fn hybrid_search_fuses_both_at_the_same_time() {
    let mut shelf = Shelf::of(&[("a", 0.9), ("b", 0.8)], &[("c", 7.0), ("b", 5.0), ("d", 1.0)]);
    shelf.meeting = Some(Arc::new(Barrier::new(2)));
    let filter = Filter::key("lang").is("en");
    let retriever =
        builder(&shelf).mode(SearchMode::Hybrid).filter(filter.clone()).build().unwrap();
    let query = query("banana");
    let searching =
        tokio::time::timeout(std::time::Duration::from_secs(9), retriever.retrieve(&query));
    let found = searching.await.expect("both searches run").unwrap();
    let ids: Vec<_> = found.iter().map(|content| content.id.as_deref().unwrap()).collect();
    assert_eq!(ids, ["b", "a", "c"]);
    let scores: Vec<_> = found.iter().map(|content| content.score.unwrap()).collect();
    assert_eq!(scores, [1.0 / 62.0 + 1.0 / 62.0, 1.0 / 61.0, 1.0 / 61.0]);
    let filter = Some(filter);
    let vector =
        Asked::Vector { vector: vec![6.0, 3.0], max: 20, min: 0.0, filter: filter.clone() };
    let text = Asked::Text { text: "banana".to_owned(), max: 20, filter };
    let asked = shelf.asked();
    assert!(asked.len() == 2 && asked.contains(&vector) && asked.contains(&text), "{asked:?}");
}

#[tokio::test]
async fn hybrid_search_looks_at_enough_candidates() {
    for (candidates, max_results, expected) in [(None, 30, 30), (Some(50), 5, 50), (Some(1), 5, 5)]
    {
        let shelf = Shelf::default();
        let mut builder = builder(&shelf).mode(SearchMode::Hybrid).max_results(max_results);
        if let Some(candidates) = candidates {
            builder = builder.candidates(candidates);
        }
        builder.build().unwrap().retrieve(&query("q")).await.unwrap();
        let max = |asked| match asked {
            Asked::Vector { max, .. } | Asked::Text { max, .. } => max,
        };
        assert_eq!(shelf.asked().into_iter().map(max).collect::<Vec<_>>(), [expected, expected]);
    }
}

#[tokio::test]
async fn embedding_is_metered() {
    let meter = UsageMeter::new();
    let turn = TurnContext::builder(UserMessage::new("?")).meter(meter.clone()).build();
    let retriever = builder(&Shelf::default()).build().unwrap();
    retriever.retrieve(&Query::new("q", turn)).await.unwrap();
    assert_eq!(meter.total().input, Some(3));
}

/// Answers with vectors of another length, or with none.
struct Other(Vec<Vec<f32>>);

#[ai_services::async_trait]
impl EmbeddingModel for Other {
    async fn embed(&self, _: &[&str], _: EmbeddingPurpose) -> Result<Embeddings> {
        Ok(Embeddings::new(self.0.clone()))
    }
}

#[tokio::test]
async fn wrong_vectors_are_errors() {
    for (vectors, kind) in
        [(vec![vec![1.0; 3]], ErrorKind::InvalidRequest), (vec![], ErrorKind::InvalidResponse)]
    {
        let retriever = builder(&Shelf::default()).embedding_model(Other(vectors)).build().unwrap();
        assert_eq!(retriever.retrieve(&query("q")).await.unwrap_err().kind(), kind);
    }
}

#[test]
fn builder_checks_what_it_is_given() {
    let bare = || EmbeddingStoreContentRetriever::builder(Shelf::default());
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
