//! Retrieved texts.

use crate::document::TextSegment;
use crate::embedding::SearchMatch;

/// A text that was retrieved for a query and is sent to the model.
///
/// # Examples
///
/// ```
/// use ai_services::document::{Metadata, TextSegment};
/// use ai_services::rag::RetrievedContent;
///
/// let segment = TextSegment::new("Bananas are berries.")
///     .with_metadata(Metadata::new().with("source", "fruit.md"));
/// let content = RetrievedContent::new(segment).with_score(0.9);
/// assert_eq!(content.segment.text(), "Bananas are berries.");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[doc(alias = "Content")]
pub struct RetrievedContent {
    /// Text and metadata. Two contents with equal segments are duplicates.
    pub segment: TextSegment,
    /// Relevance, the higher the better, on the scale of the component that set it last.
    pub score: Option<f64>,
    /// Id of the entry in the embedding store that the text comes from.
    pub id: Option<Box<str>>,
}

impl RetrievedContent {
    /// Creates a content without a score and an id.
    #[must_use]
    pub fn new(segment: TextSegment) -> Self {
        Self { segment, score: None, id: None }
    }

    /// Sets the relevance.
    #[must_use]
    pub fn with_score(mut self, score: f64) -> Self {
        self.score = Some(score);
        self
    }

    /// Sets the id of the entry in its store.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<Box<str>>) -> Self {
        self.id = Some(id.into());
        self
    }
}

impl From<&str> for RetrievedContent {
    fn from(text: &str) -> Self {
        Self::new(TextSegment::new(text))
    }
}

impl From<String> for RetrievedContent {
    fn from(text: String) -> Self {
        Self::new(TextSegment::new(text))
    }
}

impl From<TextSegment> for RetrievedContent {
    fn from(segment: TextSegment) -> Self {
        Self::new(segment)
    }
}

/// Keeps the score of the search and the id of the entry.
impl From<SearchMatch> for RetrievedContent {
    fn from(found: SearchMatch) -> Self {
        Self::new(found.segment).with_score(found.score).with_id(found.id)
    }
}
