//! Clients of Cohere's embedding and re-ranking, and of servers with a compatible re-ranking API.
//!
//! | client | path | result |
//! |---|---|---|
//! | [`CohereScoringModel`] | `/v2/rerank` | relevance of documents to a query |
//! | [`CohereEmbeddingModel`] | `/v2/embed` | vectors of texts |
//! | [`RerankModel`] | `/rerank` of Jina, llama.cpp, vLLM, Text Embeddings Inference and others | relevance of documents to a query |
//!
//! The servers return scores in the order of relevance and can omit documents. These clients return one
//! score for each document, in the order of the documents. They never request a part of the documents. An
//! answer without a document, with a document twice or with a score that is not a number is an error.

mod compatible;
mod embedding;
mod response;
mod scoring;
mod server;

pub use compatible::{RerankDialect, RerankModel, RerankModelBuilder};
pub use embedding::{CohereEmbeddingModel, CohereEmbeddingModelBuilder, CohereTruncation};
pub use scoring::{CohereScoringModel, CohereScoringModelBuilder};
