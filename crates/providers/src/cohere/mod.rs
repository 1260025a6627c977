//! Cohere's embeddings and re-ranking, and servers that re-rank like it.
//!
//! | client | asks | for |
//! |---|---|---|
//! | [`CohereScoringModel`] | `/v2/rerank` | how relevant documents are to a query |
//! | [`CohereEmbeddingModel`] | `/v2/embed` | vectors of texts |
//! | [`RerankModel`] | `/rerank` of Jina, llama.cpp, vLLM, Text Embeddings Inference and others | how relevant documents are to a query |
//!
//! Re-rankers answer in the order of relevance and may leave documents out. Here every document has a
//! score, in the order in which it was given: nothing is asked to be left out, and an answer that leaves
//! a document out, scores it twice or by something that is no number, is an error.

mod builder;
mod compatible;
mod embedding;
mod reading;
mod scoring;

pub use compatible::{RerankDialect, RerankModel, RerankModelBuilder};
pub use embedding::{CohereEmbeddingModel, CohereEmbeddingModelBuilder, LongTexts};
pub use scoring::{CohereScoringModel, CohereScoringModelBuilder};
