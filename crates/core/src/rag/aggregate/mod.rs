//! Merging the results of all queries and retrievers into one list.

mod fusion;
mod reranking;

pub use fusion::ReciprocalRankFusion;
pub use reranking::{ReRankingContentAggregator, ReRankingContentAggregatorBuilder};

use super::{Query, RetrievedContent};
use crate::error::Result;
use crate::forward::forward_through_arc;
use async_trait::async_trait;

/// Merges the contents of all queries and retrievers into one list.
///
/// Implementations carry `#[ai_services::async_trait]`. Without it, the compiler reports that "lifetime
/// parameters or bounds on method … do not match the trait declaration".
///
/// # Examples
///
/// ```
/// use ai_services::rag::{ContentAggregator, Query, RetrievedContent};
///
/// /// All contents, one list after the other.
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
    /// Returns the contents for the prompt, best first. `found` has one list per route for each query, also
    /// best first. Lists may be empty.
    ///
    /// # Errors
    ///
    /// Return an error if the contents cannot be ranked; the call then fails.
    async fn aggregate(
        &self,
        found: Vec<(Query, Vec<Vec<RetrievedContent>>)>,
    ) -> Result<Vec<RetrievedContent>>;
}

forward_through_arc! {
    ContentAggregator {
        async fn aggregate<'a>(
            &'a self,
            found: Vec<(Query, Vec<Vec<RetrievedContent>>)>,
        ) -> Result<Vec<RetrievedContent>>;
    }
}
