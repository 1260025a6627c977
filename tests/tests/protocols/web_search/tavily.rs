//! Client of Tavily: requests and answers.

use super::{CANARY, golden};
use ai_services::ErrorKind;
use ai_services::document::Metadata;
use ai_services::rag::web_search::{
    SafeSearch, TavilyAnswer, TavilyRawContent, TavilySearchDepth, TavilySearchEngine,
    TavilySearchEngineBuilder, TavilyTopic, TimeRange, WebSearchEngine, WebSearchRequest,
};
use ai_services_tests::fault_server::{FaultServer, answer, json_answer};
use serde_json::json;
use std::time::Duration;

fn client(server: &FaultServer) -> TavilySearchEngineBuilder {
    TavilySearchEngine::builder()
        .api_key(CANARY)
        .base_url(server.origin())
        .max_retries(0)
        .retry_delay(Duration::from_millis(1))
}

async fn serving(body: &serde_json::Value) -> FaultServer {
    FaultServer::answering([json_answer(body)]).await.unwrap()
}

#[tokio::test]
async fn pages_have_all_fields_of_tavily() {
    let server = serving(&golden("tavily_answer")).await;
    let engine = client(&server).build().unwrap();
    let found = engine.search(&WebSearchRequest::new("what grows in shade?")).await.unwrap();
    let [ferns, hostas] = found.results() else { panic!("{found:?}") };
    assert_eq!((&*ferns.title, &*ferns.url), ("Ferns", "https://plants.example/ferns"));
    let snippet = "Ferns grow in shade. [...] They like <b>moist</b> soil.";
    assert_eq!(ferns.snippet.as_deref(), Some(snippet), "tags are text");
    assert_eq!(ferns.content.as_deref(), Some("# Ferns\n\nFerns grow in shade."));
    assert_eq!((ferns.score, ferns.metadata.len()), (Some(0.91234), 0));
    assert_eq!(
        (hostas.snippet.as_deref(), hostas.content.as_deref()),
        (Some("A hosta won."), None)
    );
    let date = Metadata::new().with("published_date", "Fri, 01 May 2026 08:00:00 GMT");
    assert_eq!(hostas.metadata, date);
    assert_eq!(found.answer(), Some("Ferns and hostas grow in shade."));
    assert_eq!(found.total(), None);
    let request = server.requests().remove(0);
    assert!(request.head.starts_with("POST /search HTTP/1.1\r\n"), "{}", request.head);
    assert_eq!(request.header("authorization"), Some(format!("Bearer {CANARY}").as_str()));
    assert_eq!(request.json(), golden("tavily"));
}

#[tokio::test]
async fn settings_are_sent() {
    let server = serving(&json!({ "results": [] })).await;
    let engine = client(&server)
        .search_depth(TavilySearchDepth::UltraFast)
        .topic(TavilyTopic::Finance)
        .answer(TavilyAnswer::Advanced)
        .raw_content(TavilyRawContent::Markdown)
        .include_domains(["ferns.example", "moss.example"])
        .exclude_domains(vec!["gossip.example".to_owned()])
        .extra("country", "norway")
        .build()
        .unwrap();
    let request = WebSearchRequest::new("shares of fern growers")
        .with_max_results(50)
        .with_safe_search(SafeSearch::Moderate)
        .with_time_range(TimeRange::Week);
    assert!(engine.search(&request).await.unwrap().results().is_empty());
    assert_eq!(server.requests()[0].json(), golden("tavily_settings"));
}

#[tokio::test]
async fn extra_of_the_request_wins() {
    let server = serving(&json!({ "results": [] })).await;
    let engine = client(&server).extra("country", "norway").extra("topic", "news");
    let engine = engine.topic(TavilyTopic::Finance).build().unwrap();
    let request = WebSearchRequest::new("ferns").with_extra("country", "sweden");
    engine.search(&request.with_extra("max_results", 1)).await.unwrap();
    let expected =
        json!({ "query": "ferns", "max_results": 1, "country": "sweden", "topic": "news" });
    assert_eq!(server.requests()[0].json(), expected);
}

#[tokio::test]
async fn excess_results_are_dropped() {
    let server = serving(&golden("tavily_answer")).await;
    let engine = client(&server).build().unwrap();
    let found = engine.search(&WebSearchRequest::new("x").with_max_results(1)).await.unwrap();
    assert_eq!(found.results().len(), 1);
}

#[tokio::test]
async fn unsupported_settings_are_an_error_and_not_sent() {
    let server = FaultServer::start([]).await.unwrap();
    let engine = client(&server).build().unwrap();
    let ask = |request: WebSearchRequest| {
        let engine = engine.clone();
        async move { engine.search(&request).await }
    };
    let error = ask(WebSearchRequest::new("x").with_language("de")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("`language`"), "{error}");
    let error = ask(WebSearchRequest::new("x").with_page(2)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let error = ask(WebSearchRequest::new(" \n")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    let none = ask(WebSearchRequest::new("x").with_max_results(0)).await.unwrap();
    assert!(none.results().is_empty());
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn long_terms_are_truncated_to_the_limit_of_tavily() {
    let server = serving(&json!({ "results": [] })).await;
    let engine = client(&server).build().unwrap();
    let terms = "naïve ".repeat(1000);
    engine.search(&WebSearchRequest::new(&*terms)).await.unwrap();
    let sent = server.requests()[0].json()["query"].as_str().unwrap().to_owned();
    assert!(sent.chars().count() <= 400 && sent.chars().count() > 390, "{sent}");
    assert!(terms.starts_with(&sent) && sent.ends_with("naïve"), "{sent}");
}

#[tokio::test]
async fn exhausted_plan_is_reported_and_not_retried() {
    for status in [432, 433] {
        let said = "This request exceeds your plan's set usage limit.";
        let body = json!({ "detail": { "error": said } }).to_string();
        let server = FaultServer::answering([answer(status, &[], body)]).await.unwrap();
        let engine = client(&server).max_retries(2).build().unwrap();
        let error = engine.search(&WebSearchRequest::new("x")).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::RateLimited, false));
        assert!(error.to_string().ends_with(said), "{error}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn temporary_failures_are_retried() {
    let found = json_answer(&json!({ "results": [] }));
    let answers = [answer(429, &[("retry-after", "0")], ""), answer(503, &[], ""), found];
    let server = FaultServer::answering(answers).await.unwrap();
    let engine = client(&server).max_retries(2).build().unwrap();
    assert!(engine.search(&WebSearchRequest::new("x")).await.is_ok());
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn error_with_status_200_is_an_error() {
    for body in [
        json!({ "detail": { "error": "no such index" } }),
        json!({ "error": "no such index" }),
        json!({ "detail": "no such index", "results": null }),
    ] {
        let server = serving(&body).await;
        let engine = client(&server).build().unwrap();
        let error = engine.search(&WebSearchRequest::new("x")).await.unwrap_err();
        assert!(error.to_string().contains(": no such index"), "{error}");
    }
}
