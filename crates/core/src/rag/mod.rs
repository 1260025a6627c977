//! Retrieval-augmented generation: what the model is told beside what the user said.
//!
//! A [`RetrievalAugmentor`] finds texts that fit the question and puts them into the message.
//! [`DefaultRetrievalAugmentor`] is put together from these parts, each of them a trait:
//!
//! | step | trait | there are |
//! |---|---|---|
//! | make queries of the question | [`QueryTransformer`] | [`DefaultQueryTransformer`], [`CompressingQueryTransformer`], [`ExpandingQueryTransformer`], [`Redaction`](crate::guardrail::Redaction), [`QueryTransformerChain`], closures |
//! | choose whom to ask | [`QueryRouter`] | [`DefaultQueryRouter`], [`LanguageModelQueryRouter`], closures |
//! | ask | [`ContentRetriever`] | [`EmbeddingStoreContentRetriever`], [`WebSearchContentRetriever`], closures |
//! | put the results together | [`ContentAggregator`] | [`ReciprocalRankFusion`], [`ReRankingContentAggregator`] |
//! | tell the model | [`ContentInjector`] | [`DefaultContentInjector`] |
//!
//! [`docs::retrieval`](crate::docs::retrieval) is an introduction with examples.

mod aggregate;
mod augmentor;
mod content;
mod embedding_store;
mod in_order;
mod inject;
mod pipeline;
mod prompt;
mod query;
mod retriever;
mod routing;
mod spending;
mod telling;
mod tool;
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
pub use retriever::{ContentRetriever, FailurePolicy, QueryRouter, Route};
pub use routing::{
    DefaultQueryRouter, LanguageModelQueryRouter, LanguageModelQueryRouterBuilder, RoutingFallback,
};
pub use transform::{
    CompressingQueryTransformer, CompressingQueryTransformerBuilder, DefaultQueryTransformer,
    ExpandingQueryTransformer, ExpandingQueryTransformerBuilder, OriginalQuery,
    QueryTransformerChain,
};
pub use web_search::WebSearchContentRetriever;
