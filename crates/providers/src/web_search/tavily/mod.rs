//! Tavily, and servers with its protocol.

mod builder;
mod response;

pub use builder::TavilySearchEngineBuilder;

use super::terms::{extra, terms};
use crate::http::Endpoint;
use crate::protocol::builder::debug_fields;
use crate::protocol::json_object::JsonObject;
use ai_services_core::rag::web_search::{
    SafeSearch, TimeRange, WebSearchEngine, WebSearchRequest, WebSearchResults,
};
use ai_services_core::{Error, ErrorKind, Result};
use async_trait::async_trait;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The maximum number of results of one search.
const MAX_RESULTS: usize = 20;

/// Tavily, a search engine for language models, or a server with its protocol.
///
/// Clones share connections and settings. The snippet of a result has the best passages of the page. The
/// content has the whole text if [raw content](TavilySearchEngineBuilder::raw_content) is requested. The
/// score is between 0 and 1. The metadata has `published_date` if Tavily returns it, as for news.
///
/// | member of a request | use |
/// |---|---|
/// | [`terms`](WebSearchRequest::terms) | truncated after the last word within 400 characters, Tavily's limit |
/// | [`max_results`](WebSearchRequest::max_results) | at most 20 |
/// | [`safe_search`](WebSearchRequest::safe_search) | sent as on or off; not available to every account |
/// | [`time_range`](WebSearchRequest::time_range) | sent unchanged |
/// | [`language`](WebSearchRequest::language), a [`page`](WebSearchRequest::page) after the first | [`ErrorKind::Unsupported`] |
/// | [`extra`](WebSearchRequest::extra) | members of the request, for example `country` |
///
/// # Examples
///
/// ```no_run
/// use ai_services::rag::web_search::{TavilySearchEngine, WebSearchEngine, WebSearchRequest};
///
/// # async fn run() -> ai_services::Result<()> {
/// let engine = TavilySearchEngine::from_env()?;
/// let found = engine.search(&WebSearchRequest::new("what grows in shade")).await?;
/// for result in found.results() {
///     println!("{} {}", result.title, result.url);
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Differences from LangChain4j
///
/// The answer is [separate from the results](WebSearchResults::answer), not the first of them. Scores are
/// part of the results.
#[derive(Clone)]
#[doc(alias = "TavilyWebSearchEngine")]
pub struct TavilySearchEngine(Arc<Inner>);

struct Inner {
    endpoint: Endpoint,
    options: Options,
}

/// The options of all searches.
#[derive(Default)]
struct Options {
    depth: Option<TavilySearchDepth>,
    topic: Option<TavilyTopic>,
    answer: Option<TavilyAnswer>,
    raw_content: Option<TavilyRawContent>,
    include_domains: Vec<Box<str>>,
    exclude_domains: Vec<Box<str>>,
    extra: Map<String, Value>,
}

/// The thoroughness of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TavilySearchDepth {
    /// One summary for each page. Tavily's default.
    Basic,
    /// The best passages of each page. Slower, at twice the price.
    Advanced,
    /// The best passages of each page, with low latency.
    Fast,
    /// The lowest latency.
    UltraFast,
}

/// The kind of pages in a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TavilyTopic {
    /// All pages. Tavily's default.
    General,
    /// News.
    News,
    /// Finance.
    Finance,
}

/// The length of the answer that Tavily generates with a language model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TavilyAnswer {
    /// A short answer.
    Basic,
    /// A detailed answer.
    Advanced,
}

/// The format of the text of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TavilyRawContent {
    /// Markdown.
    Markdown,
    /// Plain text. Searches may take longer.
    Text,
}

impl TavilySearchEngine {
    /// Returns a builder.
    pub fn builder() -> TavilySearchEngineBuilder {
        TavilySearchEngineBuilder::default()
    }

    /// Builds the engine that environment variables describe.
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `TAVILY_API_KEY` | the key; optional if `TAVILY_BASE_URL` is not Tavily's |
    /// | `TAVILY_BASE_URL` | the server; default: `https://api.tavily.com` |
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`], naming the variable, if a variable is missing or invalid.
    pub fn from_env() -> Result<Self> {
        Self::builder().build()
    }
}

impl Options {
    fn body(&self, request: &WebSearchRequest, terms: &str) -> Vec<u8> {
        let extra = extra(&self.extra, &request.extra);
        let mut body = JsonObject::new(Some(&extra), b'{');
        body.add("query", Some(terms));
        body.add("max_results", Some(request.max_results.min(MAX_RESULTS)));
        body.add("search_depth", self.depth.map(TavilySearchDepth::name));
        body.add("topic", self.topic.map(TavilyTopic::name));
        body.add("time_range", request.time_range.map(TimeRange::name));
        body.add("safe_search", request.safe_search.map(|filter| filter != SafeSearch::Off));
        body.add("include_answer", self.answer.map(TavilyAnswer::name));
        body.add("include_raw_content", self.raw_content.map(TavilyRawContent::name));
        body.add("include_domains", non_empty(&self.include_domains));
        body.add("exclude_domains", non_empty(&self.exclude_domains));
        body.add_extra();
        let mut body = body.into_bytes();
        body.push(b'}');
        body
    }
}

fn non_empty(domains: &[Box<str>]) -> Option<&[Box<str>]> {
    Some(domains).filter(|domains| !domains.is_empty())
}

/// Fails if the request has options that Tavily does not support.
fn check(request: &WebSearchRequest) -> Result<()> {
    let unsupported = |message: &'static str| Err(Error::new(ErrorKind::Unsupported, message));
    if request.language.is_some() {
        return unsupported("Tavily does not support `language`; remove it from the request");
    }
    if request.page > 1 {
        return unsupported("Tavily has a single page of results; remove `page` from the request");
    }
    Ok(())
}

#[async_trait]
impl WebSearchEngine for TavilySearchEngine {
    async fn search(&self, request: &WebSearchRequest) -> Result<WebSearchResults> {
        let Inner { endpoint, options } = &*self.0;
        check(request)?;
        let terms = terms(request, Some)?;
        if request.max_results == 0 {
            return Ok(WebSearchResults::default());
        }
        let answer = endpoint.post(options.body(request, &terms)).await?;
        Ok(response::results(&answer)?.at_most(request.max_results))
    }

    fn name(&self) -> &'static str {
        "tavily"
    }
}

debug_fields!(TavilySearchEngine.0 { endpoint });

impl TavilySearchDepth {
    fn name(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Advanced => "advanced",
            Self::Fast => "fast",
            Self::UltraFast => "ultra-fast",
        }
    }
}

impl TavilyTopic {
    fn name(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::News => "news",
            Self::Finance => "finance",
        }
    }
}

impl TavilyAnswer {
    fn name(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Advanced => "advanced",
        }
    }
}

impl TavilyRawContent {
    fn name(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Text => "text",
        }
    }
}
