//! Retrieval-augmented generation: what the model is told beside what the user said.

mod augmentor;
mod content;
mod query;
mod retriever;
pub mod web_search;

pub use augmentor::{RetrievalAugmentor, Retrieved, SkippedRetrieval};
pub use content::RetrievedContent;
pub use query::{Query, QueryTransformer};
pub use retriever::{ContentRetriever, FailurePolicy, QueryRouter, Route};
pub use web_search::WebSearchContentRetriever;
