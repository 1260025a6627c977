//! Having a model judge what was found.

use super::{ContentAggregator, ReciprocalRankFusion};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Scores, ScoringModel};
use crate::rag::spending::settled;
use crate::rag::{Query, RetrievedContent};
use async_trait::async_trait;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// Has a scoring model judge how well each content answers the question, and orders them by that.
///
/// What was found is put together by [`ReciprocalRankFusion`] first, then all of it is scored against one text:
/// what the user said, whatever queries were made of it. Contents keep their metadata and ids, and have the
/// model's scores. Equally good ones stay in the order of the fusion; those whose score is not a number come
/// last. If nothing was found, the model is not asked.
///
/// # Errors
///
/// Those of the model, and [`ErrorKind::InvalidResponse`] if it gives another number of scores than it was
/// asked for.
///
/// # Examples
///
/// ```
/// use ai_services::model::{Scores, ScoringModel};
/// use ai_services::rag::{DefaultRetrievalAugmentor, Query, ReRankingContentAggregator, RetrievedContent};
///
/// /// Likes short texts.
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
    /// An aggregator that keeps everything.
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

    /// Starts an aggregator.
    pub fn builder(model: impl ScoringModel + 'static) -> ReRankingContentAggregatorBuilder {
        ReRankingContentAggregatorBuilder(Self::new(model))
    }

    /// The text that contents are judged by.
    fn question(&self, queries: &[Query]) -> Option<Query> {
        let first = queries.first()?;
        if let Some(selector) = &self.selector {
            return Some(selector(queries));
        }
        let said = first.turn().user_message().joined_text();
        Some(match said.filter(|text| !text.trim().is_empty()) {
            Some(said) => first.with_text(said),
            None => first.clone(),
        })
    }

    async fn scores(&self, question: &Query, contents: &[RetrievedContent]) -> Result<Vec<f64>> {
        let texts: Vec<&str> = contents.iter().map(|content| content.segment.text()).collect();
        let outcome = self.model.score(question.text(), &texts).await;
        let Scores { scores, usage, model } = settled(outcome, self.model.name(), question.turn())?;
        let model = model.as_deref().unwrap_or(self.model.name());
        question.turn().meter().add(model, usage);
        match scores.len() == contents.len() {
            true => Ok(scores),
            false => Err(Error::new(
                ErrorKind::InvalidResponse,
                format!("a scoring model gave {} scores for {} texts", scores.len(), texts.len()),
            )),
        }
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

/// What is not a number comes last, whatever its sign.
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
    /// Drops contents with a lower score, and those whose score is not a number. By default all are kept.
    pub fn min_score(mut self, score: f64) -> Self {
        self.0.min_score = Some(score);
        self
    }

    /// Sets how many contents are kept, the best; all by default.
    pub fn max_results(mut self, max: usize) -> Self {
        self.0.max_results = max;
        self
    }

    /// Sets how results are put together before they are scored.
    pub fn fusion(mut self, fusion: ReciprocalRankFusion) -> Self {
        self.0.fusion = fusion;
        self
    }

    /// Sets which text contents are judged by, in place of what the user said. The function is given all queries
    /// in order, at least one, and returns one of them or a new one.
    pub fn query_selector(
        mut self,
        selector: impl Fn(&[Query]) -> Query + Send + Sync + 'static,
    ) -> Self {
        self.0.selector = Some(Arc::new(selector));
        self
    }

    /// The aggregator.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`] if no content is to be kept, and if the minimum score is not a number.
    pub fn build(self) -> Result<ReRankingContentAggregator> {
        if self.0.max_results == 0 {
            return Err(Error::configuration(
                "a re-ranking aggregator has to keep at least one content",
            ));
        }
        if self.0.min_score.is_some_and(f64::is_nan) {
            return Err(Error::configuration(
                "the minimum score of a re-ranking aggregator is not a number",
            ));
        }
        Ok(self.0)
    }
}
