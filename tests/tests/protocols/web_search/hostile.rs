//! Both clients with servers that fail, send wrong data or flood.

use super::{CANARY, golden};
use ai_services::rag::web_search::{
    SearxngSearchEngine, TavilySearchEngine, WebSearchEngine, WebSearchRequest, WebSearchResults,
};
use ai_services::{ErrorKind, Result};
use ai_services_tests::fault_server::Step::{Close, Hang, Repeat, Request, Send};
use ai_services_tests::fault_server::{FaultServer, answer, json_answer, redirect, until_close};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Creates an engine for a server.
struct Client {
    origin: String,
    timeout: Duration,
    max_response_bytes: usize,
    max_retries: u32,
}

impl Client {
    fn of(server: &FaultServer) -> Self {
        let timeout = Duration::from_secs(20);
        Self { origin: server.origin(), timeout, max_response_bytes: 16 << 20, max_retries: 0 }
    }

    fn tavily(&self) -> Arc<dyn WebSearchEngine> {
        let builder = TavilySearchEngine::builder().api_key(CANARY).base_url(&*self.origin);
        let builder = builder.timeout(self.timeout).max_response_bytes(self.max_response_bytes);
        let builder = builder.max_retries(self.max_retries).retry_delay(Duration::from_millis(1));
        Arc::new(builder.build().unwrap())
    }

    fn searxng(&self) -> Arc<dyn WebSearchEngine> {
        let builder =
            SearxngSearchEngine::builder().header("x-key", CANARY).base_url(&*self.origin);
        let builder = builder.timeout(self.timeout).max_response_bytes(self.max_response_bytes);
        let builder = builder.max_retries(self.max_retries).retry_delay(Duration::from_millis(1));
        Arc::new(builder.build().unwrap())
    }
}

type Make = fn(&Client) -> Arc<dyn WebSearchEngine>;
const ENGINES: [(Make, &str); 2] =
    [(Client::tavily, "tavily_answer"), (Client::searxng, "searxng_answer")];

async fn search(engine: &dyn WebSearchEngine) -> Result<WebSearchResults> {
    engine.search(&WebSearchRequest::new("ferns").with_max_results(1000)).await
}

/// Returns the result of an engine for one answer.
async fn found(make: Make, answer: Vec<u8>) -> Result<WebSearchResults> {
    let server = FaultServer::answering([answer]).await.unwrap();
    search(&*make(&Client::of(&server))).await
}

#[tokio::test]
async fn status_determines_the_kind_of_an_error() {
    use ErrorKind::{
        Authentication, InvalidRequest, InvalidResponse, RateLimited, Timeout, Unavailable,
    };
    for (status, kind) in [
        (302, InvalidResponse),
        (400, InvalidRequest),
        (401, Authentication),
        (403, Authentication),
        (404, InvalidRequest),
        (408, Timeout),
        (422, InvalidRequest),
        (429, RateLimited),
        (432, RateLimited),
        (500, Unavailable),
        (502, Unavailable),
        (503, Unavailable),
    ] {
        for (make, _) in ENGINES {
            let body = json!({ "detail": { "error": format!("wrong {CANARY}") } }).to_string();
            let error = found(make, answer(status, &[], body)).await.unwrap_err();
            assert_eq!((error.kind(), error.status()), (kind, Some(status)), "{error}");
            assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
        }
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        for (make, _) in ENGINES {
            let target = FaultServer::start([]).await.unwrap();
            let script = vec![Request, Send(redirect(status, &target.url()))];
            let server = FaultServer::start([script]).await.unwrap();
            let error = search(&*make(&Client::of(&server))).await.unwrap_err();
            assert!(error.to_string().contains("redirects"), "{error}");
            assert_eq!((server.requests().len(), target.connections()), (1, 0));
        }
    }
}

#[tokio::test]
async fn silent_server_times_out() {
    for (make, _) in ENGINES {
        let begun = until_close("1.1", "application/json", "{\"results\":[");
        for script in [vec![Request, Hang], vec![Request, Send(begun), Hang]] {
            let server = FaultServer::start([script]).await.unwrap();
            let engine =
                make(&Client { timeout: Duration::from_millis(100), ..Client::of(&server) });
            assert_eq!(search(&*engine).await.unwrap_err().kind(), ErrorKind::Timeout);
            server.hung_up(1).await;
        }
    }
}

