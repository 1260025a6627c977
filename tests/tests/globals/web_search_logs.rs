//! Neither the key of a search engine nor queries and results are logged.

use super::own_process::in_own_process;
use ai_services::message::UserMessage;
use ai_services::rag::web_search::{
    SearxngSearchEngine, TavilySearchEngine, WebSearchContentRetriever, WebSearchEngine,
};
use ai_services::rag::{ContentRetriever, Query};
use ai_services::{Error, TurnContext};
use ai_services_tests::fault_server::Step::{Request, Send};
use ai_services_tests::fault_server::{FaultServer, once, redirect};
use ai_services_tests::logs;
use serde_json::json;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

const KEY: &str = "tvly-canary-key";
const TERMS: &str = "canaryterms";
const FOUND: &str = "canaryfound";

/// Returns all output of an error and of its sources.
fn shown(error: &Error) -> String {
    let mut text = format!("{error} {error:?} {:?} {:?}\n", error.code(), error.request_id());
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        writeln!(text, "{error} {error:?}").unwrap();
        source = error.source();
    }
    text
}

fn answers() -> Vec<Vec<u8>> {
    let id = [("x-request-id", KEY), ("retry-after", KEY), ("content-type", KEY)];
    let page =
        json!({ "url": format!("https://a.example/{FOUND}"), "title": FOUND, "content": FOUND });
    let mut all = vec![
        once(200, &[], json!({ "results": [page], "answer": FOUND }).to_string()),
        once(200, &[], json!({ "results": [], "unresponsive_engines": [[KEY, KEY]] }).to_string()),
        once(200, &id, format!("<html>{KEY}")),
        once(200, &[], json!({ "error": KEY }).to_string()),
        once(200, &[], json!({ "detail": { "error": KEY } }).to_string()),
        once(200, &[], format!("{{\"{KEY}\"")),
        redirect(302, &format!("http://localhost:1/{KEY}")),
    ];
    for status in [400, 401, 403, 429, 500] {
        all.push(once(status, &id, json!({ "detail": { "error": KEY } }).to_string()));
        all.push(once(status, &[], KEY));
    }
    all
}

#[test]
fn key_queries_and_pages_are_not_logged() {
    in_own_process(async || {
        logs::start();
        let mut errors = 0;
        for answer in answers() {
            for is_tavily in [true, false] {
                let context = String::from_utf8_lossy(&answer).into_owned();
                let script = || vec![Request, Send(answer.clone())];
                let server = FaultServer::start([script(), script()]).await.unwrap();
                let engine: Arc<dyn WebSearchEngine> = if is_tavily {
                    let builder =
                        TavilySearchEngine::builder().api_key(KEY).base_url(server.origin());
                    Arc::new(builder.max_retries(1).retry_delay(Duration::ZERO).build().unwrap())
                } else {
                    let builder = SearxngSearchEngine::builder().header("x-key", KEY);
                    let builder = builder.base_url(server.origin()).max_retries(1);
                    Arc::new(builder.retry_delay(Duration::ZERO).build().unwrap())
                };
                let turn = TurnContext::builder(UserMessage::new(TERMS)).build();
                let retriever = WebSearchContentRetriever::new(engine);
                let terms = format!("{TERMS} {}", "canarylong ".repeat(100));
                let retrieved = retriever.retrieve(&Query::new(terms, turn)).await;
                if let Err(error) = retrieved {
                    let shown = shown(&error);
                    assert!(!shown.contains("canary"), "{context}\n{shown}");
                    errors += 1;
                }
                let request = server.requests().remove(0);
                assert!(request.head.contains(KEY), "{context}: the key is not sent");
                assert!(!request.head.lines().next().unwrap().contains(KEY), "{context}");
                let logged = logs::take();
                assert!(!logged.contains("canary"), "{context}\n{logged}");
                assert!(logged.contains("hyper"), "{context}: nothing is logged: {logged}");
            }
        }
        assert!(errors > 20, "only {errors} errors");
    });
}
