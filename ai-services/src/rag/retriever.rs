//! Who searches, and where a query goes.

use super::{Query, RetrievedContent};
use crate::error::Result;
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Finds texts for a query. An `async` closure of a [`Query`] is one.
#[async_trait]
pub trait ContentRetriever: Send + Sync {
    /// What fits the query, best first.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from searching. What happens then is the [`FailurePolicy`] of its route.
    async fn retrieve(&self, query: &Query) -> Result<Vec<RetrievedContent>>;
}

/// What happens when a retriever fails or takes too long.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum FailurePolicy {
    /// The call fails.
    #[default]
    Fail,
    /// It goes on without what would have been found, and says so: to listeners, in a trace, in
    /// [`Retrieved::skipped`](super::Retrieved::skipped).
    Skip,
    /// Another one is asked, within its own time and by its own policy.
    Fallback(Box<Route>),
}

/// A retriever, with how long it may take and what happens if it fails.
#[derive(Clone)]
#[must_use]
pub struct Route {
    pub(super) retriever: Arc<dyn ContentRetriever>,
    pub(super) name: Box<str>,
    pub(super) timeout: Duration,
    pub(super) on_failure: FailurePolicy,
}

impl Route {
    /// How long a retriever may take by default.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

    /// A route to a retriever, which may take 30 seconds and must not fail.
    pub fn new(retriever: impl ContentRetriever + 'static) -> Self {
        Self {
            retriever: Arc::new(retriever),
            name: "retriever".into(),
            timeout: Self::DEFAULT_TIMEOUT,
            on_failure: FailurePolicy::default(),
        }
    }

    /// Sets the name in warnings and traces.
    pub fn name(mut self, name: impl Into<Box<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets how long it may take.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets what happens if it fails or takes too long.
    pub fn on_failure(mut self, policy: FailurePolicy) -> Self {
        self.on_failure = policy;
        self
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Route")
            .field("name", &self.name)
            .field("timeout", &self.timeout)
            .field("on_failure", &self.on_failure)
            .finish_non_exhaustive()
    }
}

/// Decides who is asked for a query.
#[async_trait]
pub trait QueryRouter: Send + Sync {
    /// Who is asked, in the order in which their results are put together. Nobody: nothing is found.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from deciding. The call fails then.
    async fn route(&self, query: &Query) -> Result<Vec<Route>>;
}
