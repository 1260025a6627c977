//! A content retriever for embedding stores.

mod builder;

pub use builder::EmbeddingStoreContentRetrieverBuilder;

use super::metering::meter_error;
use super::{ContentRetriever, Query, RetrievedContent};
use crate::embedding::{
    DEFAULT_K, EmbeddingModel, EmbeddingPurpose, EmbeddingStore, Embeddings, Filter, SearchMatch,
    TextSearch, VectorSearch, reciprocal_rank_fusion,
};
use crate::error::{Error, ErrorKind, Result};
use crate::trace;
use async_trait::async_trait;
use futures_util::future::try_join;
use std::borrow::Cow;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;

/// Retrieves the texts of an embedding store that fit a query.
///
/// By default, returns the 3 texts whose vectors are nearest to that of the query. For other searches, see
/// [`SearchMode`].
///
/// # Errors
///
/// Returns the errors of the embedding model and of the store, for example if the vectors of the model and
/// those in the store have different lengths.
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
///         // Customers must not see each other's documents. A query without a memory id has no results.
///         .dynamic_filter(|query: &Query| {
///             let customer = query.turn().memory_id()?;
///             Some(Filter::key("customer").is(customer.as_str()))
///         })
///         .build()
/// }
/// ```
#[derive(Clone)]
pub struct EmbeddingStoreContentRetriever(Arc<RetrieverSettings>);

struct RetrieverSettings {
    store: Arc<dyn EmbeddingStore>,
    search: StoreSearch,
    max_results: usize,
    candidates: Option<usize>,
    min_score: f64,
    filter: EntryFilter,
}

/// Search mode of an [`EmbeddingStoreContentRetriever`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SearchMode {
    /// Vector search: the entries whose vectors are nearest to that of the query.
    #[default]
    Vector,
    /// Text search: the entries that contain the words of the query. Needs a store with full-text search, but
    /// no embedding model.
    Text,
    /// Both searches concurrently, merged by reciprocal rank fusion with `k` = 60. Entries of both searches
    /// come first. Names and numbers are found even if they are meaningless to the embedding model. Scores
    /// are those of the fusion.
    Hybrid,
}

/// A search mode with its embedding model.
enum StoreSearch {
    Vector(Arc<dyn EmbeddingModel>),
    Text,
    Hybrid(Arc<dyn EmbeddingModel>),
}

/// Restriction of the searched entries.
enum EntryFilter {
    All,
    Fixed(Filter),
    PerQuery(Box<FilterFn>),
}

type FilterFn = dyn Fn(&Query) -> Option<Filter> + Send + Sync;

impl EmbeddingStoreContentRetriever {
    /// Default maximum number of texts: 3.
    pub const DEFAULT_MAX_RESULTS: usize = 3;

    /// Default number of entries that a hybrid search takes from each of its searches: 20, or the maximum
    /// number of results if that is larger.
    pub const DEFAULT_CANDIDATES: usize = 20;

    /// Starts building a retriever.
    pub fn builder(store: impl EmbeddingStore + 'static) -> EmbeddingStoreContentRetrieverBuilder {
        EmbeddingStoreContentRetrieverBuilder::new(Arc::new(store))
    }
}

impl RetrieverSettings {
    async fn vector_matches(
        &self,
        model: &dyn EmbeddingModel,
        query: &Query,
        max_results: usize,
        filter: Option<&Filter>,
    ) -> Result<Vec<SearchMatch>> {
        let vector = embed(model, query).await?;
        // A model that recognizes no word of the query. The vector has no direction to search in.
        if !vector.is_empty() && vector.iter().all(|number| *number == 0.0) {
            return Ok(Vec::new());
        }
        let mut search =
            VectorSearch::new(&vector).max_results(max_results).min_score(self.min_score);
        search.filter = filter;
        self.store.search(&search).await
    }

    async fn text_matches(
        &self,
        query: &Query,
        max_results: usize,
        filter: Option<&Filter>,
    ) -> Result<Vec<SearchMatch>> {
        let mut search = TextSearch::new(query.text()).max_results(max_results);
        search.filter = filter;
        self.store.search_text(&search).await
    }

    async fn hybrid_matches(
        &self,
        model: &dyn EmbeddingModel,
        query: &Query,
        filter: Option<&Filter>,
    ) -> Result<Vec<SearchMatch>> {
        let candidates = self.candidates.unwrap_or_else(|| {
            self.max_results.max(EmbeddingStoreContentRetriever::DEFAULT_CANDIDATES)
        });
        let by_vector = self.vector_matches(model, query, candidates, filter);
        let by_text = self.text_matches(query, candidates, filter);
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

/// Embeds a query.
async fn embed(model: &dyn EmbeddingModel, query: &Query) -> Result<Vec<f32>> {
    let turn = query.turn();
    let outcome = trace::embed(model, &[query.text()], EmbeddingPurpose::Query).await;
    let Embeddings { vectors, usage, model: answered } = meter_error(outcome, model.name(), turn)?;
    turn.meter().add(answered.as_deref().unwrap_or(model.name()), usage);
    vectors.into_iter().next().ok_or_else(|| {
        Error::new(ErrorKind::InvalidResponse, "the embedding model returned no vector")
    })
}

#[async_trait]
impl ContentRetriever for EmbeddingStoreContentRetriever {
    async fn retrieve(&self, query: &Query) -> Result<Vec<RetrievedContent>> {
        let settings = &*self.0;
        if query.text().trim().is_empty() {
            return Ok(Vec::new());
        }
        let filter = match &settings.filter {
            EntryFilter::All => None,
            EntryFilter::Fixed(filter) => Some(Cow::Borrowed(filter)),
            EntryFilter::PerQuery(filter) => match filter(query) {
                Some(filter) => Some(Cow::Owned(filter)),
                None => return Ok(Vec::new()),
            },
        };
        let filter = filter.as_deref();
        let found = match &settings.search {
            StoreSearch::Vector(model) => {
                settings.vector_matches(&**model, query, settings.max_results, filter).await?
            }
            StoreSearch::Text => settings.text_matches(query, settings.max_results, filter).await?,
            StoreSearch::Hybrid(model) => settings.hybrid_matches(&**model, query, filter).await?,
        };
        Ok(found.into_iter().map(RetrievedContent::from).collect())
    }
}

impl StoreSearch {
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
