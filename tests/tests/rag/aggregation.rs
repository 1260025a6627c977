//! Merging of results.

use crate::{contents, texts, turn};
use ai_services::document::{Metadata, TextSegment};
use ai_services::message::{Content, UserMessage};
use ai_services::model::{Scores, ScoringModel, TokenUsage, UsageMeter};
use ai_services::rag::{
    ContentAggregator, Query, ReRankingContentAggregator, ReciprocalRankFusion, RetrievedContent,
};
use ai_services::{Error, ErrorKind, Result, TurnContext};
use std::sync::{Arc, Mutex};

/// A scoring model with a fixed score per text, which records its calls.
#[derive(Clone, Default)]
struct Judge {
    scores: Vec<(&'static str, f64)>,
    calls: Arc<Mutex<ScoringCalls>>,
}

/// Queries with the documents that were scored against them.
type ScoringCalls = Vec<(String, Vec<String>)>;

impl Judge {
    fn of(scores: &[(&'static str, f64)]) -> Self {
        Self { scores: scores.to_vec(), ..Self::default() }
    }

    fn calls(&self) -> ScoringCalls {
        self.calls.lock().unwrap().clone()
    }
}

#[ai_services::async_trait]
impl ScoringModel for Judge {
    async fn score(&self, query: &str, documents: &[&str]) -> Result<Scores> {
        let documents: Vec<String> = documents.iter().map(ToString::to_string).collect();
        let score = |text: &String| {
            let mut scores = self.scores.iter();
            scores.find_map(|(own, score)| (own == text).then_some(*score))
        };
        let scores: Vec<f64> = documents.iter().filter_map(score).collect();
        self.calls.lock().unwrap().push((query.to_owned(), documents));
        Ok(Scores::new(scores).with_usage(TokenUsage::new(9, 0)))
    }
}

type Found = Vec<(Query, Vec<Vec<RetrievedContent>>)>;

/// Creates results of queries in a turn.
fn found(turn: &TurnContext, queries: &[(&str, &[&[&str]])]) -> Found {
    let lists = |lists: &[&[&str]]| lists.iter().map(|list| contents(list)).collect();
    queries.iter().map(|(text, own)| (Query::new(*text, turn.clone()), lists(own))).collect()
}

#[tokio::test]
async fn fusion_of_empty_lists_is_empty() {
    let fusion = ReciprocalRankFusion::new();
    assert!(fusion.aggregate(Vec::new()).await.unwrap().is_empty());
    let empty = found(&turn("?"), &[("q1", &[]), ("q2", &[&[], &[]])]);
    assert!(fusion.aggregate(empty).await.unwrap().is_empty());
}

/// Test cases of LangChain4j.
#[tokio::test]
async fn fusion_keeps_the_order_of_queries() {
    let fusion = ReciprocalRankFusion::new();
    for (second, expected) in [("7", "1 5 3 7 2 6 4 8"), ("1", "1 5 3 2 6 4 8")] {
        let queries: &[(&str, &[&[&str]])] =
            &[("q1", &[&["1", "2"], &["3", "4"]]), ("q2", &[&["5", "6"], &[second, "8"]])];
        let fused = fusion.aggregate(found(&turn("?"), queries)).await.unwrap();
        assert_eq!(texts(&fused).join(" "), expected);
    }
}

#[test]
fn first_of_equal_segments_is_kept() {
    let content = |page: i64, score: f64, id: &str| {
        let segment = TextSegment::new("a").with_metadata(Metadata::new().with("page", page));
        RetrievedContent::new(segment).with_score(score).with_id(id)
    };
    let lists = [vec![content(1, 0.9, "x"), content(2, 0.8, "y")], vec![content(2, 0.1, "z")]];
    let fused = ReciprocalRankFusion::new().fuse(lists);
    assert_eq!(fused, [content(2, 0.8, "y"), content(1, 0.9, "x")]);
}

#[test]
fn constant_of_fusion_is_at_least_one() {
    assert_eq!(ReciprocalRankFusion::with_k(0).unwrap_err().kind(), ErrorKind::Configuration);
    assert_eq!(ReciprocalRankFusion::with_k(60).unwrap(), ReciprocalRankFusion::default());
    // With a small constant, a first place outweighs two third places.
    let lists: [&[&str]; 3] = [&["a"], &["b", "x", "c"], &["d", "y", "c"]];
    let first = |k| {
        let fused = ReciprocalRankFusion::with_k(k).unwrap().fuse(lists.map(contents));
        texts(&fused)[0].to_owned()
    };
    assert_eq!((first(60), first(1)), ("c".to_owned(), "a".to_owned()));
}

#[tokio::test]
async fn re_ranking_sorts_by_score_and_keeps_other_data() {
    let judge = Judge::of(&[("a", 0.2), ("b", 0.6), ("c", 0.4), ("d", 0.5)]);
    let metadata = Metadata::new().with("page", 3);
    let rich = RetrievedContent::new(TextSegment::new("b").with_metadata(metadata))
        .with_score(0.1)
        .with_id("b-1");
    let lists = vec![vec!["a".into(), rich.clone()], contents(&["c", "d"])];
    let aggregator =
        ReRankingContentAggregator::builder(judge).min_score(0.4).max_results(2).build().unwrap();
    let ranked = aggregator.aggregate(vec![(crate::query("?"), lists)]).await.unwrap();
    assert_eq!(ranked, [rich.with_score(0.6), RetrievedContent::from("d").with_score(0.5)]);
}

#[tokio::test]
async fn minimum_score_is_inclusive() {
    let judge = Judge::of(&[("a", 0.3), ("b", 0.4), ("c", 0.5)]);
    let aggregator = ReRankingContentAggregator::builder(judge).min_score(0.4).build().unwrap();
    let found = found(&turn("?"), &[("q", &[&["a", "b", "c"]])]);
    assert_eq!(texts(&aggregator.aggregate(found).await.unwrap()), ["c", "b"]);
}

#[tokio::test]
async fn contents_are_scored_against_the_user_message() {
    let message = UserMessage::from_contents([
        Content::from("Look:"),
        Content::image_url("https://example.org/a.png"),
        Content::from("ripe?"),
    ]);
    let turn = TurnContext::builder(message).build();
    let judge = Judge::of(&[("a", 1.0), ("b", 2.0)]);
    let found = found(&turn, &[("q1", &[&["a"]]), ("q2", &[&["b", "a"], &[]])]);
    let ranked = ReRankingContentAggregator::new(judge.clone()).aggregate(found).await.unwrap();
    assert_eq!(texts(&ranked), ["b", "a"]);
    assert_eq!(judge.calls(), [("Look:\nripe?".to_owned(), vec!["a".to_owned(), "b".to_owned()])]);
}

#[tokio::test]
async fn selector_chooses_the_text_to_score_against() {
    let judge = Judge::of(&[("a", 1.0)]);
    let aggregator = ReRankingContentAggregator::builder(judge.clone())
        .query_selector(|queries| queries[1].with_text(queries[1].text().to_uppercase()))
        .build()
        .unwrap();
    let found = found(&turn("user text"), &[("q1", &[&["a"]]), ("q2", &[&[]])]);
    aggregator.aggregate(found).await.unwrap();
    assert_eq!(judge.calls()[0].0, "Q2");
}

#[tokio::test]
async fn equal_scores_keep_their_order_and_nan_is_last() {
    let judge = Judge::of(&[
        ("a", f64::NAN),
        ("b", 0.5),
        ("c", -f64::NAN),
        ("d", f64::NEG_INFINITY),
        ("e", 0.5),
        ("f", f64::INFINITY),
    ]);
    let all: &[&[&str]] = &[&["a", "b", "c", "d", "e", "f"]];
    let lenient = ReRankingContentAggregator::new(judge.clone());
    let ranked = lenient.aggregate(found(&turn("?"), &[("q", all)])).await.unwrap();
    assert_eq!(texts(&ranked), ["f", "b", "e", "d", "a", "c"]);
    let strict = ReRankingContentAggregator::builder(judge).min_score(f64::NEG_INFINITY);
    let strict = strict.build().unwrap();
    let ranked = strict.aggregate(found(&turn("?"), &[("q", all)])).await.unwrap();
    assert_eq!(texts(&ranked), ["f", "b", "e", "d"]);
}

#[tokio::test]
async fn model_is_not_called_without_contents() {
    let judge = Judge::default();
    let aggregator = ReRankingContentAggregator::new(judge.clone());
    assert!(aggregator.aggregate(Vec::new()).await.unwrap().is_empty());
    let empty = found(&turn("?"), &[("q", &[&[]])]);
    assert!(aggregator.aggregate(empty).await.unwrap().is_empty());
    assert!(judge.calls().is_empty());
}

#[tokio::test]
async fn wrong_number_of_scores_is_an_error() {
    let aggregator = ReRankingContentAggregator::new(Judge::of(&[("a", 1.0)]));
    let found = found(&turn("?"), &[("q", &[&["a", "unknown"]])]);
    let error: Error = aggregator.aggregate(found).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    assert_eq!(error.to_string(), "the scoring model returned 1 scores for 2 texts");
}

#[tokio::test]
async fn re_ranking_is_metered() {
    let meter = UsageMeter::new();
    let turn = TurnContext::builder(UserMessage::new("?")).meter(meter.clone()).build();
    let aggregator = ReRankingContentAggregator::new(Judge::of(&[("a", 1.0)]));
    aggregator.aggregate(found(&turn, &[("q", &[&["a"]])])).await.unwrap();
    assert_eq!(meter.total().input, Some(9));
}

#[test]
fn invalid_limits_are_rejected_by_the_builder() {
    let builder = || ReRankingContentAggregator::builder(Judge::default());
    for builder in [builder().min_score(f64::NAN), builder().max_results(0)] {
        assert_eq!(builder.build().unwrap_err().kind(), ErrorKind::Configuration);
    }
    builder().min_score(f64::NEG_INFINITY).max_results(1).build().unwrap();
}
