//! Loading documents from files, and splitting them into segments.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failing test panics"
)]

#[path = "documents/files.rs"]
mod files;
#[path = "documents/folders.rs"]
mod folders;
#[path = "documents/markdown.rs"]
mod markdown;
#[cfg(feature = "pdf")]
#[path = "documents/pdf.rs"]
mod pdf;
#[path = "documents/splitting.rs"]
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
