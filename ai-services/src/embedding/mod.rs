//! Embeddings: vectors of texts, where they are kept, and how they are searched.
//!
//! An [`EmbeddingStore`] keeps vectors that an [`EmbeddingModel`] made of texts. [`InMemoryEmbeddingStore`]
//! needs nothing else and can be saved to a file; stores in databases are in `ai_services::store`.

mod best;
mod check;
mod filter;
mod fuse;
mod in_memory;
mod store;
mod vector;

pub use crate::model::{EmbeddingModel, EmbeddingPurpose, Embeddings};
pub(crate) use best::{Best, Identified};
pub use filter::{Comparison, Filter, Key};
pub(crate) use fuse::{DEFAULT_K, reciprocal_rank_fusion};
pub use in_memory::{
    InMemoryEmbeddingStore, InMemoryEmbeddingStoreBuilder, UnreadableEmbeddings,
    UnreadableEmbeddingsProblem,
};
pub use store::{EmbeddingEntry, EmbeddingStore, SearchMatch, TextSearch, VectorSearch};
#[cfg(feature = "sqlite")]
pub(crate) use vector::score;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) use vector::{check_dimensions, normalize};
