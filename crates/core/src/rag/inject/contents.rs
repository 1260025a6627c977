//! Rendering of contents as text.

use crate::document::key;
use crate::error::Result;
use crate::prompt::{PromptTemplate, PromptVariables};
use crate::rag::RetrievedContent;

/// Format of one content.
#[derive(Clone, Debug)]
pub(super) enum ContentFormat {
    /// The text and the metadata of these keys, if the content has any.
    Keys(Vec<Box<str>>),
    /// A template.
    Template(PromptTemplate),
}

/// Prefix of template variables for metadata.
pub(super) const METADATA_PREFIX: &str = "metadata.";

impl ContentFormat {
    pub(super) fn render(&self, content: &RetrievedContent, number: usize) -> Result<String> {
        match self {
            Self::Keys(keys) => Ok(with_keys(content, keys)),
            Self::Template(template) => template.render(&variables(template, content, number)),
        }
    }
}

fn with_keys(content: &RetrievedContent, keys: &[Box<str>]) -> String {
    let (text, metadata) = (content.segment.text(), content.segment.metadata());
    let known = keys.iter().filter_map(|key| Some((key, metadata.get(key)?)));
    let known: Vec<String> = known.map(|(key, value)| format!("\n{key}: {value}")).collect();
    if known.is_empty() { text.to_owned() } else { format!("content: {text}{}", known.concat()) }
}

/// Returns values for all variables of a template. Missing metadata and a missing id or score are empty.
fn variables(
    template: &PromptTemplate,
    content: &RetrievedContent,
    number: usize,
) -> PromptVariables {
    let mut values = PromptVariables::new()
        .with("content", content.segment.text())
        .with("number", number)
        .with("id", content.id.as_deref().unwrap_or_default())
        .with("score", content.score.map(|score| score.to_string()).unwrap_or_default());
    for name in template.variables() {
        if let Some(key) = name.strip_prefix(METADATA_PREFIX) {
            let value = content.segment.metadata().get(key);
            values = values.with(name, value.map(ToString::to_string).unwrap_or_default());
        }
    }
    values
}

/// Metadata keys that are for the store, and meaningless to a model.
const STORE_KEYS: [&str; 3] = [key::COLLECTION, key::DIGEST, key::SEGMENTS];

/// Renders a content with its number and its metadata.
pub(in crate::rag) fn numbered_with_metadata(content: &RetrievedContent, number: usize) -> String {
    let metadata = content.segment.metadata().iter();
    let metadata = metadata.filter(|(key, _)| !STORE_KEYS.contains(key));
    let lines: String = metadata.map(|(key, value)| format!("\n{key}: {value}")).collect();
    format!("[{number}] {}{lines}", content.segment.text())
}
