//! Contents as text.

use crate::document::key;
use crate::error::Result;
use crate::prompt::{PromptTemplate, PromptVariables};
use crate::rag::RetrievedContent;

/// How one content is written.
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// The text, with the values of these keys if it has some of them.
    Keys(Vec<Box<str>>),
    /// By a template.
    Template(PromptTemplate),
}

/// What the names of metadata in a template begin with.
pub(super) const METADATA: &str = "metadata.";

impl Form {
    pub(super) fn write(&self, content: &RetrievedContent, number: usize) -> Result<String> {
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
    match known.is_empty() {
        true => text.to_owned(),
        false => format!("content: {text}{}", known.concat()),
    }
}

/// Values for all variables of a template. What a content does not have is an empty text.
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
        if let Some(key) = name.strip_prefix(METADATA) {
            let value = content.segment.metadata().get(key);
            values = values.with(name, value.map(ToString::to_string).unwrap_or_default());
        }
    }
    values
}

/// What a store keeps for itself, and tells a model nothing.
const BOOKKEEPING: [&str; 3] = [key::COLLECTION, key::DIGEST, key::SEGMENTS];

/// A content with its number and its metadata.
pub(in crate::rag) fn numbered(content: &RetrievedContent, number: usize) -> String {
    let metadata = content.segment.metadata().iter();
    let metadata = metadata.filter(|(key, _)| !BOOKKEEPING.contains(key));
    let lines: String = metadata.map(|(key, value)| format!("\n{key}: {value}")).collect();
    format!("[{number}] {}{lines}", content.segment.text())
}
