//! Web pages as retrieved contents.

use super::{Scripted, page};
use ai_services::document::Metadata;
use ai_services::message::UserMessage;
use ai_services::rag::web_search::{
    SafeSearch, TimeRange, WebSearchContentRetriever, WebSearchEngine, WebSearchRequest,
    WebSearchResult, WebSearchResults,
};
use ai_services::rag::{ContentRetriever, Query, RetrievedContent};
use ai_services::{Error, ErrorKind, TurnContext};
use proptest::prelude::*;
use serde_json::json;
use std::collections::HashSet;
use std::sync::Arc;

fn query(text: &str) -> Query {
    Query::new(text, TurnContext::builder(UserMessage::new("Which ferns?")).build())
}

async fn retrieved(engine: &Scripted) -> Vec<RetrievedContent> {
    WebSearchContentRetriever::new(engine.clone()).retrieve(&query("ferns")).await.unwrap()
}

#[tokio::test]
async fn page_becomes_a_content_with_address_title_and_score() {
    let date = Metadata::new().with("published_date", "2026-05-01");
    let engine = Scripted::finding([page(1).with_score(0.5).with_metadata(date)]);
    let contents = retrieved(&engine).await;
    assert_eq!(contents.len(), 1);
    assert_eq!(contents[0].segment.text(), "Page 1\nText 1.");
    let metadata = Metadata::new()
        .with("url", "https://plants.example/1")
        .with("title", "Page 1")
        .with("published_date", "2026-05-01");
    assert_eq!(contents[0].segment.metadata(), &metadata);
    let keys: Vec<_> = contents[0].segment.metadata().iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["url", "title", "published_date"]);
    assert_eq!((contents[0].score, contents[0].id.as_deref()), (Some(0.5), None));
}

#[tokio::test]
async fn text_of_a_page_replaces_its_snippet() {
    let engine = Scripted::finding([
        page(1).with_content("All of it."),
        page(2).with_content(" "),
        WebSearchResult::new("Bare", "https://plants.example/3"),
    ]);
    let contents = retrieved(&engine).await;
    let texts: Vec<_> = contents.iter().map(|content| content.segment.text()).collect();
    assert_eq!(texts, ["Page 1\nAll of it.", "Page 2\nText 2.", "Bare"]);
}

#[tokio::test]
async fn page_cannot_forge_another_page() {
    let forged = Metadata::new().with("url", "https://bank.example/").with("title", "Bank");
    let contents = retrieved(&Scripted::finding([page(1).with_metadata(forged)])).await;
    let metadata = contents[0].segment.metadata();
    assert_eq!(metadata.get("url").unwrap().as_text(), Some("https://plants.example/1"));
    assert_eq!(metadata.get("title").unwrap().as_text(), Some("Page 1"));
    assert_eq!(metadata.len(), 2);
}

#[tokio::test]
async fn metadata_of_a_page_is_within_limits() {
    let long = "é".repeat(100_000);
    let keys = (0..100).map(|number| (format!("key {number}"), number));
    let metadata = Metadata::new()
        .with("date", format!("\u{1b}[2J today\n\n2. {long}"))
        .with("blank", "\u{0}")
        .with("a\nb", "x")
        .with(long.as_str(), 1);
    let metadata = keys.fold(metadata, |all, (key, value)| all.with(key, value));
    let found = WebSearchResults::new([page(1).with_metadata(metadata)]);
    let kept = &found.results()[0].metadata;
    let date = kept.get("date").unwrap().as_text().unwrap();
    assert!(date.starts_with("[2J today 2. éé") && date.len() <= (1 << 10) + "…".len(), "{date}");
    let keys: Vec<_> = kept.iter().map(|(key, _)| key).collect();
    assert_eq!((keys[0], keys[1], keys.len()), ("date", "key 0", 32));
}

#[tokio::test]
async fn request_has_the_settings_of_the_retriever() {
    let engine = Scripted::finding([]);
    let retriever = WebSearchContentRetriever::new(engine.clone())
        .max_results(3)
        .language("de")
        .safe_search(SafeSearch::Strict)
        .time_range(TimeRange::Month)
        .extra("country", "germany");
    assert!(retriever.retrieve(&query("  ferns\n")).await.unwrap().is_empty());
    let expected = WebSearchRequest::new("ferns")
        .with_max_results(3)
        .with_language("de")
        .with_safe_search(SafeSearch::Strict)
        .with_time_range(TimeRange::Month)
        .with_extra("country", "germany");
    assert_eq!(engine.requests(), [expected]);
    let plain = WebSearchContentRetriever::new(engine.clone());
    plain.retrieve(&query("ferns")).await.unwrap();
    assert_eq!(engine.requests()[1], WebSearchRequest::new("ferns"));
    assert_eq!(engine.requests()[1].max_results, 5);
}

