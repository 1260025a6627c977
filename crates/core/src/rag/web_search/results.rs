//! Results of a web search engine.

use super::text;
use crate::document::{Metadata, MetadataValue};
use std::collections::HashSet;

/// Maximum number of pages in the results.
const MAX_RESULTS: usize = 100;
/// Size limit of a title, in bytes.
const MAX_TITLE: usize = 1 << 10;
/// Size limit of a snippet, in bytes.
const MAX_SNIPPET: usize = 32 << 10;
/// Size limit of the text of a page, in bytes.
const MAX_CONTENT: usize = 1 << 20;
/// Maximum number of metadata keys.
const MAX_KEYS: usize = 32;
/// Size limit of a metadata key, in bytes.
const MAX_KEY: usize = 128;
/// Size limit of a metadata value, in bytes.
const MAX_VALUE: usize = 1 << 10;

/// A page that an engine found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[doc(alias = "WebSearchOrganicResult")]
pub struct WebSearchResult {
    /// Title of the page.
    pub title: Box<str>,
    /// Address of the page.
    pub url: Box<str>,
    /// Best matching passage, or a summary of the page.
    pub snippet: Option<Box<str>>,
    /// Text of the page, if the engine has fetched it.
    pub content: Option<Box<str>>,
    /// Relevance, the higher the better, on the engine's own scale.
    pub score: Option<f64>,
    /// Other metadata, for example the date of publication.
    pub metadata: Metadata,
}

impl WebSearchResult {
    /// Creates a result with a title and an address only.
    #[must_use]
    pub fn new(title: impl Into<Box<str>>, url: impl Into<Box<str>>) -> Self {
        Self {
            title: title.into(),
            url: url.into(),
            snippet: None,
            content: None,
            score: None,
            metadata: Metadata::new(),
        }
    }

    /// Sets the best matching passage.
    #[must_use]
    pub fn with_snippet(mut self, snippet: impl Into<Box<str>>) -> Self {
        self.snippet = Some(snippet.into());
        self
    }

    /// Sets the text of the page.
    #[must_use]
    pub fn with_content(mut self, content: impl Into<Box<str>>) -> Self {
        self.content = Some(content.into());
        self
    }

    /// Sets the relevance.
    #[must_use]
    pub fn with_score(mut self, score: f64) -> Self {
        self.score = Some(score);
        self
    }

    /// Sets the metadata.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// Enforces all limits. Returns `None` if the address is not a valid web address.
    fn within_limits(mut self) -> Option<Self> {
        if !text::is_web_address(&self.url) {
            return None;
        }
        let fit = |text: Option<Box<str>>, max| {
            text.map(|text| text::clean(&text, max)).filter(|text| !text.is_empty())
        };
        self.title = text::line(&self.title, MAX_TITLE);
        if self.title.is_empty() {
            self.title.clone_from(&self.url);
        }
        self.snippet = fit(self.snippet, MAX_SNIPPET);
        self.content = fit(self.content, MAX_CONTENT);
        self.score = self.score.filter(|score| score.is_finite());
        self.metadata = limit_metadata(&self.metadata);
        Some(self)
    }

    /// Returns the text to show beside the title: the page's text, or the snippet.
    pub(super) fn text(&self) -> Option<&str> {
        self.content.as_deref().or(self.snippet.as_deref())
    }
}

/// Enforces the limits of the metadata: each value on one line, blank values are dropped.
fn limit_metadata(metadata: &Metadata) -> Metadata {
    let fit = |value: &MetadataValue| match value.as_text() {
        Some(text) => {
            Some(text::line(text, MAX_VALUE)).filter(|text| !text.is_empty()).map(Into::into)
        }
        None => Some(value.clone()),
    };
    let is_key =
        |key: &str| !key.is_empty() && key.len() <= MAX_KEY && !key.contains(char::is_control);
    let entries = metadata.iter().filter(|(key, _)| is_key(key));
    entries.filter_map(|(key, value)| Some((key, fit(value)?))).take(MAX_KEYS).collect()
}

