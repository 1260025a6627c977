//! Search engines of the web, for retrieval and as a tool.
//!
//! A [`WebSearchEngine`] answers a [`WebSearchRequest`] with pages. A [`WebSearchContentRetriever`] shows
//! them to the model before it answers, a [`WebSearchTool`] lets the model search by itself.
//!
//! | engine | feature | needs |
//! |---|---|---|
//! | `TavilySearchEngine`, and servers that imitate Tavily | `web-search` | a key |
//! | `SearxngSearchEngine` | `web-search` | a server of your own |
//! | an `impl` of [`WebSearchEngine`] | | |
//!
//! What comes from the web is not trusted. Whatever an engine answers, [`WebSearchResults`] holds pages
//! with an address that begins with `http://` or `https://`, each once, at most 100 of them, with texts of
//! limited size and without control characters. Apart from that texts stay as they are: tags in them are
//! text. That a page tells the model what to do is not noticed here; that is for guardrails.
//!
//! # Examples
//!
//! ```
//! use ai_services::TurnContext;
//! use ai_services::message::UserMessage;
//! use ai_services::rag::web_search::{
//!     WebSearchContentRetriever, WebSearchEngine, WebSearchRequest, WebSearchResult, WebSearchResults,
//! };
//! use ai_services::rag::{ContentRetriever, Query};
//!
//! /// Knows one page.
//! struct Intranet;
//!
//! #[ai_services::async_trait]
//! impl WebSearchEngine for Intranet {
//!     async fn search(&self, _: &WebSearchRequest) -> ai_services::Result<WebSearchResults> {
//!         let page = WebSearchResult::new("Holidays", "https://intranet.example/holidays")
//!             .with_snippet("30 days a year.");
//!         Ok(WebSearchResults::new([page]))
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> ai_services::Result<()> {
//! let retriever = WebSearchContentRetriever::new(Intranet).max_results(3);
//! let turn = TurnContext::builder(UserMessage::new("How many holidays do I have?")).build();
//! let found = retriever.retrieve(&Query::new("holidays", turn)).await?;
//! assert_eq!(found[0].segment.text(), "Holidays\n30 days a year.");
//! # Ok(())
//! # }
//! ```

mod request;
mod results;
mod retriever;
mod text;
mod tool;

pub use request::{SafeSearch, TimeRange, WebSearchRequest};
pub use results::{WebSearchResult, WebSearchResults};
pub use retriever::WebSearchContentRetriever;
pub use tool::WebSearchTool;

use crate::error::Result;
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use tracing::debug;

/// Finds pages of the web.
///
/// # Examples
///
/// See [the module](self).
#[async_trait]
pub trait WebSearchEngine: Send + Sync {
    /// The pages that fit, best first. None is no error.
    ///
    /// # Errors
    ///
    /// Whatever keeps the engine from searching, and
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for what it cannot do of the request: a
    /// wish is not left out in silence.
    async fn search(&self, request: &WebSearchRequest) -> Result<WebSearchResults>;

    /// The name of the engine for traces and for who reads an answer of it, for example `tavily`.
    fn name(&self) -> &str {
        "the search engine"
    }
}

// The inner future is handed on as it is: an async function would put it into a second box.
impl<E: WebSearchEngine + ?Sized> WebSearchEngine for Arc<E> {
    fn search<'a, 'b, 'z>(
        &'a self,
        request: &'b WebSearchRequest,
    ) -> BoxFuture<'z, Result<WebSearchResults>>
    where
        'a: 'z,
        'b: 'z,
        Self: 'z,
    {
        E::search(self, request)
    }

    fn name(&self) -> &str {
        E::name(self)
    }
}

/// What an engine finds, and not more than it was asked for.
async fn search(
    engine: &dyn WebSearchEngine,
    request: &WebSearchRequest,
) -> Result<WebSearchResults> {
    if request.max_results == 0 {
        return Ok(WebSearchResults::default());
    }
    let found = engine.search(request).await?.at_most(request.max_results);
    debug!(engine = engine.name(), results = found.results().len(), "the web was searched");
    Ok(found)
}
