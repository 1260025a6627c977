//! Building a retriever from an embedding store.

use super::{Considered, EmbeddingStoreContentRetriever, Parts, Search, SearchMode};
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
    filter: Considered,
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
            filter: Considered::All,
        }
    }

    /// Sets the model that makes the vector of a query: the one that made those in the store.
    pub fn embedding_model(mut self, model: impl EmbeddingModel + 'static) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// Sets how is searched; by vectors if not.
    pub fn mode(mut self, mode: SearchMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets how many texts are found at most; 3 by default.
    pub fn max_results(mut self, max: usize) -> Self {
        self.max_results = max;
        self
    }

    /// Sets how near a vector has to be, between 0 and 1, in the measure of
    /// [`SearchMatch::score`](crate::embedding::SearchMatch::score); 0 by default. It makes no difference to
    /// what is found by words.
    pub fn min_score(mut self, score: f64) -> Self {
        self.min_score = score;
        self
    }

    /// Sets how many entries a hybrid search takes from each of its two searches before it puts them together; at
    /// least as many as results are wanted, and 20 by default.
    pub fn candidates(mut self, candidates: usize) -> Self {
        self.candidates = Some(candidates);
        self
    }

    /// Considers only entries that the filter accepts.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = Considered::Those(filter);
        self
    }

    /// Considers only entries that the filter of the query accepts. For `None` nothing is searched and nothing
    /// found, so that whoever is not known is not shown what belongs to others; all entries are accepted by
    /// `Filter::All(Vec::new())`. The function sees whose call it is and the application's data in the query's
    /// [turn](Query::turn).
    ///
    /// # Differences from LangChain4j
    ///
    /// There, no filter is one that accepts all.
    #[doc(alias = "dynamicFilter")]
    pub fn filter_by(
        mut self,
        filter: impl Fn(&Query) -> Option<Filter> + Send + Sync + 'static,
    ) -> Self {
        self.filter = Considered::By(Box::new(filter));
        self
    }

    /// The retriever.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if there is no embedding model and the mode
    /// needs one, if no results are wanted, and if the minimum score is not between 0 and 1.
    pub fn build(self) -> Result<EmbeddingStoreContentRetriever> {
        let Self { store, model, mode, max_results, candidates, min_score, filter } = self;
        let search = match (mode, model) {
            (SearchMode::Text, _) => Search::Text,
            (SearchMode::Vector, Some(model)) => Search::Vector(model),
            (SearchMode::Hybrid, Some(model)) => Search::Hybrid(model),
            (SearchMode::Vector | SearchMode::Hybrid, None) => {
                return Err(Error::configuration(
                    "a search by vectors needs a model that makes them; call \
                     `.embedding_model(...)`",
                ));
            }
        };
        if max_results == 0 {
            return Err(Error::configuration("a retriever has to find at least one text"));
        }
        if !(0.0..=1.0).contains(&min_score) {
            return Err(Error::configuration(format!(
                "the minimum score of a retriever is between 0 and 1, not {min_score}"
            )));
        }
        let candidates = candidates.map(|candidates| candidates.max(max_results));
        Ok(EmbeddingStoreContentRetriever(Arc::new(Parts {
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
