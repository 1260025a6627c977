//! What is searched for.

use crate::error::Result;
use crate::invocation::TurnContext;
use async_trait::async_trait;
use futures_util::future::{BoxFuture, FutureExt};
use std::sync::Arc;

/// A text that is searched for, and the turn that it is searched for in.
///
/// Cloning is cheap.
///
/// # Examples
///
/// ```
/// use ai_services::TurnContext;
/// use ai_services::message::UserMessage;
/// use ai_services::rag::Query;
///
/// let turn = TurnContext::builder(UserMessage::new("Is it ripe, the banana?")).build();
/// let query = Query::new("ripe banana", turn);
/// assert_eq!(query.with_text("green banana").turn().user_message(), query.turn().user_message());
/// ```
#[derive(Clone, Debug)]
pub struct Query {
    text: Arc<str>,
    turn: TurnContext,
}

impl Query {
    /// A query.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>, turn: TurnContext) -> Self {
        Self { text: text.into(), turn }
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text, shared.
    pub(super) fn shared_text(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// The turn that it is searched for in: what the user said, who it was, what was said before.
    #[must_use]
    pub fn turn(&self) -> &TurnContext {
        &self.turn
    }

    /// Another text in the same turn.
    #[must_use]
    pub fn with_text(&self, text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), turn: self.turn.clone() }
    }
}

/// Makes of what the user said what is searched for.
///
/// A closure of a [`Query`] that returns a future is one.
///
/// # Examples
///
/// ```
/// use ai_services::rag::{DefaultRetrievalAugmentor, Query, RetrievedContent};
///
/// # fn main() -> ai_services::Result<()> {
/// let augmentor = DefaultRetrievalAugmentor::builder()
///     .query_transformer(|query: Query| async move {
///         let lower = query.text().to_lowercase();
///         Ok(vec![query.with_text(lower)])
///     })
///     .content_retriever(|_query: Query| async { Ok(vec![RetrievedContent::from("…")]) })
///     .build()?;
/// # let _ = augmentor;
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot transform queries",
    label = "not a query transformer",
    note = "implement `QueryTransformer`, or use a closure such as `|query: Query| async move {{ Ok(vec![query]) }}`"
)]
#[async_trait]
pub trait QueryTransformer: Send + Sync {
    /// The queries to be searched for, in the order in which their results are put together. None: nothing
    /// is searched for.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from making them. The call fails then.
    async fn transform(&self, query: &Query) -> Result<Vec<Query>>;
}

impl<F, Fut> QueryTransformer for F
where
    F: Fn(Query) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Vec<Query>>> + Send + 'static,
{
    fn transform<'a, 'b, 'z>(&'a self, query: &'b Query) -> BoxFuture<'z, Result<Vec<Query>>>
    where
        'a: 'z,
        'b: 'z,
        Self: 'z,
    {
        self(query.clone()).boxed()
    }
}

// The inner future is handed on as it is: an async function would put it into a second box.
impl<T: QueryTransformer + ?Sized> QueryTransformer for Arc<T> {
    fn transform<'a, 'b, 'z>(&'a self, query: &'b Query) -> BoxFuture<'z, Result<Vec<Query>>>
    where
        'a: 'z,
        'b: 'z,
        Self: 'z,
    {
        T::transform(self, query)
    }
}
