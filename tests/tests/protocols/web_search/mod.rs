//! Web search engines: clients, retriever and tool.

#[cfg(feature = "web-search")]
mod hostile;
mod retriever;
#[cfg(feature = "web-search")]
mod searxng;
#[cfg(feature = "web-search")]
mod tavily;
mod tool;

use ai_services::rag::web_search::{
    WebSearchEngine, WebSearchRequest, WebSearchResult, WebSearchResults,
};
use ai_services::{Error, Result, async_trait};
use std::sync::{Arc, Mutex, PoisonError};

/// The key of every client here. It must not appear in anything that is printed.
#[cfg(feature = "web-search")]
const CANARY: &str = "tvly-canary-7f3a9c";

/// Returns the golden file with this name.
#[cfg(feature = "web-search")]
fn golden(name: &str) -> serde_json::Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/protocols/web_search/golden");
    let text = std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// An engine with a fixed answer that records its requests.
#[derive(Clone)]
struct Scripted {
    answer: Arc<dyn Fn() -> Result<WebSearchResults> + Send + Sync>,
    requests: Arc<Mutex<Vec<WebSearchRequest>>>,
}

impl Scripted {
    fn new(answer: impl Fn() -> Result<WebSearchResults> + Send + Sync + 'static) -> Self {
        Self { answer: Arc::new(answer), requests: Arc::default() }
    }

    fn finding(results: impl IntoIterator<Item = WebSearchResult>) -> Self {
        let found = WebSearchResults::new(results);
        Self::new(move || Ok(found.clone()))
    }

    fn failing(error: impl Fn() -> Error + Send + Sync + 'static) -> Self {
        Self::new(move || Err(error()))
    }

    fn requests(&self) -> Vec<WebSearchRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl WebSearchEngine for Scripted {
    async fn search(&self, request: &WebSearchRequest) -> Result<WebSearchResults> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        (self.answer)()
    }

    fn name(&self) -> &'static str {
        "scripted"
    }
}

/// A page with this number.
fn page(number: usize) -> WebSearchResult {
    let url = format!("https://plants.example/{number}");
    WebSearchResult::new(format!("Page {number}"), url).with_snippet(format!("Text {number}."))
}
