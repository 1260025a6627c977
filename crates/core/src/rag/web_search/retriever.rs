//! A content retriever for web pages.

use super::request::request_setters;
use super::{WebSearchEngine, WebSearchRequest, WebSearchResult, text};
use crate::document::{Metadata, TextSegment};
use crate::error::Result;
use crate::rag::{ContentRetriever, Query, RetrievedContent};
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;

/// Default size limit of a page's text in the prompt, in bytes.
pub(super) const MAX_TEXT: usize = 32 << 10;

/// Retrieves web pages.
///
/// A content consists of the page's title and, on the next lines, its text, or the best matching passage if
/// the engine has not fetched the page. Its metadata are `url`, `title` and the engine's own metadata; its
/// score is that of the engine. If the engine was configured to answer the question itself, its answer is the
/// first content, in addition to the requested pages, with `answer by` and the engine's name as its title and
/// without an address.
///
/// A blank query has no results, and the engine is not called.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "web-search")]
/// # fn main() -> ai_services::Result<()> {
/// use ai_services::rag::web_search::{SearxngSearchEngine, WebSearchContentRetriever};
///
/// let engine = SearxngSearchEngine::builder().base_url("http://localhost:8080").build()?;
/// let retriever = WebSearchContentRetriever::new(engine).max_results(3).language("en");
/// # let _ = retriever;
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "web-search"))]
/// # fn main() {}
/// ```
///
/// # Differences from LangChain4j
///
/// The title is in the metadata, too, and duplicate pages are dropped. The text of a page has a size limit.
#[derive(Clone)]
pub struct WebSearchContentRetriever {
    engine: Arc<dyn WebSearchEngine>,
    request: WebSearchRequest,
    max_text_bytes: usize,
}

impl WebSearchContentRetriever {
    /// Creates a retriever of the first five pages that the engine finds.
    #[must_use]
    pub fn new(engine: impl WebSearchEngine + 'static) -> Self {
        Self {
            engine: Arc::new(engine),
            request: WebSearchRequest::new(""),
            max_text_bytes: MAX_TEXT,
        }
    }

    request_setters!();

    fn content(&self, result: &WebSearchResult) -> RetrievedContent {
        let mut whole = String::from(&*result.title);
        if let Some(text) = result.text() {
            whole.push('\n');
            whole.push_str(&text::clean(text, self.max_text_bytes));
        }
        let own = Metadata::new().with("url", &*result.url).with("title", &*result.title);
        // Metadata of a page must not override its address and title.
        let others = result.metadata.iter().filter(|(key, _)| own.get(key).is_none());
        let metadata = others.fold(own.clone(), |all, (key, value)| all.with(key, value.clone()));
        let content = RetrievedContent::new(TextSegment::new(whole).with_metadata(metadata));
        match result.score {
            Some(score) => content.with_score(score),
            None => content,
        }
    }
}

#[async_trait]
impl ContentRetriever for WebSearchContentRetriever {
    async fn retrieve(&self, query: &Query) -> Result<Vec<RetrievedContent>> {
        let terms = query.text().trim();
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        let request = self.request.clone().with_terms(terms);
        let found = super::search(&*self.engine, &request).await?;
        let answer = found.answer().map(|answer| {
            let title = format!("answer by {}", self.engine.name());
            let segment = TextSegment::new(answer);
            RetrievedContent::new(segment.with_metadata(Metadata::new().with("title", title)))
        });
        let pages = found.results().iter().map(|result| self.content(result));
        Ok(answer.into_iter().chain(pages).collect())
    }
}

impl fmt::Debug for WebSearchContentRetriever {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSearchContentRetriever")
            .field("engine", &self.engine.name())
            .field("max_results", &self.request.max_results)
            .finish_non_exhaustive()
    }
}
