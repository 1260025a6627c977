//! What a search engine is asked.

use serde_json::{Map, Value};

/// What a search engine is asked.
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
/// How strictly pages are filtered has three steps and is left to the engine unless it is said; there it is
/// switched on. How many results there are has a default of 5 here, and not only in the retriever.
/// `geoLocation` and `startIndex`, which no engine here knows, are missing.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WebSearchRequest {
    /// What to search for. Engines may cut it off at 400 characters.
    pub terms: Box<str>,
    /// The most results; 5 by default.
    pub max_results: usize,
    /// The language of the pages, for example `de` or `pt-BR`.
    pub language: Option<Box<str>>,
    /// How strictly pages are filtered that not everybody wants to see.
    pub safe_search: Option<SafeSearch>,
    /// How old pages may be.
    pub time_range: Option<TimeRange>,
    /// Which page of the results is wanted, from 1 on.
    #[doc(alias = "startPage")]
    pub page: u32,
    /// What only this engine knows, by the names of its protocol. It wins over everything else.
    #[doc(alias = "additionalParams")]
    pub extra: Map<String, Value>,
}

/// How strictly pages are filtered that not everybody wants to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SafeSearch {
    /// Not at all.
    Off,
    /// The worst is left out.
    Moderate,
    /// Everything doubtful is left out.
    Strict,
}

/// How old pages may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeRange {
    /// A day.
    Day,
    /// A week.
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
}

impl WebSearchRequest {
    /// How many results are asked for by default.
    pub const DEFAULT_MAX_RESULTS: usize = 5;

    /// Asks for the first five results.
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

    /// Asks for something else in the same way.
    #[must_use]
    pub fn with_terms(mut self, terms: impl Into<Box<str>>) -> Self {
        self.terms = terms.into();
        self
    }

    /// Says how many results there may be. If none, the engine is not asked.
    #[must_use]
    pub fn with_max_results(mut self, results: usize) -> Self {
        self.max_results = results;
        self
    }

    /// Says in which language pages should be.
    #[must_use]
    pub fn with_language(mut self, language: impl Into<Box<str>>) -> Self {
        self.language = Some(language.into());
        self
    }

    /// Says how strictly pages are filtered.
    #[must_use]
    pub fn with_safe_search(mut self, filter: SafeSearch) -> Self {
        self.safe_search = Some(filter);
        self
    }

    /// Says how old pages may be.
    #[must_use]
    pub fn with_time_range(mut self, range: TimeRange) -> Self {
        self.time_range = Some(range);
        self
    }

    /// Says which page of the results is wanted, from 1 on. 0 is the first one, too.
    #[must_use]
    pub fn with_page(mut self, page: u32) -> Self {
        self.page = page;
        self
    }

    /// Adds something that only this engine knows.
    #[must_use]
    pub fn with_extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }
}

impl TimeRange {
    /// As Tavily and SearXNG call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }
}

/// The setters of everything that searches for terms that come later. It has a field `request` and a
/// field `max_text_bytes`.
macro_rules! request_setters {
    () => {
        /// Sets how many pages there may be; 5 by default. If none, the engine is not asked.
        #[must_use]
        pub fn max_results(mut self, results: usize) -> Self {
            self.request = self.request.with_max_results(results);
            self
        }

        /// Sets in which language pages should be; left to the engine by default.
        #[must_use]
        pub fn language(mut self, language: impl Into<Box<str>>) -> Self {
            self.request = self.request.with_language(language);
            self
        }

        /// Sets how strictly pages are filtered; left to the engine by default.
        #[must_use]
        pub fn safe_search(mut self, filter: $crate::rag::web_search::SafeSearch) -> Self {
            self.request = self.request.with_safe_search(filter);
            self
        }

        /// Sets how old pages may be; not limited by default.
        #[must_use]
        pub fn time_range(mut self, range: $crate::rag::web_search::TimeRange) -> Self {
            self.request = self.request.with_time_range(range);
            self
        }

        /// Adds something that only this engine knows, by the name of its protocol.
        #[must_use]
        pub fn extra(
            mut self,
            name: impl Into<String>,
            value: impl Into<serde_json::Value>,
        ) -> Self {
            self.request = self.request.with_extra(name, value);
            self
        }

        /// Sets how much of a page the model is shown, in bytes; 32 KiB by default. What is longer ends
        /// with `…`.
        #[must_use]
        pub fn max_text_bytes(mut self, bytes: usize) -> Self {
            self.max_text_bytes = bytes;
            self
        }
    };
}

pub(super) use request_setters;
