//! Documents and what they are cut into: text with metadata.
//!
//! | to | use |
//! |---|---|
//! | read files | [`DirectoryLoader`], [`load_file`], [`load_text`], [`load_bytes`] |
//! | cut documents into segments | [`RecursiveSplitter`], [`MarkdownSplitter`] |
//! | embed and store them | [`ingestion`](crate::ingestion) |
//!
//! [`docs::documents`](crate::docs::documents) has the whole way.

pub mod key;
mod metadata;

pub use metadata::{Metadata, MetadataValue};

use std::sync::Arc;

/// A text with metadata, as it was loaded: a file, a page, a row.
///
/// Cloning it is cheap.
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
    /// A document.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>, metadata: Metadata) -> Self {
        Self { text: text.into(), metadata }
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What is known about it.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The same text with other metadata.
    #[must_use]
    pub fn with_metadata(self, metadata: Metadata) -> Self {
        Self { metadata, ..self }
    }
}

/// A piece of a document, small enough to be embedded and to be shown to a model.
///
/// Two segments are the same if text and metadata are. Cloning is cheap.
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
    /// A segment without metadata.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), metadata: Metadata::new() }
    }

    /// The same text with this metadata instead.
    #[must_use]
    pub fn with_metadata(self, metadata: Metadata) -> Self {
        Self { metadata, ..self }
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What is known about it.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}
