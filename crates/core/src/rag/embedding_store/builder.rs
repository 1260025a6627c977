//! The builder of the embedding store retriever.

use super::{
    EmbeddingStoreContentRetriever, EntryFilter, RetrieverSettings, SearchMode, StoreSearch,
};
use crate::embedding::{EmbeddingModel, EmbeddingStore, Filter};
use crate::error::{Error, Result};
use crate::rag::Query;
use std::fmt;
use std::sync::Arc;

/// Builds an [`EmbeddingStoreContentRetriever`].
#[must_use]
pub struct EmbeddingStoreContentRetrieverBuilder {
    store: Arc<dyn EmbeddingStore>,
    model: Option<Arc<dyn EmbeddingModel>>,
    mode: SearchMode,
    max_results: usize,
    candidates: Option<usize>,
    min_score: f64,
    filter: EntryFilter,
}

impl EmbeddingStoreContentRetrieverBuilder {
    pub(super) fn new(store: Arc<dyn EmbeddingStore>) -> Self {
        Self {
            store,
            model: None,
            mode: SearchMode::default(),
            max_results: EmbeddingStoreContentRetriever::DEFAULT_MAX_RESULTS,
            candidates: None,
            min_score: 0.0,
            filter: EntryFilter::All,
        }
    }

    /// Sets the model that embeds the query. It must be the model that made the vectors in the store.
    pub fn embedding_model(mut self, model: impl EmbeddingModel + 'static) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// Sets the search mode. Default: [`SearchMode::Vector`].
    pub fn mode(mut self, mode: SearchMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets the maximum number of texts. Default: 3.
    pub fn max_results(mut self, max: usize) -> Self {
        self.max_results = max;
        self
    }

    /// Sets the minimum similarity of a vector, between 0 and 1, on the scale of
    /// [`SearchMatch::score`](crate::embedding::SearchMatch::score). Default: 0. Does not apply to the
    /// results of a text search.
    pub fn min_score(mut self, score: f64) -> Self {
        self.min_score = score;
        self
    }

    /// Sets how many entries a hybrid search takes from each of its two searches before it merges them.
    /// Default: 20. At least the maximum number of results.
    pub fn candidates(mut self, candidates: usize) -> Self {
        self.candidates = Some(candidates);
        self
    }

    /// Searches only entries that match the filter.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = EntryFilter::Fixed(filter);
        self
    }

    /// Searches only entries that match the filter of the query. For `None`, the search is skipped and has no
    /// results, so that an unknown user never gets the texts of others; `Filter::All(Vec::new())` matches all
    /// entries. The function can read the memory id and the application's data from the query's
    /// [turn](Query::turn).
    ///
    /// # Differences from LangChain4j
    ///
    /// There, an absent filter matches all entries.
    #[doc(alias = "dynamicFilter")]
    pub fn dynamic_filter(
        mut self,
        filter: impl Fn(&Query) -> Option<Filter> + Send + Sync + 'static,
    ) -> Self {
        self.filter = EntryFilter::PerQuery(Box::new(filter));
        self
    }

    /// Builds the retriever.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if the mode needs an embedding
    /// model and there is none, if the maximum number of results is 0, or if the minimum score is not between
    /// 0 and 1.
    pub fn build(self) -> Result<EmbeddingStoreContentRetriever> {
        let Self { store, model, mode, max_results, candidates, min_score, filter } = self;
        let search = match (mode, model) {
            (SearchMode::Text, _) => StoreSearch::Text,
            (SearchMode::Vector, Some(model)) => StoreSearch::Vector(model),
            (SearchMode::Hybrid, Some(model)) => StoreSearch::Hybrid(model),
            (SearchMode::Vector | SearchMode::Hybrid, None) => {
                return Err(Error::configuration(
                    "a vector search needs an embedding model; call `.embedding_model(...)`",
                ));
            }
        };
        if max_results == 0 {
            return Err(Error::configuration("`max_results` of a retriever must be at least 1"));
        }
        if !(0.0..=1.0).contains(&min_score) {
            return Err(Error::configuration(format!(
                "`min_score` of a retriever must be between 0 and 1, not {min_score}"
            )));
        }
        let candidates = candidates.map(|candidates| candidates.max(max_results));
        Ok(EmbeddingStoreContentRetriever(Arc::new(RetrieverSettings {
            store,
            search,
            max_results,
            candidates,
            min_score,
            filter,
        })))
    }
}

impl fmt::Debug for EmbeddingStoreContentRetrieverBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddingStoreContentRetrieverBuilder")
            .field("mode", &self.mode)
            .field("max_results", &self.max_results)
            .field("min_score", &self.min_score)
            .finish_non_exhaustive()
    }
}
