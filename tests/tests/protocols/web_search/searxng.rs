//! Client of SearXNG: requests and answers.

use super::golden;
use ai_services::document::Metadata;
use ai_services::rag::web_search::{
    SafeSearch, SearxngSearchEngine, SearxngSearchEngineBuilder, TimeRange, WebSearchEngine,
    WebSearchRequest,
};
use ai_services::{Error, ErrorKind};
use ai_services_tests::fault_server::{FaultServer, answer, json_answer};
use serde_json::{Value, json};

fn client(server: &FaultServer) -> SearxngSearchEngineBuilder {
    SearxngSearchEngine::builder().base_url(server.origin()).max_retries(0)
}

/// Returns the request line of a search.
async fn line(
    set: impl FnOnce(SearxngSearchEngineBuilder) -> SearxngSearchEngineBuilder,
    request: WebSearchRequest,
) -> String {
    let server = FaultServer::answering([json_answer(&json!({ "results": [] }))]).await.unwrap();
    let engine = set(client(&server)).build().unwrap();
    engine.search(&request).await.unwrap();
    let head = server.requests().remove(0).head;
    assert!(server.requests()[0].body.is_empty());
    head.lines().next().unwrap().to_owned()
}

async fn failure(answer: Vec<u8>) -> Error {
    let server = FaultServer::answering([answer]).await.unwrap();
    let engine = client(&server).build().unwrap();
    engine.search(&WebSearchRequest::new("x")).await.unwrap_err()
}

#[tokio::test]
async fn pages_have_all_fields_of_searxng() {
    let server = FaultServer::answering([json_answer(&golden("searxng_answer"))]).await.unwrap();
    let engine = client(&server).build().unwrap();
    let found = engine.search(&WebSearchRequest::new("what grows in shade?")).await.unwrap();
    let [ferns, hostas] = found.results() else { panic!("{found:?}") };
    assert_eq!((&*ferns.title, &*ferns.url), ("Ferns", "https://plants.example/ferns"));
    assert_eq!(ferns.snippet.as_deref(), Some("Ferns grow in shade."));
    assert_eq!((ferns.score, ferns.content.as_deref()), (Some(2.666_666_666_666_666_5), None));
    let known = Metadata::new().with("engine", "duckduckgo");
    assert_eq!(ferns.metadata, known.with("published_date", "2026-05-01T08:00:00"));
    assert_eq!((hostas.snippet.as_deref(), hostas.metadata.len()), (None, 1));
    assert_eq!((found.total(), found.answer()), (Some(12_300), None));
    let request = server.requests().remove(0);
    let line = "GET /search?q=what+grows+in+shade%3F&format=json HTTP/1.1\r\n";
    assert!(request.head.starts_with(line), "{}", request.head);
    assert_eq!(request.header("accept"), Some("application/json"));
}

#[tokio::test]
async fn settings_are_sent() {
    let request = WebSearchRequest::new("ferns")
        .with_language("pt-BR")
        .with_safe_search(SafeSearch::Strict)
        .with_time_range(TimeRange::Year)
        .with_page(3);
    let line = line(
        |client| {
            let client = client.engines(["wikipedia", "duck duck"]).categories(["general"]);
            client.extra("enabled_plugins", json!(["a", "b"])).extra("theme", "simple")
        },
        request.with_extra("theme", Value::Null),
    );
    assert_eq!(
        line.await,
        "GET /search?q=ferns&format=json&engines=wikipedia%2Cduck+duck&categories=general\
         &language=pt-BR&safesearch=2&time_range=year&pageno=3&enabled_plugins=a%2Cb HTTP/1.1"
    );
}

#[tokio::test]
async fn path_and_query_of_the_base_url_are_kept() {
    let server = FaultServer::answering([json_answer(&json!({ "results": [] }))]).await.unwrap();
    let engine = client(&server).base_url(format!("{}/searx/?token=t", server.origin()));
    engine.build().unwrap().search(&WebSearchRequest::new("a&format=html")).await.unwrap();
    let head = server.requests().remove(0).head;
    let line = "GET /searx/search?token=t&q=a%26format%3Dhtml&format=json HTTP/1.1\r\n";
    assert!(head.starts_with(line), "{head}");
}

#[tokio::test]
async fn terms_are_never_commands() {
    for (terms, sent) in [
        ("!!g ferns", "q=g+ferns"),
        ("ferns !images :de <1", "q=ferns+images+de+1"),
        ("\u{1f}!!g\u{0}!go ferns", "q=g+go+ferns"),
        ("\u{a0}!!g\u{2003}:fr ferns", "q=g+fr+ferns"),
        ("!: ferns site:plants.example C!", "q=ferns+site%3Aplants.example+C%21"),
    ] {
        let line = line(|client| client, WebSearchRequest::new(terms)).await;
        assert!(line.starts_with(&format!("GET /search?{sent}&")), "{terms:?}: {line}");
    }
    let server = FaultServer::start([]).await.unwrap();
    let engine = client(&server).build().unwrap();
    let error = engine.search(&WebSearchRequest::new("!! :: <")).await.unwrap_err();
    assert_eq!((error.kind(), server.connections()), (ErrorKind::InvalidRequest, 0));
}

#[tokio::test]
async fn server_without_json_is_explained() {
    let page = "<!doctype html>\n<title>403 Forbidden</title>";
    let html = [("content-type", "text/html")];
    let error = failure(answer(403, &html, page)).await;
    assert_eq!((error.kind(), error.status()), (ErrorKind::Authentication, Some(403)));
    assert!(error.to_string().contains("`search.formats`"), "{error}");
    assert!(!error.to_string().contains("key"), "{error}");
    let error = failure(answer(200, &html, page)).await;
    assert_eq!((error.kind(), error.status()), (ErrorKind::InvalidResponse, Some(200)));
    let text = error.to_string();
    assert!(text.contains("not JSON") && text.contains("`search.formats`"), "{text}");
    let error = failure(answer(200, &[], "oops")).await;
    assert!(!error.to_string().contains("search.formats"), "{error}");
}

#[tokio::test]
async fn unresponsive_engines_without_results_are_an_error() {
    let engines = json!([["google", "CAPTCHA"], ["brave\u{1b}[2J"], [], "bing", 7]);
    let body = json!({ "results": [], "unresponsive_engines": engines });
    let error = failure(json_answer(&body)).await;
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true));
    let text = error.to_string();
    assert!(text.contains(r"google (CAPTCHA), brave\u{1b}[2J, unknown"), "{text}");
    let many: Vec<_> = (0..5000).map(|number| json!([format!("engine{number}"), "x"])).collect();
    let body = json!({ "results": [], "unresponsive_engines": many });
    assert!(failure(json_answer(&body)).await.to_string().len() < 400);
}

#[tokio::test]
async fn estimate_of_zero_is_not_a_total() {
    let body = json!({ "number_of_results": 0, "results": [], "unresponsive_engines": [] });
    let server = FaultServer::answering([json_answer(&body)]).await.unwrap();
    let engine = client(&server).build().unwrap();
    let found = engine.search(&WebSearchRequest::new("x")).await.unwrap();
    assert!(found.results().is_empty());
    assert_eq!(found.total(), None);
}

#[test]
fn invalid_configuration_is_an_error() {
    let error = SearxngSearchEngine::builder().build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("`base_url`"), "{error}");
    for name in ["a,b", " "] {
        let builder = SearxngSearchEngine::builder().base_url("http://localhost");
        let error = builder.engines([name]).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
    }
}
