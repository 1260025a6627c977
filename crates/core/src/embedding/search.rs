//! Searches and their results.

use super::Filter;
use super::check::{check_vector, wrong};
use crate::document::TextSegment;
use crate::error::Result;

/// A search by vector.
///
/// # Examples
///
/// ```
/// use ai_services::embedding::{Filter, VectorSearch};
///
/// let (question, recent) = ([0.3, 0.4], Filter::key("year").at_least(2025));
/// let search = VectorSearch::new(&question).max_results(5).min_score(0.7).filter(&recent);
/// assert!(search.check().is_ok());
/// ```
#[derive(Clone, Debug)]
#[must_use]
#[non_exhaustive]
pub struct VectorSearch<'a> {
    /// The vector that entries are compared with.
    pub vector: &'a [f32],
    /// Maximum number of results. Default: 3.
    pub max_results: usize,
    /// Minimum score, between 0 and 1. Default: 0. See [`SearchMatch::score`].
    pub min_score: f64,
    /// The filter of entries. Default: `None`, which searches all entries.
    pub filter: Option<&'a Filter>,
}

impl<'a> VectorSearch<'a> {
    /// Creates a search for the entries nearest to this vector.
    pub fn new(vector: &'a [f32]) -> Self {
        Self { vector, max_results: 3, min_score: 0.0, filter: None }
    }

    /// Sets the maximum number of results. Default: 3.
    pub fn max_results(mut self, max: usize) -> Self {
        self.max_results = max;
        self
    }

    /// Sets the minimum score, between 0 and 1. Default: 0.
    pub fn min_score(mut self, score: f64) -> Self {
        self.min_score = score;
        self
    }

    /// Searches only entries that match the filter.
    pub fn filter(mut self, filter: &'a Filter) -> Self {
        self.filter = Some(filter);
        self
    }

    /// Checks a search against the rules of every store, except for the length of its vector. Stores call
    /// this method before they search.
    ///
    /// # Errors
    ///
    /// [`InvalidRequest`](crate::ErrorKind::InvalidRequest) if the vector is empty, zero, too long or has a
    /// number that is not finite, if the minimum score is NaN, or if the filter is
    /// [rejected](Filter::check).
    pub fn check(&self) -> Result<()> {
        check_vector(self.vector)?;
        if self.min_score.is_nan() {
            return Err(wrong("the minimum score is not a number"));
        }
        self.filter.map_or(Ok(()), Filter::check)
    }
}

/// A full-text search.
///
/// # Examples
///
/// ```
/// use ai_services::embedding::TextSearch;
///
/// // Finds texts with some of the words; the minus sign has no meaning.
/// let search = TextSearch::new("refund of a booking -insurance").max_results(5);
/// assert!(search.check().is_ok());
/// ```
#[derive(Clone, Debug)]
#[must_use]
#[non_exhaustive]
pub struct TextSearch<'a> {
    /// The words to search for. They are data: operators are not interpreted. The search ignores case.
    /// Word boundaries and stemming depend on the store.
    pub text: &'a str,
    /// Maximum number of results. Default: 3.
    pub max_results: usize,
    /// The filter of entries. Default: `None`, which searches all entries.
    pub filter: Option<&'a Filter>,
}

impl<'a> TextSearch<'a> {
    /// Creates a search for entries with some of these words.
    pub fn new(text: &'a str) -> Self {
        Self { text, max_results: 3, filter: None }
    }

    /// Sets the maximum number of results. Default: 3.
    pub fn max_results(mut self, max: usize) -> Self {
        self.max_results = max;
        self
    }

    /// Searches only entries that match the filter.
    pub fn filter(mut self, filter: &'a Filter) -> Self {
        self.filter = Some(filter);
        self
    }

    /// Checks a search against the rules of every store. Stores call this method before they search.
    ///
    /// # Errors
    ///
    /// [`InvalidRequest`](crate::ErrorKind::InvalidRequest) if the filter is [rejected](Filter::check).
    pub fn check(&self) -> Result<()> {
        self.filter.map_or(Ok(()), Filter::check)
    }
}

/// A search result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SearchMatch {
    /// The id of the entry.
    pub id: Box<str>,
    /// The score; higher is better. A search by vector returns `(1 + cosine) / 2`, a number between 0
    /// and 1. The scores of a full-text search depend on the store.
    pub score: f64,
    /// The text.
    pub segment: TextSegment,
}

impl SearchMatch {
    /// Creates a search result.
    #[must_use]
    pub fn new(id: impl Into<Box<str>>, score: f64, segment: TextSegment) -> Self {
        Self { id: id.into(), score, segment }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_are_checked() {
        assert!(VectorSearch::new(&[1.0]).min_score(-1.0).check().is_ok());
        assert!(VectorSearch::new(&[1.0]).min_score(f64::NAN).check().is_err());
        assert!(VectorSearch::new(&[]).check().is_err());
        let filter = Filter::key("").exists();
        assert!(VectorSearch::new(&[1.0]).filter(&filter).check().is_err());
        assert!(TextSearch::new("").filter(&filter).check().is_err());
    }
}
