//! SearXNG, a metasearch engine.

mod builder;
mod response;

pub use builder::SearxngSearchEngineBuilder;

use super::terms::{extra, terms};
use crate::http::Endpoint;
use crate::protocol::builder::debug_fields;
use ai_services_core::rag::web_search::{
    SafeSearch, TimeRange, WebSearchEngine, WebSearchRequest, WebSearchResults,
};
use ai_services_core::{Error, Result};
use async_trait::async_trait;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The hint for servers without JSON output.
const JSON_IS_OFF: &str =
    "if JSON output is disabled, add `json` to `search.formats` in the settings.yml of SearXNG";

/// A SearXNG server, which merges the results of many search engines.
///
/// JSON output must be enabled on the server: add `json` to `search.formats` in its `settings.yml`. It is
/// disabled by default and on most public servers.
///
/// Clones share connections and settings. A result has the score of SearXNG and, if known, `engine` and
/// `published_date` in its metadata. An answer has one page of results, usually ten to thirty, for any
/// requested number of results.
///
/// | member of a request | use |
/// |---|---|
/// | [`terms`](WebSearchRequest::terms) | truncated after the last word within 400 characters, see below |
/// | [`language`](WebSearchRequest::language) | sent unchanged; `all` for no preference |
/// | [`safe_search`](WebSearchRequest::safe_search), [`time_range`](WebSearchRequest::time_range), [`page`](WebSearchRequest::page) | for the engines that support it |
/// | [`extra`](WebSearchRequest::extra) | query parameters; lists are joined with commas, `null` removes a parameter |
///
/// SearXNG treats words that begin with `!`, `?`, `:` or `<` as commands, which select engines and languages
/// and redirect the client to other hosts. The terms are data, so these characters are removed at the
/// beginning of words. Select the engines with [`engines`](SearxngSearchEngineBuilder::engines). Operators
/// for the search engines, such as `site:`, are sent unchanged.
///
/// An answer without results is an error if some engines did not answer, because the search is incomplete.
///
/// # Examples
///
/// ```no_run
/// use ai_services::rag::web_search::{SearxngSearchEngine, WebSearchEngine, WebSearchRequest};
///
/// # async fn run() -> ai_services::Result<()> {
/// let engine = SearxngSearchEngine::builder().base_url("http://localhost:8080").build()?;
/// let request = WebSearchRequest::new("what grows in shade").with_language("en");
/// for result in engine.search(&request).await?.results() {
///     println!("{} {}", result.title, result.url);
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Differences from LangChain4j
///
/// Without a level of safe search, the server decides. Scores are part of the results.
#[derive(Clone)]
#[doc(alias = "SearXNGWebSearchEngine")]
pub struct SearxngSearchEngine(Arc<Inner>);

struct Inner {
    endpoint: Endpoint,
    engines: Option<String>,
    categories: Option<String>,
    extra: Map<String, Value>,
}

impl SearxngSearchEngine {
    /// Returns a builder.
    pub fn builder() -> SearxngSearchEngineBuilder {
        SearxngSearchEngineBuilder::default()
    }
}

impl Inner {
    /// Returns the URL of a search.
    fn endpoint(&self, request: &WebSearchRequest, terms: &str) -> Endpoint {
        let extra = extra(&self.extra, &request.extra);
        let page = (request.page > 1).then(|| request.page.to_string());
        let own = [
            ("q", Some(terms)),
            ("format", Some("json")),
            ("engines", self.engines.as_deref()),
            ("categories", self.categories.as_deref()),
            ("language", request.language.as_deref()),
            ("safesearch", request.safe_search.map(level)),
            ("time_range", request.time_range.map(TimeRange::name)),
            ("pageno", page.as_deref()),
        ];
        let own = own.into_iter().filter(|(name, _)| !extra.contains_key(*name));
        let endpoint = own
            .filter_map(|(name, value)| Some((name, value?)))
            .fold(self.endpoint.clone(), |url, (name, value)| url.with_query(name, value));
        let more = extra.iter().filter(|(_, value)| !value.is_null());
        more.fold(endpoint, |url, (name, value)| url.with_query(name, &query_value(value)))
    }
}

fn level(filter: SafeSearch) -> &'static str {
    match filter {
        SafeSearch::Off => "0",
        SafeSearch::Moderate => "1",
        SafeSearch::Strict => "2",
    }
}

/// Formats a value of a query parameter.
fn query_value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(query_value).collect::<Vec<_>>().join(","),
        value => value.to_string(),
    }
}

/// Removes the prefix that makes a word a command of SearXNG. `None` if the word has no other characters.
///
/// `searx/query.py` defines the commands.
fn strip_command(word: &str) -> Option<&str> {
    Some(word.trim_start_matches(['!', ':', '<', '?'])).filter(|word| !word.is_empty())
}

/// Adds the hint about JSON output to an error with status 403. SearXNG has no keys that could be wrong.
fn explain(error: Error) -> Error {
    if error.status() != Some(403) {
        return error;
    }
    let message = format!("the server rejected the request (status 403); {JSON_IS_OFF}");
    error.replied(message).with_source(error)
}

#[async_trait]
impl WebSearchEngine for SearxngSearchEngine {
    async fn search(&self, request: &WebSearchRequest) -> Result<WebSearchResults> {
        let terms = terms(request, strip_command)?;
        if request.max_results == 0 {
            return Ok(WebSearchResults::default());
        }
        let answer = self.0.endpoint(request, &terms).get().await.map_err(explain)?;
        Ok(response::results(&answer)?.at_most(request.max_results))
    }

    fn name(&self) -> &'static str {
        "searxng"
    }
}

debug_fields!(SearxngSearchEngine.0 { endpoint, engines, categories });

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn word_is_never_a_command() {
        for (word, kept) in [
            ("!!g", Some("g")),
            ("!images", Some("images")),
            (":de", Some("de")),
            ("<3", Some("3")),
            ("!:<!x!", Some("x!")),
            ("C:", Some("C:")),
            ("a!b", Some("a!b")),
            ("!!", None),
        ] {
            assert_eq!(strip_command(word), kept);
        }
    }

    #[test]
    fn values_of_all_types_become_query_parameters() {
        assert_eq!(query_value(&json!("a b")), "a b");
        assert_eq!(query_value(&json!(["a", 1, true])), "a,1,true");
        assert_eq!(query_value(&json!({ "a": 1.5 })), r#"{"a":1.5}"#);
    }
}
