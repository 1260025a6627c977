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
    base_url: Option<&str>,
) -> ai_services::Result<Arc<dyn EmbeddingModel>> {
    let Some(name) = name else { return Ok(Arc::new(HashingEmbedder)) };
    let builder = OpenAiEmbeddingModel::builder().model(name);
    let builder = match base_url {
        Some(url) => builder.base_url(url),
        None => builder,
    };
    Ok(Arc::new(builder.build()?))
}

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
        let source = document.metadata().get(key::SOURCE).and_then(|source| source.as_text());
        match source.is_some_and(|source| source.ends_with(".md")) {
            true => self.markdown.split(document),
            false => self.other.split(document),
        }
    }
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
    let said = format!("{}\n{}", above.join(" > "), segment.text());
    Some(TextSegment::new(said).with_metadata(metadata))
}
