//! Embeddings: vectors of texts, where they are kept, and how they are searched.

mod filter;
mod fuse;
mod store;

pub use crate::model::{EmbeddingModel, EmbeddingPurpose, Embeddings};
pub use filter::{Comparison, Filter, Key};
pub(crate) use fuse::{DEFAULT_K, reciprocal_rank_fusion};
pub use store::{EmbeddingEntry, EmbeddingStore, SearchMatch, TextSearch, VectorSearch};
