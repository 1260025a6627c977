//! From the results of all queries and retrievers to one list.

mod fusion;
mod reranking;

pub use fusion::ReciprocalRankFusion;
pub use reranking::{ReRankingContentAggregator, ReRankingContentAggregatorBuilder};

use super::{Query, RetrievedContent};
use crate::error::Result;
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// Makes one list of all that was found.
///
/// # Examples
///
/// ```
/// use ai_services::rag::{ContentAggregator, Query, RetrievedContent};
///
/// /// Everything, one list behind the other.
/// struct Concatenation;
///
/// #[ai_services::async_trait]
/// impl ContentAggregator for Concatenation {
///     async fn aggregate(
///         &self,
///         found: Vec<(Query, Vec<Vec<RetrievedContent>>)>,
///     ) -> ai_services::Result<Vec<RetrievedContent>> {
///         Ok(found.into_iter().flat_map(|(_, lists)| lists).flatten().collect())
///     }
/// }
/// ```
#[async_trait]
pub trait ContentAggregator: Send + Sync {
    /// What the model is told, best first. For each query there is one list for each of its routes, best
    /// first as well; lists may be empty.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from judging. The call fails then.
    async fn aggregate(
        &self,
        found: Vec<(Query, Vec<Vec<RetrievedContent>>)>,
    ) -> Result<Vec<RetrievedContent>>;
}

// The inner future is handed on as it is: an async function would put it into a second box.
impl<A: ContentAggregator + ?Sized> ContentAggregator for Arc<A> {
    fn aggregate<'a, 'z>(
        &'a self,
        found: Vec<(Query, Vec<Vec<RetrievedContent>>)>,
    ) -> BoxFuture<'z, Result<Vec<RetrievedContent>>>
    where
        'a: 'z,
        Self: 'z,
    {
        A::aggregate(self, found)
    }
}
