//! Documents and text segments: text with metadata.
//!
//! | to | use |
//! |---|---|
//! | read files | [`DirectoryLoader`], [`load_file`], [`load_text`], [`load_bytes`] |
//! | cut documents into segments | [`RecursiveSplitter`], [`MarkdownSplitter`] |
//! | embed and store them | [`ingestion`](crate::ingestion) |
//!
//! [`docs::documents`](crate::docs::documents) describes all steps.

#[doc(inline)]
pub use ai_services_core::document::*;
#[doc(inline)]
pub use ai_services_documents::{
    DirectoryLoader, DocumentSplitter, LoadError, LoadErrorKind, MarkdownSplitter,
    RecursiveSplitter, SplitterBuilder, TextMeasure, load_bytes, load_file, load_text,
};
