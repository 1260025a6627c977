//! What a search engine finds.

use super::text;
use crate::document::{Metadata, MetadataValue};
use std::collections::HashSet;

/// The most pages of an answer that are kept.
const MAX_RESULTS: usize = 100;
/// The longest title, in bytes.
const MAX_TITLE: usize = 1 << 10;
/// The longest snippet, in bytes.
const MAX_SNIPPET: usize = 32 << 10;
/// The longest text of a page, in bytes.
const MAX_CONTENT: usize = 1 << 20;
/// The most keys of metadata.
const MAX_KEYS: usize = 32;
/// The longest key of metadata, in bytes.
const MAX_KEY: usize = 128;
/// The longest value of metadata, in bytes.
const MAX_VALUE: usize = 1 << 10;

/// A page that was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[doc(alias = "WebSearchOrganicResult")]
pub struct WebSearchResult {
    /// Its title.
    pub title: Box<str>,
    /// Its address.
    pub url: Box<str>,
    /// The passage of it that fits best, or what it is about.
    pub snippet: Option<Box<str>>,
    /// Its text, if the engine has read it.
    pub content: Option<Box<str>>,
    /// How well it fits, the higher the better, in the engine's own measure.
    pub score: Option<f64>,
    /// What else is known about it, for example when it was published.
    pub metadata: Metadata,
}

impl WebSearchResult {
    /// A page of which nothing else is known.
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

    /// Says which passage fits best.
    #[must_use]
    pub fn with_snippet(mut self, snippet: impl Into<Box<str>>) -> Self {
        self.snippet = Some(snippet.into());
        self
    }

    /// Says what is on the page.
    #[must_use]
    pub fn with_content(mut self, content: impl Into<Box<str>>) -> Self {
        self.content = Some(content.into());
        self
    }

    /// Says how well it fits.
    #[must_use]
    pub fn with_score(mut self, score: f64) -> Self {
        self.score = Some(score);
        self
    }

    /// Says what else is known.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// The same page within all limits; `None` if it has no address of the web.
    fn fit(mut self) -> Option<Self> {
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
        self.metadata = fit_metadata(&self.metadata);
        Some(self)
    }

    /// What the model is shown of it beside the title: the page's text, else the snippet.
    pub(super) fn text(&self) -> Option<&str> {
        self.content.as_deref().or(self.snippet.as_deref())
    }
}

/// Metadata within all limits: each value on one line, and none that is blank.
fn fit_metadata(metadata: &Metadata) -> Metadata {
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

/// What was found.
///
/// It holds pages of the web only, each once. Two addresses are the same page if they differ in nothing but
/// `http` and `https`, capitals in the host, what is behind `#`, and a slash at the end.
///
/// | limit | |
/// |---|---|
/// | pages | 100 |
/// | an address | 8 KiB; a page with a longer one is left out |
/// | a title | 1 KiB, on one line |
/// | a snippet, an answer | 32 KiB |
/// | the text of a page | 1 MiB |
/// | metadata of a page | 32 keys of 128 bytes, others are left out; 1 KiB a text, on one line |
///
/// Texts that are too long end with `…`. A page without a title has its address as one.
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
    /// These pages, best first, without those that are no pages of the web or were there before.
    #[must_use]
    pub fn new(results: impl IntoIterator<Item = WebSearchResult>) -> Self {
        let mut seen = HashSet::new();
        let results = results
            .into_iter()
            .filter_map(WebSearchResult::fit)
            .filter(|result| seen.insert(text::page(&result.url)))
            .take(MAX_RESULTS);
        Self { results: results.collect(), ..Self::default() }
    }

    /// Keeps the engine's own answer to the question.
    #[must_use]
    pub fn with_answer(mut self, answer: &str) -> Self {
        self.answer = Some(text::clean(answer, MAX_SNIPPET)).filter(|answer| !answer.is_empty());
        self
    }

    /// Keeps how many pages the engine knows.
    #[must_use]
    pub fn with_total(mut self, total: u64) -> Self {
        self.total = Some(total);
        self
    }

    /// The pages, best first.
    #[must_use]
    pub fn results(&self) -> &[WebSearchResult] {
        &self.results
    }

    /// The pages, best first.
    #[must_use]
    pub fn into_results(self) -> Vec<WebSearchResult> {
        self.results
    }

    /// The engine's own answer to the question, if it was asked for one.
    #[must_use]
    pub fn answer(&self) -> Option<&str> {
        self.answer.as_deref()
    }

    /// How many pages the engine knows, as far as it says. Most engines guess.
    #[must_use]
    #[doc(alias = "WebSearchInformationResult")]
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// The same without what comes after the first results.
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
    fn page_that_was_there_before_is_left_out() {
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
    fn results_have_limits() {
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
    fn blank_texts_are_no_texts() {
        let page = WebSearchResult::new(" \n", "https://a.example/").with_content("\u{0} \t");
        let results = WebSearchResults::new([page.with_snippet("s")]).with_answer(" ");
        let page = &results.results()[0];
        assert_eq!((&*page.title, page.text()), ("https://a.example/", Some("s")));
        assert_eq!(results.answer(), None);
    }
}
