//! Models that score documents by their relevance to a query.

use super::TokenUsage;
use crate::error::Result;
use crate::forward::forward_through_arc;
use async_trait::async_trait;

/// A model that scores how relevant documents are to a query (a re-ranker).
///
/// Implementations carry `#[ai_services::async_trait]`. Without it, the compiler reports that "lifetime
/// parameters or bounds on method … do not match the trait declaration".
///
/// # Examples
///
/// ```
/// use ai_services::model::{Scores, ScoringModel};
///
/// /// Scores a document by the share of the query's words that it contains.
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
    /// Returns one score for each document, in the same order. A higher score means more relevant.
    /// The range depends on the model and is usually 0 to 1.
    ///
    /// # Errors
    ///
    /// Fails if the model does not answer, or leaves out a document.
    async fn score(&self, query: &str, documents: &[&str]) -> Result<Scores>;

    /// Returns the name of the model for traces, for example `rerank-v3.5`.
    fn name(&self) -> &str {
        "unknown"
    }
}

forward_through_arc! {
    ScoringModel {
        async fn score<'a, 'b, 'c, 'd>(
            &'a self,
            query: &'b str,
            documents: &'c [&'d str],
        ) -> Result<Scores>;
        fn name(&self) -> &str;
    }
}

/// The relevance scores of some documents.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Scores {
    /// One score for each document, in the order of the documents.
    pub scores: Vec<f64>,
    /// The tokens used, if the provider counts tokens.
    pub usage: TokenUsage,
    /// The name of the model that answered, as reported by the provider.
    pub model: Option<Box<str>>,
}

impl Scores {
    /// Creates a result with only the scores.
    #[must_use]
    pub fn new(scores: impl IntoIterator<Item = f64>) -> Self {
        Self { scores: scores.into_iter().collect(), ..Self::default() }
    }

    /// Sets the token usage.
    #[must_use]
    pub fn with_usage(mut self, usage: TokenUsage) -> Self {
        self.usage = usage;
        self
    }

    /// Sets the name of the model that answered.
    #[must_use]
    pub fn with_model(mut self, model: Option<Box<str>>) -> Self {
        self.model = model;
        self
    }
}
