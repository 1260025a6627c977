//! Retrieved contents, as clients see them.

use ai_services_core::rag::RetrievedContent;
use serde::Serialize;
use std::borrow::Cow;

/// A source of an answer: its place, without its text.
#[derive(Debug, Serialize)]
pub(crate) struct Source<'a> {
    pub(crate) id: Cow<'a, str>,
    /// The address of a web page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<&'a str>,
}

impl<'a> Source<'a> {
    /// Describes the source at this index of an answer.
    pub(crate) fn new(index: usize, content: &'a RetrievedContent) -> Self {
        let metadata = content.segment.metadata();
        let text = |key| metadata.get(key).and_then(|value| value.as_text());
        let is_web = |url: &&str| url.starts_with("https://") || url.starts_with("http://");
        Self {
            id: content.id.as_deref().map_or_else(|| index.to_string().into(), Cow::Borrowed),
            url: text("url").filter(is_web),
            title: ["title", "file_name", "source"].into_iter().find_map(text),
        }
    }
}
