//! From the question to queries.

mod compressing;
mod expanding;

pub use compressing::{CompressingQueryTransformer, CompressingQueryTransformerBuilder};
pub use expanding::{ExpandingQueryTransformer, ExpandingQueryTransformerBuilder, OriginalQuery};

use super::in_order::in_order;
use super::{Query, QueryTransformer};
use crate::error::Result;
use async_trait::async_trait;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// Searches for the question as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultQueryTransformer;

#[async_trait]
impl QueryTransformer for DefaultQueryTransformer {
    async fn transform(&self, query: &Query) -> Result<Vec<Query>> {
        Ok(vec![query.clone()])
    }
}

/// Several transformers, one after the other.
///
/// Each is given every query of the one before, once for each text and up to 8 at a time. The order is kept:
/// first what was made of the first query. Without transformers a query stays as it is.
///
/// # Examples
///
/// ```
/// use ai_services::rag::{
///     CompressingQueryTransformer, ExpandingQueryTransformer, QueryTransformerChain,
/// };
/// # use ai_services::testing::ScriptedChatModel;
///
/// # let model = ScriptedChatModel::replies([""; 0]);
/// let transformer = QueryTransformerChain::new()
///     .then(CompressingQueryTransformer::new(model.clone()))
///     .then(ExpandingQueryTransformer::new(model));
/// # let _ = transformer;
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct QueryTransformerChain(Vec<Arc<dyn QueryTransformer>>);

impl QueryTransformerChain {
    /// How many queries a transformer is given at a time.
    const MAX_CONCURRENCY: usize = 8;

    /// No transformers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one, behind all others.
    pub fn then(mut self, transformer: impl QueryTransformer + 'static) -> Self {
        self.0.push(Arc::new(transformer));
        self
    }
}

#[async_trait]
impl QueryTransformer for QueryTransformerChain {
    async fn transform(&self, query: &Query) -> Result<Vec<Query>> {
        let mut queries = vec![query.clone()];
        for transformer in &self.0 {
            let mut transforming = Vec::with_capacity(queries.len());
            for query in &queries {
                transforming.push(transformer.transform(query));
            }
            let transformed = in_order(transforming, Self::MAX_CONCURRENCY).await?;
            queries = distinct(transformed.into_iter().flatten().collect());
        }
        Ok(queries)
    }
}

impl fmt::Debug for QueryTransformerChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryTransformerChain")
            .field("transformers", &self.0.len())
            .finish_non_exhaustive()
    }
}

/// The queries without those whose text another one before has.
pub(super) fn distinct(queries: Vec<Query>) -> Vec<Query> {
    let mut seen = HashSet::with_capacity(queries.len());
    queries.into_iter().filter(|query| seen.insert(query.shared_text())).collect()
}
