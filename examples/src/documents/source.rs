//! The embedding model and the splitters of the examples.

use super::words::words;
use ai_services::document::{
    Document, DocumentSplitter, MarkdownSplitter, RecursiveSplitter, TextSegment, key,
};
use ai_services::embedding::EmbeddingModel;
use ai_services::providers::openai::OpenAiEmbeddingModel;
use ai_services::testing::HashingEmbeddingModel;
use std::sync::Arc;

/// Folder with the documents of a fictional company.
pub(crate) const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/documents");

/// Returns a model of a server with OpenAI's protocol if it has a name, else one that works without a
/// network.
pub(crate) fn embedding_model(
    name: Option<&str>,
    url: Option<&str>,
) -> ai_services::Result<Arc<dyn EmbeddingModel>> {
    let Some(name) = name else { return Ok(Arc::new(hashing_model())) };
    let builder = OpenAiEmbeddingModel::builder().model(name);
    let builder = match url {
        Some(url) => builder.base_url(url),
        None => builder,
    };
    Ok(Arc::new(builder.build()?))
}

/// Returns an embedding model that works without a network.
pub(crate) fn hashing_model() -> HashingEmbeddingModel {
    HashingEmbeddingModel::new().words(words)
}

/// Metadata key of the lines of a passage in a plain text file: `12-18`.
pub(crate) const LINES: &str = "lines";

/// Splits Markdown at headings and all other documents at paragraphs.
pub(crate) struct SplitterByFileType {
    markdown: MarkdownSplitter,
    other: RecursiveSplitter,
}

impl SplitterByFileType {
    /// Creates a splitter for passages of at most `max` characters with an overlap of one tenth.
    pub(crate) fn new(max: usize) -> ai_services::Result<Self> {
        let overlap = max / 10;
        let markdown = MarkdownSplitter::builder().max_size(max).overlap(overlap).build()?;
        let other = RecursiveSplitter::builder().max_size(max).overlap(overlap).build()?;
        Ok(Self { markdown, other })
    }
}

impl DocumentSplitter for SplitterByFileType {
    fn split(&self, document: &Document) -> Vec<TextSegment> {
        let name = document.metadata().get(key::FILE_NAME).and_then(|name| name.as_text());
        let name = name.unwrap_or_default().to_ascii_lowercase();
        match name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("md" | "markdown" | "mdx") => self.markdown.split(document),
            // The lines of the extracted text do not match lines of the file.
            Some("html" | "htm" | "xhtml" | "pdf") => self.other.split(document),
            _ => with_lines(document.text(), self.other.split(document)),
        }
    }
}

/// Adds the line numbers to the segments of a text.
fn with_lines(text: &str, segments: Vec<TextSegment>) -> Vec<TextSegment> {
    let mut from = 0;
    let numbered = segments.into_iter().map(|segment| {
        let rest = text.get(from..).unwrap_or_default();
        let Some(start) = rest.find(segment.text()).map(|start| from + start) else {
            return segment;
        };
        // The next segment starts after the start of this one, but may overlap with it.
        from = start + segment.text().chars().next().map_or(0, char::len_utf8);
        let line = text.get(..start).map_or(0, |before| before.matches('\n').count()) + 1;
        let last = line + segment.text().trim_end().matches('\n').count();
        let lines = if line == last { line.to_string() } else { format!("{line}-{last}") };
        let metadata = segment.metadata().clone().with(LINES, lines);
        segment.with_metadata(metadata)
    });
    numbered.collect()
}

/// Puts the title and headings in front of a passage, so that a search matches them too.
pub(crate) fn with_title(segment: TextSegment) -> Option<TextSegment> {
    let metadata = segment.metadata().clone();
    let text = |key| metadata.get(key).and_then(|value| value.as_text());
    let (title, heading) = (text(key::TITLE), text(key::HEADING));
    // Often the title equals the first heading.
    let title = title.filter(|title| !heading.is_some_and(|heading| heading.starts_with(title)));
    let above: Vec<_> = title.into_iter().chain(heading).collect();
    if above.is_empty() {
        return Some(segment);
    }
    let text = format!("{}\n\n{}", above.join(" > "), segment.text());
    Some(TextSegment::new(text).with_metadata(metadata))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services::document::Metadata;

    #[test]
    fn plain_text_passages_have_line_numbers() {
        let text = "One line of a text.\n\nTwo lines\nof a text.\n\nAnd the last one.";
        let document = |name: &str| Document::new(text, Metadata::new().with(key::FILE_NAME, name));
        let lines = |name: &str| -> Vec<String> {
            let segments = SplitterByFileType::new(22).unwrap().split(&document(name));
            let lines =
                |segment: &TextSegment| segment.metadata().get(LINES).map(ToString::to_string);
            segments.iter().filter_map(lines).collect()
        };
        assert_eq!(lines("a.txt"), ["1", "3-4", "6"]);
        assert!(lines("a.md").is_empty() && lines("a.PDF").is_empty());
    }
}
