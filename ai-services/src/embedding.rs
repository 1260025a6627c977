//! Embeddings: vectors of texts, their storage and search.
//!
//! An [`EmbeddingStore`] stores vectors that an [`EmbeddingModel`] computed for texts.
//! [`InMemoryEmbeddingStore`] needs no database and can be saved to a file; stores in databases are in
//! [`store`](crate::store).

#[doc(inline)]
pub use ai_services_core::embedding::*;
#[doc(inline)]
pub use ai_services_documents::{
    InMemoryEmbeddingStore, InMemoryEmbeddingStoreBuilder, UnreadableEmbeddings,
    UnreadableEmbeddingsProblem,
};
