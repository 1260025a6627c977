//! Embeddings: vectors of texts, their storage and search.
//!
//! An [`EmbeddingStore`] stores vectors that an [`EmbeddingModel`] computed for texts.

mod best;
mod check;
mod entry;
mod filter;
mod fuse;
mod search;
mod store;
mod vector;

pub use crate::model::{EmbeddingModel, EmbeddingPurpose, Embeddings};
#[doc(hidden)]
pub use best::{Best, Identified};
pub use entry::EmbeddingEntry;
pub use filter::{Comparison, Filter, Key};
#[doc(hidden)]
pub use fuse::{DEFAULT_K, reciprocal_rank_fusion};
pub use search::{SearchMatch, TextSearch, VectorSearch};
pub use store::{EmbeddingStore, Replace};
#[doc(hidden)]
pub use vector::{cosine, normalize, score};
#[doc(hidden)]
pub use {
    check::{check_dimensions, wrong},
    filter::compare,
};
