//! Routes of queries to retrievers.

use super::{ContentRetriever, Query};
use crate::error::Result;
use crate::forward::forward_through_arc;
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Reaction to a retriever that fails, panics or times out.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum FailurePolicy {
    /// The call fails.
    #[default]
    Fail,
    /// Continues without the results of the retriever. The failure is reported to listeners, in a trace and
    /// in [`Retrieved::skipped`](super::Retrieved::skipped).
    Skip,
    /// Queries another retriever, with its own timeout and failure policy.
    Fallback(Box<Route>),
}

impl FailurePolicy {
    /// Queries another retriever instead.
    #[must_use]
    pub fn fallback(route: Route) -> Self {
        Self::Fallback(Box::new(route))
    }
}

/// A retriever with its timeout and its failure policy.
///
/// # Examples
///
/// ```
/// use ai_services::rag::{FailurePolicy, Query, RetrievedContent, Route};
/// use std::time::Duration;
///
/// # let (web, local) = (|_: Query| async { Ok(Vec::new()) }, |_: Query| async { Ok(Vec::new()) });
/// let local = Route::new(local).name("local").on_failure(FailurePolicy::Skip);
/// let web = Route::new(web)
///     .name("web")
///     .timeout(Duration::from_secs(5))
///     .on_failure(FailurePolicy::fallback(local));
/// # let _ = web;
/// ```
#[derive(Clone)]
#[must_use]
pub struct Route {
    pub(super) retriever: Arc<dyn ContentRetriever>,
    pub(super) name: Box<str>,
    pub(super) timeout: Duration,
    pub(super) on_failure: FailurePolicy,
}

impl Route {
    /// Default time limit of a retriever: 30 seconds.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

    /// Creates a route to a retriever with the defaults: times out after 30 seconds, and fails the call on
    /// error.
    pub fn new(retriever: impl ContentRetriever + 'static) -> Self {
        Self {
            retriever: Arc::new(retriever),
            name: "retriever".into(),
            timeout: Self::DEFAULT_TIMEOUT,
            on_failure: FailurePolicy::default(),
        }
    }

    /// Sets the name for errors, warnings and traces. Default: `retriever`.
    pub fn name(mut self, name: impl Into<Box<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the time limit of the retriever. Default: 30 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the reaction to an error, a panic or a timeout. Default: [`FailurePolicy::Fail`].
    pub fn on_failure(mut self, policy: FailurePolicy) -> Self {
        self.on_failure = policy;
        self
    }
}

/// A route with the defaults.
impl<R: ContentRetriever + 'static> From<R> for Route {
    fn from(retriever: R) -> Self {
        Self::new(retriever)
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

/// Chooses the retrievers of a query.
///
/// A closure that takes a [`Query`] and returns a future implements this trait.
///
/// Implementations carry `#[ai_services::async_trait]`. Without it, the compiler reports that "lifetime
/// parameters or bounds on method … do not match the trait declaration".
///
/// # Examples
///
/// ```
/// use ai_services::rag::{DefaultRetrievalAugmentor, Query, RetrievedContent, Route};
///
/// # fn main() -> ai_services::Result<()> {
/// let fruit = Route::new(|_: Query| async { Ok(vec![RetrievedContent::from("Bananas are berries.")]) });
/// let augmentor = DefaultRetrievalAugmentor::builder()
///     .query_router(move |query: Query| {
///         let routes = if query.text().contains("fruit") { vec![fruit.clone()] } else { Vec::new() };
///         async { Ok(routes) }
///     })
///     .build()?;
/// # let _ = augmentor;
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot route queries",
    label = "not a query router",
    note = "implement `QueryRouter`, or use a closure such as `|query: Query| async move {{ Ok(routes) }}`"
)]
#[async_trait]
pub trait QueryRouter: Send + Sync {
    /// Returns the routes to query. Their results are merged in this order. An empty list skips the search.
    ///
    /// # Errors
    ///
    /// Return an error if no decision can be made; the call then fails.
    async fn route(&self, query: &Query) -> Result<Vec<Route>>;
}

#[async_trait]
impl<F, Fut> QueryRouter for F
where
    F: Fn(Query) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Vec<Route>>> + Send + 'static,
{
    async fn route(&self, query: &Query) -> Result<Vec<Route>> {
        self(query.clone()).await
    }
}

forward_through_arc! {
    QueryRouter {
        async fn route<'a, 'b>(&'a self, query: &'b Query) -> Result<Vec<Route>>;
    }
}
