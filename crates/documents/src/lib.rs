//! Loading, splitting and ingesting documents, and vectors in memory.
//!
//! Part of [`ai-services`](https://docs.rs/ai-services), which re-exports everything here as
//! `ai_services::document`, `ai_services::ingestion` and `ai_services::embedding`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod in_memory;
pub mod ingestion;
mod load;
mod outline;
mod split;

pub use in_memory::{
    InMemoryEmbeddingStore, InMemoryEmbeddingStoreBuilder, UnreadableEmbeddings,
    UnreadableEmbeddingsProblem,
};
pub use load::{DirectoryLoader, LoadError, LoadErrorKind, load_bytes, load_file, load_text};
pub use split::{
    DocumentSplitter, MarkdownSplitter, RecursiveSplitter, SplitterBuilder, TextMeasure,
};
