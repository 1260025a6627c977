//! What is searched for.

use crate::error::Result;
use crate::invocation::TurnContext;
use async_trait::async_trait;
use std::sync::Arc;

/// A text that is searched for, and the turn that it is searched for in.
///
/// Cloning is cheap.
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
/// An `async` closure of a [`Query`] is one.
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
