//! Re-ranking by a scoring model.

use super::{ContentAggregator, ReciprocalRankFusion};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Scores, ScoringModel};
use crate::rag::metering::meter_error;
use crate::rag::{Query, RetrievedContent};
use async_trait::async_trait;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// An aggregator that orders contents by the score that a scoring model assigns for the question.
///
/// The contents are first merged by [`ReciprocalRankFusion`], then all of them are scored against one text:
/// the user's message, regardless of the queries made from it. Contents keep their metadata and ids, and get
/// the model's scores. Contents with equal scores stay in the order of the fusion; contents whose score is
/// NaN come last. Without contents, the model is not called.
///
/// # Errors
///
/// Returns the errors of the model, and [`ErrorKind::InvalidResponse`] if the number of scores differs from
/// the number of texts.
///
/// # Examples
///
/// ```
/// use ai_services::model::{Scores, ScoringModel};
/// use ai_services::rag::{DefaultRetrievalAugmentor, Query, ReRankingContentAggregator, RetrievedContent};
///
/// /// Prefers short texts.
/// struct Brevity;
///
/// #[ai_services::async_trait]
/// impl ScoringModel for Brevity {
///     async fn score(&self, _query: &str, texts: &[&str]) -> ai_services::Result<Scores> {
///         Ok(Scores::new(texts.iter().map(|text| 1.0 / text.len() as f64)))
///     }
/// }
///
/// # fn main() -> ai_services::Result<()> {
/// let aggregator = ReRankingContentAggregator::builder(Brevity).min_score(0.1).max_results(5).build()?;
/// let augmentor = DefaultRetrievalAugmentor::builder()
///     .content_retriever(|_: Query| async { Ok(vec![RetrievedContent::from("Tea."), "Coffee.".into()]) })
///     .content_aggregator(aggregator)
///     .build()?;
/// # let _ = augmentor;
/// # Ok(())
/// # }
/// ```
///
/// # Differences from LangChain4j
///
/// There, several queries are an error unless a selector chooses one of them, and metadata is lost.
#[derive(Clone)]
pub struct ReRankingContentAggregator {
    model: Arc<dyn ScoringModel>,
    fusion: ReciprocalRankFusion,
    min_score: Option<f64>,
    max_results: usize,
    selector: Option<Arc<Selector>>,
}

type Selector = dyn Fn(&[Query]) -> Query + Send + Sync;

impl ReRankingContentAggregator {
    /// Creates an aggregator that keeps all contents.
    #[must_use]
    pub fn new(model: impl ScoringModel + 'static) -> Self {
        Self {
            model: Arc::new(model),
            fusion: ReciprocalRankFusion::new(),
            min_score: None,
            max_results: usize::MAX,
            selector: None,
        }
    }

    /// Starts building an aggregator.
    pub fn builder(model: impl ScoringModel + 'static) -> ReRankingContentAggregatorBuilder {
        ReRankingContentAggregatorBuilder(Self::new(model))
    }

    /// Returns the query whose text contents are scored against.
    fn question(&self, queries: &[Query]) -> Option<Query> {
        let first = queries.first()?;
        if let Some(selector) = &self.selector {
            return Some(selector(queries));
        }
        let user_text = first.turn().user_message().joined_text();
        Some(match user_text.filter(|text| !text.trim().is_empty()) {
            Some(text) => first.with_text(text),
            None => first.clone(),
        })
    }

    async fn scores(&self, question: &Query, contents: &[RetrievedContent]) -> Result<Vec<f64>> {
        let texts: Vec<&str> = contents.iter().map(|content| content.segment.text()).collect();
        let outcome = self.model.score(question.text(), &texts).await;
        let Scores { scores, usage, model } =
            meter_error(outcome, self.model.name(), question.turn())?;
        let model = model.as_deref().unwrap_or(self.model.name());
        question.turn().meter().add(model, usage);
        if scores.len() != contents.len() {
            return Err(Error::new(
                ErrorKind::InvalidResponse,
                format!(
                    "the scoring model returned {} scores for {} texts",
                    scores.len(),
                    texts.len()
                ),
            ));
        }
        Ok(scores)
    }
}

#[async_trait]
impl ContentAggregator for ReRankingContentAggregator {
    async fn aggregate(
        &self,
        found: Vec<(Query, Vec<Vec<RetrievedContent>>)>,
    ) -> Result<Vec<RetrievedContent>> {
        let queries: Vec<Query> = found.iter().map(|(query, _)| query.clone()).collect();
        let mut contents = self.fusion.fuse_all(found);
        let Some(question) = self.question(&queries).filter(|_| !contents.is_empty()) else {
            return Ok(contents);
        };
        let scores = self.scores(&question, &contents).await?;
        for (content, score) in contents.iter_mut().zip(scores) {
            content.score = Some(score);
        }
        if let Some(min) = self.min_score {
            contents.retain(|content| content.score.is_some_and(|score| score >= min));
        }
        contents.sort_by(|one, other| best_first(one.score, other.score));
        contents.truncate(self.max_results);
        Ok(contents)
    }
}

/// Orders by descending score. `None` and NaN, whatever its sign, come last.
fn best_first(one: Option<f64>, other: Option<f64>) -> Ordering {
    let number = |score: Option<f64>| score.filter(|score| !score.is_nan());
    match (number(one), number(other)) {
        (Some(one), Some(other)) => other.partial_cmp(&one).unwrap_or(Ordering::Equal),
        (one, other) => other.is_some().cmp(&one.is_some()),
    }
}

impl fmt::Debug for ReRankingContentAggregator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReRankingContentAggregator")
            .field("model", &self.model.name())
            .field("min_score", &self.min_score)
            .field("max_results", &self.max_results)
            .finish_non_exhaustive()
    }
}

/// Builds a [`ReRankingContentAggregator`].
#[derive(Clone, Debug)]
#[must_use]
pub struct ReRankingContentAggregatorBuilder(ReRankingContentAggregator);

impl ReRankingContentAggregatorBuilder {
    /// Drops contents with a lower score, and contents whose score is NaN. Default: no minimum.
    pub fn min_score(mut self, score: f64) -> Self {
        self.0.min_score = Some(score);
        self
    }

    /// Sets the maximum number of contents, of which the best are kept. Default: unlimited.
    pub fn max_results(mut self, max: usize) -> Self {
        self.0.max_results = max;
        self
    }

    /// Sets the fusion that merges the results before they are scored.
    pub fn fusion(mut self, fusion: ReciprocalRankFusion) -> Self {
        self.0.fusion = fusion;
        self
    }

    /// Sets the function that chooses the text to score contents against, in place of the user's message. The
    /// function receives all queries in order, at least one, and returns one of them or a new one.
    pub fn query_selector(
        mut self,
        selector: impl Fn(&[Query]) -> Query + Send + Sync + 'static,
    ) -> Self {
        self.0.selector = Some(Arc::new(selector));
        self
    }

    /// Builds the aggregator.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`] if the maximum number of contents is 0, or if the minimum score
    /// is NaN.
    pub fn build(self) -> Result<ReRankingContentAggregator> {
        if self.0.max_results == 0 {
            return Err(Error::configuration(
                "`max_results` of a re-ranking aggregator must be at least 1",
            ));
        }
        if self.0.min_score.is_some_and(f64::is_nan) {
            return Err(Error::configuration(
                "`min_score` of a re-ranking aggregator must not be NaN",
            ));
        }
        Ok(self.0)
    }
}
