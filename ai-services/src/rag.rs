//! Retrieval-augmented generation (RAG): texts that are retrieved for a question and added to the prompt.
//!
//! A [`RetrievalAugmentor`] retrieves texts that fit the question and adds them to the user message.
//! [`DefaultRetrievalAugmentor`] is composed of these parts, each of them a trait:
//!
//! | step | trait | implementations |
//! |---|---|---|
//! | transform the question into queries | [`QueryTransformer`] | [`DefaultQueryTransformer`], [`CompressingQueryTransformer`], [`ExpandingQueryTransformer`], [`Redaction`](crate::guardrail::Redaction), [`QueryTransformerChain`], closures |
//! | choose the retrievers of each query | [`QueryRouter`] | [`DefaultQueryRouter`], [`LanguageModelQueryRouter`], closures |
//! | retrieve | [`ContentRetriever`] | [`EmbeddingStoreContentRetriever`], [`WebSearchContentRetriever`], closures |
//! | merge the results | [`ContentAggregator`] | [`ReciprocalRankFusion`], [`ReRankingContentAggregator`] |
//! | add the contents to the message | [`ContentInjector`] | [`DefaultContentInjector`] |
//!
//! [`docs::retrieval`](crate::docs::retrieval) is an introduction with examples.

#[doc(inline)]
pub use ai_services_core::rag::*;

pub mod web_search {
    //! Web search engines, for retrieval and as a tool.
    //!
    //! A [`WebSearchEngine`] returns pages for a [`WebSearchRequest`]. A [`WebSearchContentRetriever`] adds the
    //! pages to the prompt before the model answers; a [`WebSearchTool`] lets the model search by itself.
    //!
    //! | engine | feature | requires |
    //! |---|---|---|
    //! | `TavilySearchEngine`, and servers with the API of Tavily | `web-search` | an API key |
    //! | `SearxngSearchEngine` | `web-search` | your own server |
    //! | an `impl` of [`WebSearchEngine`] | | |
    //!
    //! Content from the web is untrusted. Regardless of the engine's answer, [`WebSearchResults`] contains only
    //! pages whose address begins with `http://` or `https://`, without duplicates, at most 100, with texts of
    //! limited size and without control characters. Otherwise, texts are unchanged: markup stays in them as text.
    //! Instructions to the model in a page are not detected here; use guardrails for that.
    //!
    //! # Examples
    //!
    //! ```
    //! use ai_services::TurnContext;
    //! use ai_services::message::UserMessage;
    //! use ai_services::rag::web_search::{
    //!     WebSearchContentRetriever, WebSearchEngine, WebSearchRequest, WebSearchResult, WebSearchResults,
    //! };
    //! use ai_services::rag::{ContentRetriever, Query};
    //!
    //! /// A search engine with a single page.
    //! struct Intranet;
    //!
    //! #[ai_services::async_trait]
    //! impl WebSearchEngine for Intranet {
    //!     async fn search(&self, _: &WebSearchRequest) -> ai_services::Result<WebSearchResults> {
    //!         let page = WebSearchResult::new("Holidays", "https://intranet.example/holidays")
    //!             .with_snippet("30 days a year.");
    //!         Ok(WebSearchResults::new([page]))
    //!     }
    //! }
    //!
    //! # #[tokio::main(flavor = "current_thread")]
    //! # async fn main() -> ai_services::Result<()> {
    //! let retriever = WebSearchContentRetriever::new(Intranet).max_results(3);
    //! let turn = TurnContext::builder(UserMessage::new("How many holidays do I have?")).build();
    //! let found = retriever.retrieve(&Query::new("holidays", turn)).await?;
    //! assert_eq!(found[0].segment.text(), "Holidays\n30 days a year.");
    //! # Ok(())
    //! # }
    //! ```

    #[doc(inline)]
    pub use ai_services_core::rag::web_search::*;
    #[cfg(feature = "web-search")]
    #[cfg_attr(docsrs, doc(cfg(feature = "web-search")))]
    #[doc(inline)]
    pub use ai_services_providers::web_search::*;
}