#[tokio::test]
async fn truncated_answer_is_an_error() {
    for (make, name) in ENGINES {
        let body = golden(name).to_string();
        let cut = until_close("1.1", "application/json", &body[..body.len() / 2]);
        let server = FaultServer::start([vec![Request, Send(cut), Close]]).await.unwrap();
        let error = search(&*make(&Client::of(&server))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{error}");
    }
}

#[tokio::test]
async fn invalid_answer_is_an_error() {
    for (make, _) in ENGINES {
        for body in [
            "",
            "null",
            "[]",
            "7",
            "x",
            "<html>",
            "{}",
            "{\"results\":null}",
            "{\"results\":{}}",
            "{\"results\":[1e999]}",
            "{\"results\":[],\"results\":[]}",
            "\u{0}",
            "{\"results\":[",
        ] {
            let error = found(make, answer(200, &[], body)).await.unwrap_err();
            assert_eq!(
                (error.kind(), error.status()),
                (ErrorKind::InvalidResponse, Some(200)),
                "{body}"
            );
        }
        let body = format!("<html>{CANARY}");
        let error = found(make, answer(200, &[], body)).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
    }
}

#[tokio::test]
async fn ten_megabytes_are_read_and_cut() {
    for (make, name) in ENGINES {
        let mut body = golden(name);
        body["results"][0]["content"] = "é".repeat(5 << 20).into();
        let results = found(make, json_answer(&body)).await.unwrap();
        let snippet = results.results()[0].snippet.as_deref().unwrap();
        assert_eq!(snippet.len(), (32 << 10) + "…".len());
        assert_eq!(results.results().len(), 2);
    }
}

#[tokio::test]
async fn endless_answer_is_aborted() {
    for (make, _) in ENGINES {
        let begun = Send(until_close("1.1", "application/json", "{\"results\":["));
        let script = vec![Request, begun, Repeat(b"{},".repeat(10_000))];
        let server = FaultServer::start([script]).await.unwrap();
        let engine = make(&Client { max_response_bytes: 1 << 20, ..Client::of(&server) });
        let error = search(&*engine).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse);
        assert!(error.to_string().contains("1048576"), "{error}");
        server.hung_up(1).await;
    }
}

#[tokio::test]
async fn no_more_than_a_hundred_pages_are_kept() {
    for (make, _) in ENGINES {
        let page = |number| json!({ "url": format!("https://a.example/{number}"), "title": "t" });
        let pages: Vec<_> = (0..20_000).map(page).collect();
        let results = found(make, json_answer(&json!({ "results": pages }))).await.unwrap();
        assert_eq!(results.results().len(), 100);
        assert_eq!(&*results.results()[99].url, "https://a.example/99");
    }
}

#[tokio::test]
async fn invalid_pages_are_skipped() {
    let urls = [
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "/relative",
        "",
        "https://",
        "https://a.example/\u{1b}[2J",
        "https://bank.example@a.example/",
        "https://a.example/x",
        "https://A.example/x#again",
        "ftp://a.example/x",
    ];
    let mut pages: Vec<_> = urls.iter().map(|url| json!({ "url": url, "title": "t" })).collect();
    pages.extend([json!(null), json!("https://b.example"), json!([]), json!({ "title": "t" })]);
    for (make, _) in ENGINES {
        let results = found(make, json_answer(&json!({ "results": pages }))).await.unwrap();
        let kept: Vec<_> = results.results().iter().map(|result| &*result.url).collect();
        assert_eq!(kept, ["https://a.example/x"]);
    }
}

/// Returns copies of this JSON, each with one value replaced by an odd one.
fn damaged(json: &Value) -> Vec<Value> {
    let odd = [
        json!(null),
        json!(true),
        json!(7),
        json!(-1.5),
        json!(u64::MAX),
        json!("x"),
        json!(""),
        json!("https://odd.example/"),
        json!([]),
        json!({}),
        json!([["a"]]),
        json!({ "text": ["b", 1] }),
    ];
    let mut all: Vec<_> = odd.to_vec();
    let mut inner = |put: &dyn Fn(Value) -> Value, value: &Value| {
        all.extend(damaged(value).into_iter().map(put));
    };
    match json {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let put = |value| {
                    let mut items = items.clone();
                    items[index] = value;
                    Value::Array(items)
                };
                inner(&put, item);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let put = |value| {
                    let mut members = members.clone();
                    members.insert(name.clone(), value);
                    Value::Object(members)
                };
                inner(&put, member);
            }
        }
        _ => {}
    }
    all
}

#[tokio::test]
async fn odd_value_anywhere_gives_pages_or_an_error() {
    for (make, name) in ENGINES {
        let bodies = damaged(&golden(name));
        let answers: Vec<_> = bodies.iter().map(json_answer).collect();
        let server = FaultServer::answering(answers).await.unwrap();
        let engine = make(&Client::of(&server));
        let mut whole = 0;
        for body in &bodies {
            match search(&*engine).await {
                Ok(found) => {
                    whole += usize::from(found.results().len() == 2);
                    for result in found.results() {
                        let is_web = result.url.starts_with("https://") && !result.title.is_empty();
                        assert!(is_web, "{body}");
                    }
                }
                Err(error) => {
                    let kinds = [ErrorKind::InvalidResponse, ErrorKind::Unavailable];
                    assert!(kinds.contains(&error.kind()), "{error}: {body}");
                }
            }
        }
        assert_eq!(server.requests().len(), bodies.len());
        assert!(whole > bodies.len() / 2, "{whole} of {}", bodies.len());
    }
}

#[test]
fn key_is_not_printed() {
    let tavily = TavilySearchEngine::builder().api_key(CANARY).extra("api_key", CANARY);
    let tavily = tavily.base_url(format!("http://localhost/?key={CANARY}"));
    let mut shown = format!("{tavily:?} {tavily:#?}");
    shown += &format!("{:?}", tavily.build().unwrap());
    let searxng = SearxngSearchEngine::builder().header("x-key", CANARY).extra("key", CANARY);
    let searxng = searxng.base_url(format!("http://localhost/?key={CANARY}"));
    shown += &format!("{searxng:?}");
    shown += &format!("{:?}", searxng.build().unwrap());
    assert!(!shown.contains("canary"), "{shown}");
}
