//! Segments of plain text.

use super::cut::{Limits, cut};
use super::{DocumentSplitter, Numbered, TextMeasure};
use ai_services_core::document::{Document, TextSegment};
use ai_services_core::{Error, Result};
use std::fmt;

/// Cuts a text at the largest units that fit: paragraphs, else lines, sentences, words, and characters
/// only where a word alone is too large.
///
/// A segment is cut behind the last paragraph that fits, if that leaves at least half of the maximum; else
/// behind the last line, sentence or word. The next one may repeat the end of the one before, from the
/// beginning of a sentence if one is near enough, else of a word. White space around segments is dropped;
/// every other character of the text is in a segment, in order. Characters that are shown as one, such
/// as a letter and its accent, stay together where they can. A single character that is larger than the
/// maximum is a segment of its own.
///
/// By default segments have at most 1,000 characters and repeat at most 100: about 250 tokens of English,
/// which is what small embedding models read of a text (`all-MiniLM-L6-v2` cuts off after 256). It takes
/// time proportional to the length of the text.
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
/// The size of a segment and of what it repeats is never above its maximum, and no unit is dropped. A
/// short paragraph does not stand alone before a long one.
#[derive(Clone, Debug, Default)]
#[doc(alias = "DocumentSplitters.recursive")]
pub struct RecursiveSplitter(Limits);

impl RecursiveSplitter {
    /// Starts a splitter.
    pub fn builder() -> SplitterBuilder<Self> {
        SplitterBuilder::new(Self)
    }
}

impl DocumentSplitter for RecursiveSplitter {
    fn split(&self, document: &Document) -> Vec<TextSegment> {
        let text = document.text();
        let mut numbered = Numbered::new(document);
        numbered.extend(cut(text, 0..text.len(), &[], &self.0), None);
        numbered.segments
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { max: 1000, overlap: 100, measure: TextMeasure::characters() }
    }
}

/// Sets how large segments are.
#[must_use]
pub struct SplitterBuilder<S> {
    limits: Limits,
    make: fn(Limits) -> S,
}

impl<S> SplitterBuilder<S> {
    pub(super) fn new(make: fn(Limits) -> S) -> Self {
        Self { limits: Limits::default(), make }
    }

    /// Sets how large a segment is at most; 1,000 by default.
    pub fn max_size(mut self, max: usize) -> Self {
        self.limits.max = max;
        self
    }

    /// Sets how much of a segment the next one repeats at most; 100 by default, and at most half of the
    /// maximum.
    pub fn overlap(mut self, overlap: usize) -> Self {
        self.limits.overlap = overlap;
        self
    }

    /// Sets what sizes are counted in; characters by default.
    pub fn measure(mut self, measure: TextMeasure) -> Self {
        self.limits.measure = measure;
        self
    }

    /// The splitter.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if the maximum is 0 or the overlap
    /// is more than half of it.
    pub fn build(self) -> Result<S> {
        let Limits { max, overlap, .. } = self.limits;
        if max == 0 {
            return Err(Error::configuration("segments have no size; set `max_size` above 0"));
        }
        if overlap > max / 2 {
            return Err(Error::configuration(format!(
                "segments of {max} cannot repeat {overlap}; set `overlap` to at most {}",
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
