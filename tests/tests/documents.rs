//! Documents: loaded from files, and cut into segments.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails panics"
)]

#[path = "documents/files.rs"]
mod files;
#[path = "documents/folders.rs"]
mod folders;
#[path = "documents/markdown.rs"]
mod markdown;
#[cfg(feature = "pdf")]
#[path = "documents/pages.rs"]
mod pages;
#[path = "documents/splitting.rs"]
mod splitting;

use ai_services::document::{Document, Metadata, TextSegment, key};

fn document(text: &str) -> Document {
    Document::new(text, Metadata::new().with(key::SOURCE, "a.txt"))
}

fn texts(segments: &[TextSegment]) -> Vec<&str> {
    segments.iter().map(TextSegment::text).collect()
}

/// A value of metadata as text.
fn value(metadata: &Metadata, key: &str) -> Option<String> {
    metadata.get(key).map(ToString::to_string)
}
