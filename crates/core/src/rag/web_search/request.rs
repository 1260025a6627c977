//! Requests to a web search engine.

use serde_json::{Map, Value};

/// A request to a web search engine.
///
/// # Examples
///
/// ```
/// use ai_services::rag::web_search::{TimeRange, WebSearchRequest};
///
/// let request = WebSearchRequest::new("rust 1.88 release notes")
///     .with_max_results(3)
///     .with_language("en")
///     .with_time_range(TimeRange::Year);
/// assert_eq!(request.max_results, 3);
/// ```
///
/// # Differences from LangChain4j
///
/// Safe search has three levels, and without a level the engine decides; there it is switched on. The maximum
/// number of results has a default of 5 here, not only in the retriever. `geoLocation` and `startIndex`,
/// which no engine here supports, are missing.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WebSearchRequest {
    /// Search terms. Engines may truncate them to 400 characters.
    pub terms: Box<str>,
    /// Maximum number of results. Default: 5.
    pub max_results: usize,
    /// Language of the pages, for example `de` or `pt-BR`.
    pub language: Option<Box<str>>,
    /// Level of the filter for explicit pages.
    pub safe_search: Option<SafeSearch>,
    /// Maximum age of the pages.
    pub time_range: Option<TimeRange>,
    /// Page of the results, from 1.
    #[doc(alias = "startPage")]
    pub page: u32,
    /// Options specific to the engine, by the names of its API. They override all other options.
    #[doc(alias = "additionalParams")]
    pub extra: Map<String, Value>,
}

/// Level of the filter for explicit pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SafeSearch {
    /// No filter.
    Off,
    /// Filters the worst pages.
    Moderate,
    /// Filters all doubtful pages.
    Strict,
}

/// Maximum age of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeRange {
    /// One day.
    Day,
    /// One week.
    Week,
    /// One month.
    Month,
    /// One year.
    Year,
}

impl WebSearchRequest {
    /// Default maximum number of results: 5.
    pub const DEFAULT_MAX_RESULTS: usize = 5;

    /// Creates a request for the first five results.
    #[must_use]
    pub fn new(terms: impl Into<Box<str>>) -> Self {
        Self {
            terms: terms.into(),
            max_results: Self::DEFAULT_MAX_RESULTS,
            language: None,
            safe_search: None,
            time_range: None,
            page: 1,
            extra: Map::new(),
        }
    }

    /// Replaces the search terms.
    #[must_use]
    pub fn with_terms(mut self, terms: impl Into<Box<str>>) -> Self {
        self.terms = terms.into();
        self
    }

    /// Sets the maximum number of results. With 0, the engine is not called.
    #[must_use]
    pub fn with_max_results(mut self, results: usize) -> Self {
        self.max_results = results;
        self
    }

    /// Sets the language of the pages.
    #[must_use]
    pub fn with_language(mut self, language: impl Into<Box<str>>) -> Self {
        self.language = Some(language.into());
        self
    }

    /// Sets the level of the filter for explicit pages.
    #[must_use]
    pub fn with_safe_search(mut self, filter: SafeSearch) -> Self {
        self.safe_search = Some(filter);
        self
    }

    /// Sets the maximum age of the pages.
    #[must_use]
    pub fn with_time_range(mut self, range: TimeRange) -> Self {
        self.time_range = Some(range);
        self
    }

    /// Sets the page of the results, from 1. 0 counts as 1.
    #[must_use]
    pub fn with_page(mut self, page: u32) -> Self {
        self.page = page;
        self
    }

    /// Adds an option specific to the engine.
    #[must_use]
    pub fn with_extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }
}

impl TimeRange {
    /// Returns the name of the range in the APIs of Tavily and SearXNG.
    #[doc(hidden)]
    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }
}

/// Defines the setters of a type that fills in the search terms later. The type needs the fields `request`
/// and `max_text_bytes`.
macro_rules! request_setters {
    () => {
        /// Sets the maximum number of pages. Default: 5. With 0, the engine is not called.
        #[must_use]
        pub fn max_results(mut self, results: usize) -> Self {
            self.request = self.request.with_max_results(results);
            self
        }

        /// Sets the language of the pages. Default: chosen by the engine.
        #[must_use]
        pub fn language(mut self, language: impl Into<Box<str>>) -> Self {
            self.request = self.request.with_language(language);
            self
        }

        /// Sets the level of the filter for explicit pages. Default: chosen by the engine.
        #[must_use]
        pub fn safe_search(mut self, filter: $crate::rag::web_search::SafeSearch) -> Self {
            self.request = self.request.with_safe_search(filter);
            self
        }

        /// Sets the maximum age of the pages. Default: unlimited.
        #[must_use]
        pub fn time_range(mut self, range: $crate::rag::web_search::TimeRange) -> Self {
            self.request = self.request.with_time_range(range);
            self
        }

        /// Adds an option specific to the engine, by its name in the engine's API.
        #[must_use]
        pub fn extra(
            mut self,
            name: impl Into<String>,
            value: impl Into<serde_json::Value>,
        ) -> Self {
            self.request = self.request.with_extra(name, value);
            self
        }

        /// Sets the size limit of a page's text in the prompt, in bytes. Default: 32 KiB. Longer text is
        /// truncated and ends with `…`.
        #[must_use]
        pub fn max_text_bytes(mut self, bytes: usize) -> Self {
            self.max_text_bytes = bytes;
            self
        }
    };
}

pub(super) use request_setters;
