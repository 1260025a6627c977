//! Which embedding model, and how the examples cut documents.

use super::embedder::HashingEmbedder;
use ai_services::document::{
    Document, DocumentSplitter, MarkdownSplitter, RecursiveSplitter, TextSegment, key,
};
use ai_services::embedding::EmbeddingModel;
use ai_services::providers::openai::OpenAiEmbeddingModel;
use std::sync::Arc;

/// The folder of the repository with the documents of an invented company.
pub(crate) const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/documents");

/// A model behind OpenAI's protocol if one is named, else one that needs no network.
pub(crate) fn embedding_model(
    name: Option<&str>,
    url: Option<&str>,
) -> ai_services::Result<Arc<dyn EmbeddingModel>> {
    let Some(name) = name else { return Ok(Arc::new(HashingEmbedder)) };
    let builder = OpenAiEmbeddingModel::builder().model(name);
    let builder = match url {
        Some(url) => builder.base_url(url),
        None => builder,
    };
    Ok(Arc::new(builder.build()?))
}

/// Where a passage is in a file of plain text: `12-18`.
pub(crate) const LINES: &str = "lines";

/// Cuts Markdown at its headings and everything else at its paragraphs.
pub(crate) struct ByKind {
    markdown: MarkdownSplitter,
    other: RecursiveSplitter,
}

impl ByKind {
    /// Passages of at most so many characters, a tenth of which they share.
    pub(crate) fn new(max: usize) -> ai_services::Result<Self> {
        let overlap = max / 10;
        let markdown = MarkdownSplitter::builder().max_size(max).overlap(overlap).build()?;
        let other = RecursiveSplitter::builder().max_size(max).overlap(overlap).build()?;
        Ok(Self { markdown, other })
    }
}

impl DocumentSplitter for ByKind {
    fn split(&self, document: &Document) -> Vec<TextSegment> {
        let name = document.metadata().get(key::FILE_NAME).and_then(|name| name.as_text());
        let name = name.unwrap_or_default().to_ascii_lowercase();
        match name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("md" | "markdown" | "mdx") => self.markdown.split(document),
            // What is read of them has no lines of its own.
            Some("html" | "htm" | "xhtml" | "pdf") => self.other.split(document),
            _ => with_lines(document.text(), self.other.split(document)),
        }
    }
}

/// Tells each segment of a text in which lines it is.
fn with_lines(text: &str, segments: Vec<TextSegment>) -> Vec<TextSegment> {
    let mut from = 0;
    let known = segments.into_iter().map(|segment| {
        let rest = text.get(from..).unwrap_or_default();
        let Some(start) = rest.find(segment.text()).map(|start| from + start) else {
            return segment;
        };
        // The next one begins behind it, but may share some text with this one.
        from = start + segment.text().chars().next().map_or(0, char::len_utf8);
        let line = text.get(..start).map_or(0, |before| before.matches('\n').count()) + 1;
        let last = line + segment.text().trim_end().matches('\n').count();
        let lines = if line == last { line.to_string() } else { format!("{line}-{last}") };
        let metadata = segment.metadata().clone().with(LINES, lines);
        segment.with_metadata(metadata)
    });
    known.collect()
}

/// Puts before a passage what it stands under, so that it can be found by that, too.
pub(crate) fn with_title(segment: TextSegment) -> Option<TextSegment> {
    let metadata = segment.metadata().clone();
    let text = |key| metadata.get(key).and_then(|value| value.as_text());
    let (title, heading) = (text(key::TITLE), text(key::HEADING));
    // Often the title is the first heading.
    let title = title.filter(|title| !heading.is_some_and(|heading| heading.starts_with(title)));
    let above: Vec<_> = title.into_iter().chain(heading).collect();
    if above.is_empty() {
        return Some(segment);
    }
    let said = format!("{}\n\n{}", above.join(" > "), segment.text());
    Some(TextSegment::new(said).with_metadata(metadata))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services::document::Metadata;

    #[test]
    fn passages_of_plain_text_know_their_lines() {
        let text = "One line of a text.\n\nTwo lines\nof a text.\n\nAnd the last one.";
        let document = |name: &str| Document::new(text, Metadata::new().with(key::FILE_NAME, name));
        let lines = |name: &str| -> Vec<String> {
            let segments = ByKind::new(22).unwrap().split(&document(name));
            let lines =
                |segment: &TextSegment| segment.metadata().get(LINES).map(ToString::to_string);
            segments.iter().filter_map(lines).collect()
        };
        assert_eq!(lines("a.txt"), ["1", "3-4", "6"]);
        assert!(lines("a.md").is_empty() && lines("a.PDF").is_empty());
    }
}
