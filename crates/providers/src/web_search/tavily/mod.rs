//! Tavily, and servers that speak its protocol.

mod builder;
mod reading;

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

/// The most results that Tavily gives at once.
const MAX_RESULTS: usize = 20;

/// Tavily, a search engine made for language models, or a server that speaks its protocol.
///
/// Clones share connections and settings. A page has the passages that fit best as its snippet and, if
/// [raw content](TavilySearchEngineBuilder::raw_content) is wanted, its text as its content; its score is
/// between 0 and 1; its metadata have `published_date` if Tavily tells it, which it does for news.
///
/// | of a request | |
/// |---|---|
/// | [`terms`](WebSearchRequest::terms) | cut off behind the last word within 400 characters, Tavily's limit |
/// | [`max_results`](WebSearchRequest::max_results) | 20 at most |
/// | [`safe_search`](WebSearchRequest::safe_search) | on or off; not every account may |
/// | [`time_range`](WebSearchRequest::time_range) | as it is |
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
/// The answer is [beside the results](WebSearchResults::answer), not the first of them. Scores are kept.
#[derive(Clone)]
#[doc(alias = "TavilyWebSearchEngine")]
pub struct TavilySearchEngine(Arc<Inner>);

struct Inner {
    endpoint: Endpoint,
    options: Options,
}

/// What is said of every search.
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

/// How thoroughly Tavily searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TavilySearchDepth {
    /// What a page is about as a whole. Tavily's default.
    Basic,
    /// The passages that fit best; slower, at twice the price.
    Advanced,
    /// Faster, with passages.
    Fast,
    /// As fast as possible.
    UltraFast,
}

/// What kind of pages Tavily searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TavilyTopic {
    /// All. Tavily's default.
    General,
    /// News.
    News,
    /// Finance.
    Finance,
}

/// How Tavily answers the question itself, by a language model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TavilyAnswer {
    /// Short.
    Basic,
    /// In detail.
    Advanced,
}

/// How Tavily writes the text of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TavilyRawContent {
    /// As Markdown.
    Markdown,
    /// As plain text, which may take longer.
    Text,
}

impl TavilySearchEngine {
    /// Starts an engine.
    pub fn builder() -> TavilySearchEngineBuilder {
        TavilySearchEngineBuilder::default()
    }

    /// An engine as the environment describes it.
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `TAVILY_API_KEY` | the key; may be missing if `TAVILY_BASE_URL` is not Tavily's |
    /// | `TAVILY_BASE_URL` | the server, `https://api.tavily.com` by default |
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`] if a variable is missing or wrong; the message names it.
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
        body.add("include_domains", filled(&self.include_domains));
        body.add("exclude_domains", filled(&self.exclude_domains));
        body.add_extra();
        let mut body = body.into_bytes();
        body.push(b'}');
        body
    }
}

fn filled(domains: &[Box<str>]) -> Option<&[Box<str>]> {
    Some(domains).filter(|domains| !domains.is_empty())
}

/// Whether Tavily can do all that is asked.
fn check(request: &WebSearchRequest) -> Result<()> {
    let refuse = |what: &'static str| Err(Error::new(ErrorKind::Unsupported, what));
    if request.language.is_some() {
        return refuse("tavily cannot search in a language; leave `language` out");
    }
    if request.page > 1 {
        return refuse("tavily has no further pages of results; leave `page` out");
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
        Ok(reading::results(&answer)?.at_most(request.max_results))
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
