//! Who searches, and where a query goes.

use super::{Query, RetrievedContent, tool};
use crate::error::Result;
use crate::tool::Tool;
use async_trait::async_trait;
use futures_util::future::{BoxFuture, FutureExt};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Finds texts for a query.
///
/// A closure of a [`Query`] that returns a future is one.
///
/// # Cancellation
///
/// Dropping the future of [`retrieve`](Self::retrieve) ends the search. That happens when its time is over,
/// and when the call is dropped or fails.
///
/// # Examples
///
/// ```
/// use ai_services::message::UserMessage;
/// use ai_services::rag::{ContentRetriever, Query, RetrievedContent};
/// use ai_services::TurnContext;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let retriever = |query: Query| async move {
///     let found = query.text().contains("banana").then_some("Bananas are berries.");
///     Ok(found.into_iter().map(RetrievedContent::from).collect())
/// };
/// let turn = TurnContext::builder(UserMessage::new("Tell me about bananas.")).build();
/// let found = retriever.retrieve(&Query::new("bananas", turn)).await?;
/// assert_eq!(found, [RetrievedContent::from("Bananas are berries.")]);
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot retrieve contents",
    label = "not a content retriever",
    note = "implement `ContentRetriever`, or use a closure such as `|query: Query| async move {{ Ok(search(query.text()).await) }}`"
)]
#[async_trait]
pub trait ContentRetriever: Send + Sync {
    /// What fits the query, best first.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from searching. What happens then is the [`FailurePolicy`] of its route.
    async fn retrieve(&self, query: &Query) -> Result<Vec<RetrievedContent>>;

    /// A tool that searches, for a model that decides itself when and for what.
    ///
    /// It has one argument, `query`. The model is told what was found, numbered and with its metadata, at most
    /// 192 KiB of it, or that nothing was. It is not told the keys that are for the store alone:
    /// [`COLLECTION`](crate::document::key::COLLECTION), [`DIGEST`](crate::document::key::DIGEST) and
    /// [`SEGMENTS`](crate::document::key::SEGMENTS). The turn of the query knows whose call it is and has the
    /// application's data; the message of the user in it is the query itself, and there is no history.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::rag::{ContentRetriever, Query, RetrievedContent};
    ///
    /// let retriever = |_query: Query| async { Ok(vec![RetrievedContent::from("Open 9 to 5.")]) };
    /// let tool = retriever.into_tool("search_faq", "Searches answers to frequent questions.");
    /// assert_eq!(tool.name(), "search_faq"); // for `.tools(tool)`
    /// ```
    fn into_tool(self, name: impl Into<Box<str>>, description: impl Into<Box<str>>) -> Tool
    where
        Self: Sized + 'static,
    {
        tool::of(Arc::new(self), name.into(), description.into())
    }
}

impl<F, Fut> ContentRetriever for F
where
    F: Fn(Query) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Vec<RetrievedContent>>> + Send + 'static,
{
    fn retrieve<'a, 'b, 'z>(
        &'a self,
        query: &'b Query,
    ) -> BoxFuture<'z, Result<Vec<RetrievedContent>>>
    where
        'a: 'z,
        'b: 'z,
        Self: 'z,
    {
        self(query.clone()).boxed()
    }
}

// The inner future is handed on as it is: an async function would put it into a second box.
impl<R: ContentRetriever + ?Sized> ContentRetriever for Arc<R> {
    fn retrieve<'a, 'b, 'z>(
        &'a self,
        query: &'b Query,
    ) -> BoxFuture<'z, Result<Vec<RetrievedContent>>>
    where
        'a: 'z,
        'b: 'z,
        Self: 'z,
    {
        R::retrieve(self, query)
    }
}

/// What happens when a retriever fails, panics or takes too long.
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

impl FailurePolicy {
    /// Another one is asked.
    #[must_use]
    pub fn fallback(route: Route) -> Self {
        Self::Fallback(Box::new(route))
    }
}

/// A retriever, with how long it may take and what happens if it fails.
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

    /// Sets what happens if it fails, panics or takes too long.
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
///
/// A closure of a [`Query`] that returns a future is one.
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
    /// Who is asked, in the order in which their results are put together. Nobody: nothing is found.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from deciding. The call fails then.
    async fn route(&self, query: &Query) -> Result<Vec<Route>>;
}

impl<F, Fut> QueryRouter for F
where
    F: Fn(Query) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Vec<Route>>> + Send + 'static,
{
    fn route<'a, 'b, 'z>(&'a self, query: &'b Query) -> BoxFuture<'z, Result<Vec<Route>>>
    where
        'a: 'z,
        'b: 'z,
        Self: 'z,
    {
        self(query.clone()).boxed()
    }
}

// The inner future is handed on as it is: an async function would put it into a second box.
impl<R: QueryRouter + ?Sized> QueryRouter for Arc<R> {
    fn route<'a, 'b, 'z>(&'a self, query: &'b Query) -> BoxFuture<'z, Result<Vec<Route>>>
    where
        'a: 'z,
        'b: 'z,
        Self: 'z,
    {
        R::route(self, query)
    }
}
