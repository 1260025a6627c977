//! Splitting of documents into segments.

mod breaks;
mod cut;
#[cfg(test)]
mod laws_tests;
mod markdown;
mod measure;
mod recursive;

pub use markdown::MarkdownSplitter;
pub use measure::TextMeasure;
pub use recursive::{RecursiveSplitter, SplitterBuilder};

use ai_services_core::document::{Document, Metadata, TextSegment, key};
use std::ops::Range;
use std::sync::Arc;

/// Splits documents into segments that are small enough to be embedded and to be sent to a model.
///
/// Each segment has the metadata of its document and its number in `index`, from 0. The crate has
/// [`RecursiveSplitter`] and [`MarkdownSplitter`].
///
/// # Examples
///
/// A custom splitter:
///
/// ```
/// use ai_services::document::{Document, DocumentSplitter, Metadata, TextSegment, key};
///
/// /// One segment per line.
/// struct Lines;
///
/// impl DocumentSplitter for Lines {
///     fn split(&self, document: &Document) -> Vec<TextSegment> {
///         let lines = document.text().lines().filter(|line| !line.trim().is_empty());
///         let segment = |(index, line): (usize, &str)| {
///             let metadata = document.metadata().clone();
///             TextSegment::new(line).with_metadata(metadata.with(key::INDEX, index as u32))
///         };
///         lines.enumerate().map(segment).collect()
///     }
/// }
///
/// let segments = Lines.split(&Document::new("one\n\ntwo", Metadata::new()));
/// assert_eq!(segments[1].text(), "two");
/// ```
pub trait DocumentSplitter: Send + Sync {
    /// Returns the segments of a document, in the order of its text.
    fn split(&self, document: &Document) -> Vec<TextSegment>;
}

impl<S: DocumentSplitter + ?Sized> DocumentSplitter for Arc<S> {
    fn split(&self, document: &Document) -> Vec<TextSegment> {
        S::split(self, document)
    }
}

/// Builds and numbers the segments of a document.
struct SegmentBuilder<'a> {
    document: &'a Document,
    segments: Vec<TextSegment>,
}

impl<'a> SegmentBuilder<'a> {
    fn new(document: &'a Document) -> Self {
        Self { document, segments: Vec::new() }
    }

    /// Adds the segments of these ranges, with a heading if there is one.
    fn extend(&mut self, ranges: impl IntoIterator<Item = Range<usize>>, heading: Option<&str>) {
        let mut metadata: Metadata = self.document.metadata().clone();
        if let Some(heading) = heading {
            metadata.set(key::HEADING, heading);
        }
        for range in ranges {
            let text = self.document.text().get(range).unwrap_or_default();
            let index = i64::try_from(self.segments.len()).unwrap_or(i64::MAX);
            let metadata = metadata.clone().with(key::INDEX, index);
            self.segments.push(TextSegment::new(text).with_metadata(metadata));
        }
    }
}
