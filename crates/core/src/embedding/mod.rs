//! Embeddings: vectors of texts, their storage and search.
//!
//! An [`EmbeddingStore`] stores vectors that an [`EmbeddingModel`] computed for texts.

mod best;
mod check;
mod filter;
mod fuse;
mod store;
mod vector;

pub use crate::model::{EmbeddingModel, EmbeddingPurpose, Embeddings};
#[doc(hidden)]
pub use best::{Best, Identified};
pub use filter::{Comparison, Filter, Key};
#[doc(hidden)]
pub use fuse::{DEFAULT_K, reciprocal_rank_fusion};
pub use store::{EmbeddingEntry, EmbeddingStore, SearchMatch, TextSearch, VectorSearch};
#[doc(hidden)]
pub use vector::{check_dimensions, cosine, normalize, score};
#[doc(hidden)]
pub use {check::wrong, filter::compare};
