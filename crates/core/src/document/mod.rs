//! Documents and text segments: text with metadata.

pub mod key;
mod metadata;

pub use metadata::{Metadata, MetadataValue};

use std::sync::Arc;

/// A loaded text with metadata: a file, a page, a row.
///
/// Cloning is cheap.
///
/// # Examples
///
/// ```
/// use ai_services::document::{Document, Metadata};
///
/// let metadata = Metadata::new().with("file", "terms.md").with("year", 2026);
/// let document = Document::new("A booking can be cancelled.", metadata);
/// assert_eq!(document.metadata().get("year").and_then(|year| year.as_integer()), Some(2026));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    text: Arc<str>,
    metadata: Metadata,
}

impl Document {
    /// Creates a document.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>, metadata: Metadata) -> Self {
        Self { text: text.into(), metadata }
    }

    /// Returns the text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the metadata.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Replaces the metadata.
    #[must_use]
    pub fn with_metadata(self, metadata: Metadata) -> Self {
        Self { metadata, ..self }
    }
}

/// A piece of a document, small enough to be embedded and sent to a model.
///
/// Two segments are equal if both text and metadata are equal. Cloning is cheap.
///
/// # Examples
///
/// ```
/// use ai_services::document::{Metadata, TextSegment};
///
/// let segment = TextSegment::new("Bananas are berries.");
/// assert_ne!(segment, segment.clone().with_metadata(Metadata::new().with("page", 3)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TextSegment {
    text: Arc<str>,
    metadata: Metadata,
}

impl TextSegment {
    /// Creates a segment without metadata.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), metadata: Metadata::new() }
    }

    /// Replaces the metadata.
    #[must_use]
    pub fn with_metadata(self, metadata: Metadata) -> Self {
        Self { metadata, ..self }
    }

    /// Returns the text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the metadata.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}
