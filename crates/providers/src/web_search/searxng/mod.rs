//! SearXNG, which asks other search engines.

mod builder;
mod reading;

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

/// What to do about a server that answers people only.
const JSON_IS_OFF: &str =
    "if JSON is switched off there, add `json` to `search.formats` in the settings.yml of SearXNG";

/// A server of SearXNG, which asks many search engines and puts together what they find.
///
/// The server must be allowed to answer in JSON, which it is not by default: its `settings.yml` needs `json`
/// in `search.formats`. Most public servers refuse it.
///
/// Clones share connections and settings. A page has its score, in SearXNG's own measure, and `engine` and
/// `published_date` in its metadata, as far as they are known. An answer holds one page of results, mostly
/// ten to thirty, whatever is asked for.
///
/// | of a request | |
/// |---|---|
/// | [`terms`](WebSearchRequest::terms) | cut off behind the last word within 400 characters, see below |
/// | [`language`](WebSearchRequest::language) | as it is; `all` for no preference |
/// | [`safe_search`](WebSearchRequest::safe_search), [`time_range`](WebSearchRequest::time_range), [`page`](WebSearchRequest::page) | for those engines that support it |
/// | [`extra`](WebSearchRequest::extra) | parameters of the query; lists are joined by commas, `null` leaves one out |
///
/// SearXNG takes words that begin with `!`, `?`, `:` or `<` as commands, which choose engines and languages and
/// send the client to other hosts. Terms are data, so these signs are left out at the beginning of words.
/// Which engines are asked is for the builder. Operators that SearXNG hands on, such as `site:`, stay.
///
/// If nothing was found and an engine did not answer, that is an error: nobody knows whether there is
/// anything to be found.
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
/// Safe search is left to the server unless it is asked for. Scores are kept.
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
    /// Starts an engine.
    pub fn builder() -> SearxngSearchEngineBuilder {
        SearxngSearchEngineBuilder::default()
    }
}

impl Inner {
    /// The URL of a search.
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
        more.fold(endpoint, |url, (name, value)| url.with_query(name, &written(value)))
    }
}

fn level(filter: SafeSearch) -> &'static str {
    match filter {
        SafeSearch::Off => "0",
        SafeSearch::Moderate => "1",
        SafeSearch::Strict => "2",
    }
}

/// A value in a query.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(written).collect::<Vec<_>>().join(","),
        value => value.to_string(),
    }
}

/// The word without what would make it a command of SearXNG; `None` if nothing else is left.
///
/// The commands are those of `searx/query.py`.
fn without_command(word: &str) -> Option<&str> {
    Some(word.trim_start_matches(['!', ':', '<', '?'])).filter(|word| !word.is_empty())
}

/// The same error with what to do about it, if the server refuses; it has no keys that it could refuse.
fn explain(error: Error) -> Error {
    if error.status() != Some(403) {
        return error;
    }
    let message = format!("the server refuses to answer (status 403); {JSON_IS_OFF}");
    error.replied(message).with_source(error)
}

#[async_trait]
impl WebSearchEngine for SearxngSearchEngine {
    async fn search(&self, request: &WebSearchRequest) -> Result<WebSearchResults> {
        let terms = terms(request, without_command)?;
        if request.max_results == 0 {
            return Ok(WebSearchResults::default());
        }
        let answer = self.0.endpoint(request, &terms).get().await.map_err(explain)?;
        Ok(reading::results(&answer)?.at_most(request.max_results))
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
            assert_eq!(without_command(word), kept);
        }
    }

    #[test]
    fn values_of_all_kinds_go_into_a_query() {
        assert_eq!(written(&json!("a b")), "a b");
        assert_eq!(written(&json!(["a", 1, true])), "a,1,true");
        assert_eq!(written(&json!({ "a": 1.5 })), r#"{"a":1.5}"#);
    }
}
