//! Search queries.

use crate::error::Result;
use crate::forward::forward_through_arc;
use crate::invocation::TurnContext;
use async_trait::async_trait;
use std::sync::Arc;

/// A text to search for, and the turn that it belongs to.
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
    /// Creates a query.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>, turn: TurnContext) -> Self {
        Self { text: text.into(), turn }
    }

    /// Returns the text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text without copying it.
    pub(super) fn shared_text(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// Returns the turn that the query belongs to: the user's message, the memory id, earlier messages.
    #[must_use]
    pub fn turn(&self) -> &TurnContext {
        &self.turn
    }

    /// Creates a query with another text in this turn.
    #[must_use]
    pub fn with_text(&self, text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), turn: self.turn.clone() }
    }
}

/// Transforms the text of a user message into search queries.
///
/// A closure that takes a [`Query`] and returns a future implements this trait.
///
/// Implementations carry `#[ai_services::async_trait]`. Without it, the compiler reports that "lifetime
/// parameters or bounds on method … do not match the trait declaration".
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
    /// Returns the queries to search for. Their results are merged in this order. An empty list skips the
    /// search.
    ///
    /// # Errors
    ///
    /// Return an error if the queries cannot be made; the call then fails.
    async fn transform(&self, query: &Query) -> Result<Vec<Query>>;
}

#[async_trait]
impl<F, Fut> QueryTransformer for F
where
    F: Fn(Query) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Vec<Query>>> + Send + 'static,
{
    async fn transform(&self, query: &Query) -> Result<Vec<Query>> {
        self(query.clone()).await
    }
}

forward_through_arc! {
    QueryTransformer {
        async fn transform<'a, 'b>(&'a self, query: &'b Query) -> Result<Vec<Query>>;
    }
}
