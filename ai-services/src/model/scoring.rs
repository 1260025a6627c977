//! Models that say how well a document answers a question.

use super::TokenUsage;
use crate::error::Result;
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// A model that says how relevant documents are to a query; a re-ranker.
///
/// # Examples
///
/// ```
/// use ai_services::model::{Scores, ScoringModel};
///
/// /// The share of the query's words that a document has.
/// struct Overlap;
///
/// #[ai_services::async_trait]
/// impl ScoringModel for Overlap {
///     async fn score(&self, query: &str, documents: &[&str]) -> ai_services::Result<Scores> {
///         let words: Vec<_> = query.split_whitespace().collect();
///         let shared = |text: &&str| words.iter().filter(|word| text.contains(**word)).count();
///         Ok(Scores::new(documents.iter().map(|text| shared(text) as f64 / words.len() as f64)))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let scores = Overlap.score("green tea", &["tea", "green tea", "coffee"]).await?;
/// assert_eq!(scores.scores, [0.5, 1.0, 0.0]);
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait ScoringModel: Send + Sync {
    /// One score for each document, in the same order. The higher, the more relevant; the range is the
    /// model's own, mostly 0 to 1.
    ///
    /// # Errors
    ///
    /// Whatever keeps the model from answering, and an answer that leaves a document out.
    async fn score(&self, query: &str, documents: &[&str]) -> Result<Scores>;

    /// The name of the model for traces, for example `rerank-v3.5`.
    fn name(&self) -> &str {
        "unknown"
    }
}

// The inner future is handed on as it is: an async function would put it into a second box.
impl<M: ScoringModel + ?Sized> ScoringModel for Arc<M> {
    fn score<'a, 'b, 'c, 'd, 'z>(
        &'a self,
        query: &'b str,
        documents: &'c [&'d str],
    ) -> BoxFuture<'z, Result<Scores>>
    where
        'a: 'z,
        'b: 'z,
        'c: 'z,
        'd: 'z,
        Self: 'z,
    {
        M::score(self, query, documents)
    }

    fn name(&self) -> &str {
        M::name(self)
    }
}

/// How relevant some documents are.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Scores {
    /// One score a document, in the order of the documents.
    pub scores: Vec<f64>,
    /// The tokens they cost, if the provider counts tokens.
    pub usage: TokenUsage,
    /// The model that answered, as the provider names it.
    pub model: Option<Box<str>>,
}

impl Scores {
    /// Scores of which nothing else is known.
    #[must_use]
    pub fn new(scores: impl IntoIterator<Item = f64>) -> Self {
        Self { scores: scores.into_iter().collect(), ..Self::default() }
    }

    /// The same scores with their cost.
    #[must_use]
    pub fn with_usage(mut self, usage: TokenUsage) -> Self {
        self.usage = usage;
        self
    }

    /// The same scores with the name of the model that answered.
    #[must_use]
    pub fn with_model(mut self, model: Option<Box<str>>) -> Self {
        self.model = model;
        self
    }
}