/// Pages that a search returned.
///
/// Contains only pages with a valid web address, without duplicates. Two addresses name the same page if they
/// differ only in `http` or `https`, the case of the host, the fragment after `#`, or a trailing slash.
///
/// | item | limit |
/// |---|---|
/// | pages | 100 |
/// | address | 8 KiB; a page with a longer one is left out |
/// | title | 1 KiB, on one line |
/// | snippet, answer | 32 KiB |
/// | text of a page | 1 MiB |
/// | metadata of a page | 32 keys of 128 bytes, others are left out; 1 KiB per text, on one line |
///
/// Longer texts are truncated and end with `…`. A page without a title gets its address as title.
///
/// # Examples
///
/// ```
/// use ai_services::rag::web_search::{WebSearchResult, WebSearchResults};
///
/// let found = WebSearchResults::new([
///     WebSearchResult::new("Example", "https://example.org/"),
///     WebSearchResult::new("Example again", "http://EXAMPLE.org#top"),
///     WebSearchResult::new("No page", "javascript:alert(1)"),
/// ]);
/// let urls: Vec<_> = found.results().iter().map(|result| &*result.url).collect();
/// assert_eq!(urls, ["https://example.org/"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WebSearchResults {
    results: Vec<WebSearchResult>,
    answer: Option<Box<str>>,
    total: Option<u64>,
}

impl WebSearchResults {
    /// Creates results from pages, best first. Pages without a valid web address and duplicates are dropped.
    #[must_use]
    pub fn new(results: impl IntoIterator<Item = WebSearchResult>) -> Self {
        let mut seen = HashSet::new();
        let results = results
            .into_iter()
            .filter_map(WebSearchResult::within_limits)
            .filter(|result| seen.insert(text::page_key(&result.url)))
            .take(MAX_RESULTS);
        Self { results: results.collect(), ..Self::default() }
    }

    /// Sets the engine's own answer to the question.
    #[must_use]
    pub fn with_answer(mut self, answer: &str) -> Self {
        self.answer = Some(text::clean(answer, MAX_SNIPPET)).filter(|answer| !answer.is_empty());
        self
    }

    /// Sets the total number of pages that the engine reports.
    #[must_use]
    pub fn with_total(mut self, total: u64) -> Self {
        self.total = Some(total);
        self
    }

    /// Returns the pages, best first.
    #[must_use]
    pub fn results(&self) -> &[WebSearchResult] {
        &self.results
    }

    /// Returns the pages, best first, without copying them.
    #[must_use]
    pub fn into_results(self) -> Vec<WebSearchResult> {
        self.results
    }

    /// Returns the engine's own answer to the question, if one was requested.
    #[must_use]
    pub fn answer(&self) -> Option<&str> {
        self.answer.as_deref()
    }

    /// Returns the total number of pages, if the engine reports it. For most engines it is an estimate.
    #[must_use]
    #[doc(alias = "WebSearchInformationResult")]
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// Keeps only the first `results` pages.
    #[must_use]
    pub fn at_most(mut self, results: usize) -> Self {
        self.results.truncate(results);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(results: &WebSearchResults) -> Vec<&str> {
        results.results().iter().map(|result| &*result.url).collect()
    }

    #[test]
    fn duplicate_pages_are_dropped() {
        let results = WebSearchResults::new(
            [
                "https://a.example/x",
                "https://a.example/x/",
                "http://A.example/x#part",
                "https://a.example/X",
                "https://a.example/x?page=2",
            ]
            .map(|url| WebSearchResult::new("t", url)),
        );
        let kept = ["https://a.example/x", "https://a.example/X", "https://a.example/x?page=2"];
        assert_eq!(urls(&results), kept);
    }

    #[test]
    fn limits_of_results_are_enforced() {
        let page = |number: usize| WebSearchResult::new("t", format!("https://a.example/{number}"));
        let results = WebSearchResults::new((0..500).map(page));
        assert_eq!(results.results().len(), MAX_RESULTS);
        assert_eq!(results.clone().at_most(3).results().len(), 3);
        assert_eq!(results.at_most(300).results().len(), MAX_RESULTS);
        let long = "é".repeat(MAX_CONTENT);
        let page = page(1).with_snippet(&*long).with_content(&*long).with_score(f64::NAN);
        let results = WebSearchResults::new([WebSearchResult { title: long.into(), ..page }]);
        let page = &results.results()[0];
        assert_eq!(page.title.len(), MAX_TITLE + "…".len());
        assert_eq!(page.snippet.as_ref().unwrap().len(), MAX_SNIPPET + "…".len());
        assert_eq!(page.text().unwrap().len(), MAX_CONTENT + "…".len());
        assert_eq!(page.score, None);
    }

    #[test]
    fn blank_texts_are_dropped() {
        let page = WebSearchResult::new(" \n", "https://a.example/").with_content("\u{0} \t");
        let results = WebSearchResults::new([page.with_snippet("s")]).with_answer(" ");
        let page = &results.results()[0];
        assert_eq!((&*page.title, page.text()), ("https://a.example/", Some("s")));
        assert_eq!(results.answer(), None);
    }
}
