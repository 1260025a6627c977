//! Transforming the question into queries.

mod compressing;
mod expanding;

pub use compressing::{CompressingQueryTransformer, CompressingQueryTransformerBuilder};
pub use expanding::{ExpandingQueryTransformer, ExpandingQueryTransformerBuilder, OriginalQuery};

use super::ordered_join::join_ordered;
use super::{Query, QueryTransformer};
use crate::error::Result;
use async_trait::async_trait;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// A transformer that searches for the question unchanged.
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultQueryTransformer;

#[async_trait]
impl QueryTransformer for DefaultQueryTransformer {
    async fn transform(&self, query: &Query) -> Result<Vec<Query>> {
        Ok(vec![query.clone()])
    }
}

/// A chain of transformers, applied one after the other.
///
/// Each transformer gets every query of the one before, once per text and up to 8 concurrently. The order is
/// kept: the queries made from the first query come first. An empty chain returns the query unchanged.
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
    /// Limit of concurrent calls to a transformer.
    const MAX_CONCURRENCY: usize = 8;

    /// Creates an empty chain.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a transformer at the end.
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
            let transformed = join_ordered(transforming, Self::MAX_CONCURRENCY).await?;
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

/// Removes the queries whose text equals that of an earlier one.
pub(super) fn distinct(queries: Vec<Query>) -> Vec<Query> {
    let mut seen = HashSet::with_capacity(queries.len());
    queries.into_iter().filter(|query| seen.insert(query.shared_text())).collect()
}
