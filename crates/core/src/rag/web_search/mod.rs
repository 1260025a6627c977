//! The contract of web search engines, for retrieval and as a tool.
//!
//! A [`WebSearchEngine`] returns pages for a [`WebSearchRequest`]. A [`WebSearchContentRetriever`] adds the
//! pages to the prompt before the model answers; a [`WebSearchTool`] lets the model search by itself.
//! Regardless of the engine's answer, [`WebSearchResults`] contains only pages whose address begins with
//! `http://` or `https://`, without duplicates, at most 100, with texts of limited size and without control
//! characters.

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
use crate::forward::forward_through_arc;
use async_trait::async_trait;
use tracing::debug;

/// A web search engine.
///
/// Implementations carry `#[ai_services::async_trait]`. Without it, the compiler reports that "lifetime
/// parameters or bounds on method … do not match the trait declaration".
///
/// # Examples
///
/// See [the module](self).
#[async_trait]
pub trait WebSearchEngine: Send + Sync {
    /// Returns the pages that fit the request, best first. No results are not an error.
    ///
    /// # Errors
    ///
    /// Return an error if the search fails, and [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if
    /// the engine does not support an option of the request: options are never ignored silently.
    async fn search(&self, request: &WebSearchRequest) -> Result<WebSearchResults>;

    /// Returns the name of the engine for traces and for the label of its answer, for example `tavily`.
    fn name(&self) -> &str {
        "the search engine"
    }
}

forward_through_arc! {
    WebSearchEngine {
        async fn search<'a, 'b>(&'a self, request: &'b WebSearchRequest) -> Result<WebSearchResults>;
        fn name(&self) -> &str;
    }
}

/// Runs a search and returns at most the requested number of results.
async fn search(
    engine: &dyn WebSearchEngine,
    request: &WebSearchRequest,
) -> Result<WebSearchResults> {
    if request.max_results == 0 {
        return Ok(WebSearchResults::default());
    }
    let found = engine.search(request).await?.at_most(request.max_results);
    debug!(engine = engine.name(), results = found.results().len(), "web search finished");
    Ok(found)
}