#[tokio::test]
async fn empty_query_sends_no_request() {
    let engine = Scripted::finding([page(1)]);
    let retriever = WebSearchContentRetriever::new(engine.clone());
    assert!(retriever.retrieve(&query(" \n")).await.unwrap().is_empty());
    let none = retriever.max_results(0).retrieve(&query("ferns")).await.unwrap();
    assert!(none.is_empty() && engine.requests().is_empty());
}

#[tokio::test]
async fn excess_results_of_an_engine_are_dropped() {
    let engine = Scripted::finding((0..50).map(page));
    assert_eq!(retrieved(&engine).await.len(), 5);
}

#[tokio::test]
async fn long_page_is_truncated_at_the_limit() {
    let engine = Scripted::finding([page(1).with_content("é".repeat(100_000))]);
    let text = retrieved(&engine).await.remove(0);
    assert_eq!(text.segment.text().len(), "Page 1\n…".len() + (32 << 10));
    let retriever = WebSearchContentRetriever::new(engine).max_text_bytes(5);
    let contents = retriever.retrieve(&query("ferns")).await.unwrap();
    assert_eq!(contents[0].segment.text(), "Page 1\néé…");
}

#[tokio::test]
async fn answer_of_the_engine_comes_first() {
    let found = WebSearchResults::new([page(1), page(2)]).with_answer("Ferns do.");
    let engine = Scripted::new(move || Ok(found.clone()));
    let retriever = WebSearchContentRetriever::new(engine).max_results(1);
    let contents = retriever.retrieve(&query("ferns")).await.unwrap();
    let texts: Vec<_> = contents.iter().map(|content| content.segment.text()).collect();
    assert_eq!(texts, ["Ferns do.", "Page 1\nText 1."]);
    let metadata = Metadata::new().with("title", "answer by scripted");
    assert_eq!(contents[0].segment.metadata(), &metadata);
}

#[tokio::test]
async fn failure_is_reported() {
    let engine = Scripted::failing(|| Error::new(ErrorKind::RateLimited, "too many searches"));
    let retriever = WebSearchContentRetriever::new(engine);
    let error = retriever.retrieve(&query("ferns")).await.unwrap_err();
    assert_eq!((error.kind(), &*error.to_string()), (ErrorKind::RateLimited, "too many searches"));
}

#[tokio::test]
async fn shared_engine_is_an_engine() {
    let engine = Scripted::finding([page(1)]);
    let shared: Arc<dyn WebSearchEngine> = Arc::new(engine.clone());
    assert_eq!(shared.name(), "scripted");
    let retriever = WebSearchContentRetriever::new(Arc::clone(&shared));
    assert_eq!(retriever.retrieve(&query("ferns")).await.unwrap().len(), 1);
    assert_eq!(engine.requests().len(), 1);
    let shown = format!("{retriever:?}");
    assert!(shown.contains("scripted") && !shown.contains("ferns"), "{shown}");
}

/// Addresses and texts, good and bad.
fn odd_text() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("http://".to_owned()),
        Just("https://".to_owned()),
        Just("HTTPS://A.example".to_owned()),
        Just("a.example/x".to_owned()),
        Just("javascript:".to_owned()),
        Just("\u{1b}[2J\r\n".to_owned()),
        Just("@#?/\\<>\"".to_owned()),
        ".{0,12}",
        ".{0,12}".prop_map(|text| text.repeat(4000)),
    ];
    proptest::collection::vec(pieces, 0..4).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn arbitrary_results_are_within_limits(
        pages in proptest::collection::vec((odd_text(), odd_text(), odd_text(), any::<f64>()), 0..20),
    ) {
        let results = pages.iter().map(|(title, url, text, score)| {
            let result = WebSearchResult::new(&**title, &**url).with_score(*score);
            result.with_snippet(&**text).with_content(&**text)
        });
        let found = WebSearchResults::new(results.clone().chain(results));
        let mut seen = HashSet::new();
        for result in found.results() {
            let url = result.url.to_lowercase();
            prop_assert!(url.starts_with("http://") || url.starts_with("https://"), "{url}");
            prop_assert!(!url.contains(|c: char| c.is_whitespace() || c.is_control()), "{url}");
            prop_assert!(seen.insert(result.url.clone()), "{url} comes twice");
            prop_assert!(!result.title.is_empty() && !result.title.contains('\n'));
            prop_assert!(result.title.len() <= (8 << 10));
            let snippet = result.snippet.as_deref().unwrap_or("x");
            prop_assert!(!snippet.is_empty() && snippet.len() <= (32 << 10) + "…".len());
            let is_odd = |c: char| c.is_control() && c != '\n' && c != '\t';
            prop_assert!(!snippet.contains(is_odd));
            prop_assert!(result.score.is_none_or(f64::is_finite));
        }
        // A second normalization changes nothing.
        let again = WebSearchResults::new(found.results().to_vec());
        prop_assert_eq!(again.results().len(), found.results().len());
    }
}

#[test]
fn extra_of_a_request_is_unchanged() {
    let request = WebSearchRequest::new("x").with_extra("a", json!([1])).with_extra("a", 2);
    assert_eq!(serde_json::Value::from(request.extra), json!({ "a": 2 }));
}
