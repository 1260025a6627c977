//! The splitter of plain text, and the builder of splitters.

use super::cut::{Limits, cut};
use super::{DocumentSplitter, SegmentBuilder, TextMeasure};
use ai_services_core::document::{Document, TextSegment};
use ai_services_core::{Error, Result};
use std::fmt;

/// Splits a text at the largest units that fit: paragraphs, else lines, sentences, words, and characters
/// only if a single word is too large.
///
/// A segment ends after the last paragraph that fits, if the segment then has at least half of the maximum
/// size; else after the last line, sentence or word. The next segment may repeat the end of the previous one,
/// from the start of a sentence if one is near enough, else of a word. White space around segments is
/// dropped; every other character of the text is in a segment, in order. Characters that are displayed as
/// one, such as a letter and its accent, stay together if possible. A single character that is larger than
/// the maximum is a separate segment.
///
/// Defaults: at most 1,000 characters per segment and an overlap of at most 100 characters. 1,000 characters
/// are about 250 tokens of English, which is the limit of small embedding models (`all-MiniLM-L6-v2`
/// truncates after 256). Splitting takes time proportional to the length of the text.
///
/// # Examples
///
/// ```
/// use ai_services::document::{Document, DocumentSplitter, Metadata, RecursiveSplitter};
///
/// let splitter = RecursiveSplitter::builder().max_size(30).overlap(15).build()?;
/// let text = "Tea is a drink. It is hot.\n\nCoffee is another one.";
/// let document = Document::new(text, Metadata::new().with("source", "drinks.txt"));
/// let segments = splitter.split(&document);
/// let texts: Vec<_> = segments.iter().map(|segment| segment.text()).collect();
/// assert_eq!(texts, ["Tea is a drink. It is hot.", "It is hot.\n\nCoffee is another", "is another one."]);
/// # Ok::<(), ai_services::Error>(())
/// ```
///
/// # Differences from LangChain4j
///
/// The sizes of a segment and of its overlap never exceed their maximum, and no unit is dropped. A
/// short paragraph is not a separate segment before a long paragraph.
#[derive(Clone, Debug, Default)]
#[doc(alias = "DocumentSplitters.recursive")]
pub struct RecursiveSplitter(Limits);

impl RecursiveSplitter {
    /// Returns a builder.
    pub fn builder() -> SplitterBuilder<Self> {
        SplitterBuilder::new(Self)
    }
}

impl DocumentSplitter for RecursiveSplitter {
    fn split(&self, document: &Document) -> Vec<TextSegment> {
        let text = document.text();
        let mut builder = SegmentBuilder::new(document);
        builder.extend(cut(text, 0..text.len(), &[], &self.0), None);
        builder.segments
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { max: 1000, overlap: 100, measure: TextMeasure::characters() }
    }
}

/// Builds a splitter with limits for its segments.
#[must_use]
pub struct SplitterBuilder<S> {
    limits: Limits,
    make: fn(Limits) -> S,
}

impl<S> SplitterBuilder<S> {
    pub(super) fn new(make: fn(Limits) -> S) -> Self {
        Self { limits: Limits::default(), make }
    }

    /// Sets the maximum size of a segment. Default: 1,000.
    pub fn max_size(mut self, max: usize) -> Self {
        self.limits.max = max;
        self
    }

    /// Sets the maximum size of the repeated end of the previous segment. Default: 100. At most half of the
    /// maximum size of a segment.
    pub fn overlap(mut self, overlap: usize) -> Self {
        self.limits.overlap = overlap;
        self
    }

    /// Sets the measure of sizes. Default: characters.
    pub fn measure(mut self, measure: TextMeasure) -> Self {
        self.limits.measure = measure;
        self
    }

    /// Builds the splitter.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if the maximum size
    /// is 0 or the overlap is more than half of it.
    pub fn build(self) -> Result<S> {
        let Limits { max, overlap, .. } = self.limits;
        if max == 0 {
            return Err(Error::configuration("`max_size` is 0; set it to 1 or more"));
        }
        if overlap > max / 2 {
            return Err(Error::configuration(format!(
                "an `overlap` of {overlap} is more than half of the `max_size` {max}; set it to at most {}",
                max / 2
            )));
        }
        Ok((self.make)(self.limits))
    }
}

impl<S> fmt::Debug for SplitterBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SplitterBuilder").field(&self.limits).finish()
    }
}
