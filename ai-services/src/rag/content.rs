//! What was found.

use crate::document::TextSegment;

/// A text that was found for a query, and is shown to the model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[doc(alias = "Content")]
pub struct RetrievedContent {
    /// The text, with what is known about it. Two contents with equal segments are the same content.
    pub segment: TextSegment,
    /// How well it fits, the higher the better, in the measure of whoever said so last.
    pub score: Option<f64>,
    /// Its id in the embedding store that it comes from.
    pub id: Option<Box<str>>,
}

impl RetrievedContent {
    /// A text of which nothing else is known.
    #[must_use]
    pub fn new(segment: TextSegment) -> Self {
        Self { segment, score: None, id: None }
    }

    /// Says how well it fits.
    #[must_use]
    pub fn with_score(mut self, score: f64) -> Self {
        self.score = Some(score);
        self
    }

    /// Says where it is in its store.
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
