//! Retrieval from an embedding store.

mod builder;

pub use builder::EmbeddingStoreContentRetrieverBuilder;

use super::spending::settled;
use super::{ContentRetriever, Query, RetrievedContent};
use crate::embedding::{
    DEFAULT_K, EmbeddingModel, EmbeddingPurpose, EmbeddingStore, Embeddings, Filter, SearchMatch,
    TextSearch, VectorSearch, reciprocal_rank_fusion,
};
use crate::error::{Error, ErrorKind, Result};
use async_trait::async_trait;
use futures_util::future::try_join;
use std::borrow::Cow;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;

/// Finds the texts of an embedding store that fit a query.
///
/// By default, the 3 whose vectors are nearest to that of the query. Others by [`SearchMode`].
///
/// # Errors
///
/// Those of the embedding model and of the store, for example if the vectors of the model do not have the length of
/// those in the store.
///
/// # Examples
///
/// ```
/// use ai_services::embedding::{EmbeddingModel, EmbeddingStore, Filter};
/// use ai_services::rag::{EmbeddingStoreContentRetriever, Query};
///
/// # fn main() {}
/// fn retriever(
///     store: impl EmbeddingStore + 'static,
///     model: impl EmbeddingModel + 'static,
/// ) -> ai_services::Result<EmbeddingStoreContentRetriever> {
///     EmbeddingStoreContentRetriever::builder(store)
///         .embedding_model(model)
///         .max_results(5)
///         .min_score(0.6)
///         // What one customer is told must not come from another one's documents. Nobody is told nothing.
///         .filter_by(|query: &Query| {
///             let customer = query.turn().memory_id()?;
///             Some(Filter::key("customer").is(customer.as_str()))
///         })
///         .build()
/// }
/// ```
#[derive(Clone)]
pub struct EmbeddingStoreContentRetriever(Arc<Parts>);

struct Parts {
    store: Arc<dyn EmbeddingStore>,
    search: Search,
    max_results: usize,
    candidates: Option<usize>,
    min_score: f64,
    filter: Considered,
}

/// How an [`EmbeddingStoreContentRetriever`] searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SearchMode {
    /// By meaning: the entries whose vectors are nearest to that of the query.
    #[default]
    Vector,
    /// By words: the entries that have the words of the query, if the store has full-text search. No
    /// embedding model is needed.
    Text,
    /// Both at the same time, put together by reciprocal rank fusion with `k` = 60. What both find comes first,
    /// names and numbers are found even if they mean nothing to the model. Scores are those of the fusion.
    Hybrid,
}

/// A mode with what it needs.
enum Search {
    Vector(Arc<dyn EmbeddingModel>),
    Text,
    Hybrid(Arc<dyn EmbeddingModel>),
}

/// Which entries are considered.
enum Considered {
    All,
    Those(Filter),
    By(Box<FilterBy>),
}

type FilterBy = dyn Fn(&Query) -> Option<Filter> + Send + Sync;

impl EmbeddingStoreContentRetriever {
    /// How many texts are found by default.
    pub const DEFAULT_MAX_RESULTS: usize = 3;

    /// How many entries a hybrid search takes from each of its searches, if not told: this many, and as many as
    /// results are wanted if that is more.
    pub const DEFAULT_CANDIDATES: usize = 20;

    /// Starts a retriever from a store.
    pub fn builder(store: impl EmbeddingStore + 'static) -> EmbeddingStoreContentRetrieverBuilder {
        EmbeddingStoreContentRetrieverBuilder::new(Arc::new(store))
    }
}

impl Parts {
    async fn by_vector(
        &self,
        model: &dyn EmbeddingModel,
        query: &Query,
        max_results: usize,
        filter: Option<&Filter>,
    ) -> Result<Vec<SearchMatch>> {
        let vector = embed(model, query).await?;
        let mut search =
            VectorSearch::new(&vector).max_results(max_results).min_score(self.min_score);
        search.filter = filter;
        self.store.search(&search).await
    }

    async fn by_text(
        &self,
        query: &Query,
        max_results: usize,
        filter: Option<&Filter>,
    ) -> Result<Vec<SearchMatch>> {
        let mut search = TextSearch::new(query.text()).max_results(max_results);
        search.filter = filter;
        self.store.search_text(&search).await
    }

    async fn by_both(
        &self,
        model: &dyn EmbeddingModel,
        query: &Query,
        filter: Option<&Filter>,
    ) -> Result<Vec<SearchMatch>> {
        let candidates = self.candidates.unwrap_or_else(|| {
            self.max_results.max(EmbeddingStoreContentRetriever::DEFAULT_CANDIDATES)
        });
        let by_vector = self.by_vector(model, query, candidates, filter);
        let by_text = self.by_text(query, candidates, filter);
        let (near, matching) = try_join(by_vector, by_text).await?;
        let fused = reciprocal_rank_fusion(
            [near, matching],
            DEFAULT_K,
            |found, hasher| hasher.hash_one(&found.id),
            |one, other| one.id == other.id,
        );
        let fused = fused.into_iter().take(self.max_results);
        Ok(fused.map(|(found, score)| SearchMatch { score, ..found }).collect())
    }
}

/// The vector of a query.
async fn embed(model: &dyn EmbeddingModel, query: &Query) -> Result<Vec<f32>> {
    let turn = query.turn();
    let outcome = model.embed(&[query.text()], EmbeddingPurpose::Query).await;
    let Embeddings { vectors, usage, model: answered } = settled(outcome, model.name(), turn)?;
    turn.meter().add(answered.as_deref().unwrap_or(model.name()), usage);
    vectors.into_iter().next().ok_or_else(|| {
        Error::new(ErrorKind::InvalidResponse, "the embedding model returned no vector")
    })
}

#[async_trait]
impl ContentRetriever for EmbeddingStoreContentRetriever {
    async fn retrieve(&self, query: &Query) -> Result<Vec<RetrievedContent>> {
        let parts = &*self.0;
        let filter = match &parts.filter {
            Considered::All => None,
            Considered::Those(filter) => Some(Cow::Borrowed(filter)),
            Considered::By(of) => match of(query) {
                Some(filter) => Some(Cow::Owned(filter)),
                None => return Ok(Vec::new()),
            },
        };
        let filter = filter.as_deref();
        let found = match &parts.search {
            Search::Vector(model) => {
                parts.by_vector(&**model, query, parts.max_results, filter).await?
            }
            Search::Text => parts.by_text(query, parts.max_results, filter).await?,
            Search::Hybrid(model) => parts.by_both(&**model, query, filter).await?,
        };
        Ok(found.into_iter().map(RetrievedContent::from).collect())
    }
}

impl Search {
    fn mode(&self) -> SearchMode {
        match self {
            Self::Vector(_) => SearchMode::Vector,
            Self::Text => SearchMode::Text,
            Self::Hybrid(_) => SearchMode::Hybrid,
        }
    }
}

impl fmt::Debug for EmbeddingStoreContentRetriever {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddingStoreContentRetriever")
            .field("mode", &self.0.search.mode())
            .field("max_results", &self.0.max_results)
            .field("min_score", &self.0.min_score)
            .finish_non_exhaustive()
    }
}
