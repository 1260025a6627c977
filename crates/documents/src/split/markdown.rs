//! The splitter of Markdown.

use super::cut::{Limits, cut};
use super::measure::before;
use super::{DocumentSplitter, SegmentBuilder, SplitterBuilder};
use crate::outline::{fence, heading, is_row};
use ai_services_core::document::{Document, TextSegment};
use std::ops::Range;

/// Splits Markdown at its headings, and the sections between them like a
/// [`RecursiveSplitter`](super::RecursiveSplitter).
///
/// The metadata `heading` of a segment has the headings above it, outermost first: `Guide > Installation`.
/// Each heading is truncated to 256 bytes. A heading without text below it belongs to the section of the next
/// heading. A fenced code block or a table stays whole if it fits, else it is cut between lines. Headings are
/// lines with `#`; underlined headings are text.
///
/// The defaults are those of [`RecursiveSplitter`](super::RecursiveSplitter).
///
/// # Examples
///
/// ```
/// use ai_services::document::{Document, DocumentSplitter, MarkdownSplitter, Metadata};
///
/// let text = "# Tea\n\n## Green\n\nNot fermented.\n\n## Black\n\nFermented.";
/// let segments = MarkdownSplitter::default().split(&Document::new(text, Metadata::new()));
/// assert_eq!(segments[0].text(), "# Tea\n\n## Green\n\nNot fermented.");
/// assert_eq!(segments[1].metadata().get("heading").unwrap().as_text(), Some("Tea > Black"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct MarkdownSplitter(pub(super) Limits);

impl MarkdownSplitter {
    /// Returns a builder.
    pub fn builder() -> SplitterBuilder<Self> {
        SplitterBuilder::new(Self)
    }
}

impl DocumentSplitter for MarkdownSplitter {
    fn split(&self, document: &Document) -> Vec<TextSegment> {
        let mut builder = SegmentBuilder::new(document);
        for (pieces, heading) in self.pieces(document.text()) {
            builder.extend(pieces, heading.as_deref());
        }
        builder.segments
    }
}

impl MarkdownSplitter {
    /// Returns the pieces of each section.
    pub(super) fn pieces(&self, text: &str) -> Vec<Pieces> {
        let Outline { sections, kept, .. } = Outline::read(text);
        let cut_section = |Section { range, heading }: Section| {
            let begin = kept.partition_point(|kept| kept.end <= range.start);
            (cut(text, range, kept.get(begin..).unwrap_or_default(), &self.0), heading)
        };
        sections.into_iter().map(cut_section).collect()
    }
}

/// Maximum length of a heading in metadata, in bytes. Every segment below a heading has a copy.
const MAX_HEADING: usize = 256;

/// The ranges of the pieces of a section, and the headings above it.
type Pieces = (Vec<Range<usize>>, Option<Box<str>>);

/// A section of the text and the headings above it.
struct Section {
    range: Range<usize>,
    heading: Option<Box<str>>,
}

/// The sections of a text, and the ranges that should stay whole.
#[derive(Default)]
struct Outline<'a> {
    text: &'a str,
    sections: Vec<Section>,
    kept: Vec<Range<usize>>,
    /// The headings above the next line, with their levels.
    path: Vec<(usize, &'a str)>,
    /// Start of the current section.
    start: usize,
    /// `true` if the current section has text besides headings.
    has_text: bool,
    /// Start of the current code block or table.
    block: Option<usize>,
}

impl<'a> Outline<'a> {
    fn read(text: &'a str) -> Self {
        let mut outline = Self { text, ..Self::default() };
        let mut open = None;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let was_open = open.is_some();
            let is_fence = fence(line, &mut open);
            if is_fence && !was_open {
                outline.end_block(at);
            }
            if is_fence || is_row(line) {
                outline.block.get_or_insert(at);
            } else {
                outline.end_block(at);
            }
            match heading(line).filter(|_| !is_fence) {
                Some((level, title)) => outline.begin_section(at, level, title),
                None => outline.has_text |= !line.trim().is_empty(),
            }
            at += line.len();
            if is_fence && open.is_none() {
                outline.end_block(at);
            }
        }
        outline.end_block(text.len());
        outline.end_section(text.len());
        outline
    }

    fn begin_section(&mut self, at: usize, level: usize, title: &'a str) {
        if self.has_text {
            self.end_section(at);
        }
        while self.path.last().is_some_and(|(above, _)| *above >= level) {
            self.path.pop();
        }
        let end = before(title, MAX_HEADING.min(title.len()));
        self.path.push((level, title.get(..end).unwrap_or_default().trim_end()));
    }

    fn end_section(&mut self, at: usize) {
        let titles = self.path.iter().map(|(_, title)| *title).filter(|title| !title.is_empty());
        let heading = titles.collect::<Vec<_>>().join(" > ");
        let heading = (!heading.is_empty()).then(|| heading.into());
        self.sections.push(Section { range: self.start..at, heading });
        (self.start, self.has_text) = (at, false);
    }

    fn end_block(&mut self, at: usize) {
        let Some(start) = self.block.take() else { return };
        // Segments have no surrounding white space.
        let block = self.text.get(start..at).unwrap_or_default();
        let start = at - block.trim_start().len();
        self.kept.push(start..start + block.trim().len());
    }
}
