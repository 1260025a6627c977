//! Retrieval-augmented generation (RAG): texts that are retrieved for a question and added to the prompt.
//!
//! A [`RetrievalAugmentor`] retrieves texts that fit the question and adds them to the user message.
//! [`DefaultRetrievalAugmentor`] is composed of one part for each step: a [`QueryTransformer`], a
//! [`QueryRouter`], [`ContentRetriever`]s, a [`ContentAggregator`] and a [`ContentInjector`].

mod aggregate;
mod augmentor;
mod content;
mod embedding_store;
mod inject;
mod metering;
mod ordered_join;
mod pipeline;
mod prompt;
mod query;
mod retriever;
mod route;
mod routing;
mod tool_output;
mod transform;
pub mod web_search;

pub use aggregate::{
    ContentAggregator, ReRankingContentAggregator, ReRankingContentAggregatorBuilder,
    ReciprocalRankFusion,
};
pub use augmentor::{RetrievalAugmentor, Retrieved, SkippedRetrieval};
pub use content::RetrievedContent;
pub use embedding_store::{
    EmbeddingStoreContentRetriever, EmbeddingStoreContentRetrieverBuilder, SearchMode,
};
pub use inject::{ContentInjector, DefaultContentInjector, DefaultContentInjectorBuilder};
pub use pipeline::{DefaultRetrievalAugmentor, DefaultRetrievalAugmentorBuilder};
pub use query::{Query, QueryTransformer};
pub use retriever::ContentRetriever;
pub use route::{FailurePolicy, QueryRouter, Route};
pub use routing::{
    DefaultQueryRouter, LanguageModelQueryRouter, LanguageModelQueryRouterBuilder, RoutingFallback,
};
pub use transform::{
    CompressingQueryTransformer, CompressingQueryTransformerBuilder, DefaultQueryTransformer,
    ExpandingQueryTransformer, ExpandingQueryTransformerBuilder, OriginalQuery,
    QueryTransformerChain,
};
pub use web_search::WebSearchContentRetriever;
