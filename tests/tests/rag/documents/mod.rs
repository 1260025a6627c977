//! Loading documents from files, and splitting them into segments.

mod files;
mod folders;
mod markdown;
#[cfg(feature = "pdf")]
mod pdf;
mod splitting;

use ai_services::document::{Document, Metadata, TextSegment, key};

fn document(text: &str) -> Document {
    Document::new(text, Metadata::new().with(key::SOURCE, "a.txt"))
}

fn texts(segments: &[TextSegment]) -> Vec<&str> {
    segments.iter().map(TextSegment::text).collect()
}

/// Returns a metadata value as text.
fn value(metadata: &Metadata, key: &str) -> Option<String> {
    metadata.get(key).map(ToString::to_string)
}
