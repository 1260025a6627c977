//! Routing queries to retrievers.

mod choice_parsing;
mod language_model;

pub use language_model::{
    LanguageModelQueryRouter, LanguageModelQueryRouterBuilder, RoutingFallback,
};

use super::{Query, QueryRouter, Route};
use crate::error::Result;
use async_trait::async_trait;

/// A query router that sends every query to all routes, in order.
///
/// # Examples
///
/// ```
/// use ai_services::rag::{DefaultQueryRouter, Query, RetrievedContent, Route};
///
/// let retriever = |_: Query| async { Ok(vec![RetrievedContent::from("Bananas are berries.")]) };
/// let router = DefaultQueryRouter::new([Route::new(retriever).name("fruit")]);
/// # let _ = router;
/// ```
#[derive(Clone, Debug, Default)]
pub struct DefaultQueryRouter(Vec<Route>);

impl DefaultQueryRouter {
    /// Creates a router to these routes.
    #[must_use]
    pub fn new(routes: impl IntoIterator<Item = Route>) -> Self {
        Self(routes.into_iter().collect())
    }
}

#[async_trait]
impl QueryRouter for DefaultQueryRouter {
    async fn route(&self, _query: &Query) -> Result<Vec<Route>> {
        Ok(self.0.clone())
    }
}
