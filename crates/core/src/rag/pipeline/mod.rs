//! The default augmentor, composed of replaceable stages.

mod builder;
mod search;

pub use builder::DefaultRetrievalAugmentorBuilder;

use super::transform::distinct;
use super::{
    ContentAggregator, ContentInjector, DefaultContentInjector, DefaultQueryRouter,
    DefaultQueryTransformer, Query, QueryRouter, QueryTransformer, ReciprocalRankFusion,
    RetrievalAugmentor, Retrieved, RetrievedContent, Route,
};
use crate::error::Result;
use crate::invocation::TurnContext;
use crate::message::UserMessage;
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;

/// Retrieval in five replaceable steps.
///
/// | step | default | setter |
/// |---|---|---|
/// | transform the question into queries | the question, unchanged | [`query_transformer`](DefaultRetrievalAugmentorBuilder::query_transformer) |
/// | choose the retrievers of each query | all routes | [`query_router`](DefaultRetrievalAugmentorBuilder::query_router) |
/// | retrieve | time limit of 30 s; an error fails the call | [`content_retriever`](DefaultRetrievalAugmentorBuilder::content_retriever) |
/// | merge the results | [`ReciprocalRankFusion`] | [`content_aggregator`](DefaultRetrievalAugmentorBuilder::content_aggregator) |
/// | add the contents to the message | [`DefaultContentInjector`] | [`content_injector`](DefaultRetrievalAugmentorBuilder::content_injector) |
///
/// The question is the text of the user's message; several texts are joined by line breaks. A message without
/// text, for example an image, is not a question: the search is skipped without an error. Queries with equal
/// texts are searched for once, at the place of the first. Blank queries are dropped.
///
/// All queries are sent to all their routes concurrently, up to
/// [`max_concurrency`](DefaultRetrievalAugmentorBuilder::max_concurrency). Results are merged in the order of
/// the queries and of their routes, regardless of which retriever answers first.
///
/// The prompt gets at most [`max_contents`](DefaultRetrievalAugmentorBuilder::max_contents) of the merged
/// contents, with at most [`max_text_bytes`](DefaultRetrievalAugmentorBuilder::max_text_bytes) of text in
/// total. Both limits guard against accidents and are far above the context of most models.
///
/// # Errors
///
/// Returns the errors of the parts. The error of a retriever cancels the others unless the
/// [policy](super::FailurePolicy) of its route says otherwise; its message names the route. A retriever that
/// times out fails with [`ErrorKind::Timeout`](crate::ErrorKind::Timeout), a retriever that panics with
/// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable). A panic of another part is not caught.
///
/// # Cancellation
///
/// Dropping the future cancels all searches. No task runs in the background.
///
/// # Examples
///
/// ```
/// use ai_services::TurnContext;
/// use ai_services::message::UserMessage;
/// use ai_services::rag::{
///     DefaultRetrievalAugmentor, FailurePolicy, Query, RetrievalAugmentor, RetrievedContent, Route,
/// };
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let manual = |_: Query| async { Ok(vec![RetrievedContent::from("Bananas are berries.")]) };
/// let forum = |_: Query| async { Err(ai_services::Error::new(ai_services::ErrorKind::Unavailable, "down")) };
///
/// let augmentor = DefaultRetrievalAugmentor::builder()
///     .content_retriever(manual)
///     .content_retriever(
///         Route::new(forum)
///             .name("forum")
///             .timeout(Duration::from_secs(3))
///             .on_failure(FailurePolicy::Skip),
///     )
///     .build()?;
///
/// // An AI service does the rest itself.
/// let message = UserMessage::new("What are bananas?");
/// let turn = TurnContext::builder(message.clone()).build();
/// let retrieved = augmentor.retrieve(&turn).await?;
/// assert_eq!(&*retrieved.skipped[0].route, "forum");
/// let told = augmentor.inject(&message, &retrieved.contents)?;
/// assert_eq!(
///     told.text(),
///     Some("What are bananas?\n\nAnswer using the following information:\nBananas are berries.")
/// );
/// # Ok(())
/// # }
/// ```
///
/// # Differences from LangChain4j
///
/// There, one failing retriever fails the call, searches have no time limit, several queries are merged in an
/// arbitrary order, equal queries are searched for twice, and a message that is not a single text is an
/// error.
#[derive(Clone)]
pub struct DefaultRetrievalAugmentor(Arc<Stages>);

struct Stages {
    transformer: Box<dyn QueryTransformer>,
    router: Box<dyn QueryRouter>,
    aggregator: Box<dyn ContentAggregator>,
    injector: Box<dyn ContentInjector>,
    max_concurrency: usize,
    limits: ContentLimits,
}

/// Limits of the contents in the prompt.
#[derive(Clone, Copy, Debug)]
struct ContentLimits {
    contents: usize,
    text_bytes: usize,
}

impl DefaultRetrievalAugmentor {
    /// Default limit of concurrent retrievers: 8.
    pub const DEFAULT_MAX_CONCURRENCY: usize = 8;

    /// Default maximum number of contents in the prompt: 1,000.
    pub const DEFAULT_MAX_CONTENTS: usize = 1000;

    /// Default size limit of the texts of all contents together: 4 MiB.
    pub const DEFAULT_MAX_TEXT_BYTES: usize = 4 << 20;

    /// Starts building an augmentor.
    pub fn builder() -> DefaultRetrievalAugmentorBuilder {
        DefaultRetrievalAugmentorBuilder::new()
    }

    /// Creates an augmentor with one retriever or [`Route`], and defaults for all other parts.
    #[must_use]
    pub fn from_retriever(retriever: impl Into<Route>) -> Self {
        Self(Arc::new(Stages {
            transformer: Box::new(DefaultQueryTransformer),
            router: Box::new(DefaultQueryRouter::new([retriever.into()])),
            aggregator: Box::new(ReciprocalRankFusion::new()),
            injector: Box::new(DefaultContentInjector::new()),
            max_concurrency: Self::DEFAULT_MAX_CONCURRENCY,
            limits: ContentLimits::default(),
        }))
    }
}

impl Default for ContentLimits {
    fn default() -> Self {
        Self {
            contents: DefaultRetrievalAugmentor::DEFAULT_MAX_CONTENTS,
            text_bytes: DefaultRetrievalAugmentor::DEFAULT_MAX_TEXT_BYTES,
        }
    }
}

impl ContentLimits {
    /// Removes the contents beyond the limits and returns how many were removed.
    fn apply(self, contents: &mut Vec<RetrievedContent>) -> usize {
        let (found, mut bytes_left) = (contents.len(), self.text_bytes);
        contents.retain(|content| {
            let rest = bytes_left.checked_sub(content.segment.text().len());
            bytes_left = rest.unwrap_or(bytes_left);
            rest.is_some()
        });
        contents.truncate(self.contents);
        let left_out = found - contents.len();
        if left_out > 0 {
            tracing::warn!(left_out, "contents beyond the limits of the augmentor were left out");
        }
        left_out
    }
}

#[async_trait]
impl RetrievalAugmentor for DefaultRetrievalAugmentor {
    async fn retrieve(&self, turn: &TurnContext) -> Result<Retrieved> {
        let Stages { transformer, router, aggregator, max_concurrency, limits, .. } = &*self.0;
        let question = turn.user_message().joined_text().filter(|text| !text.trim().is_empty());
        let Some(question) = question else { return Ok(Retrieved::default()) };
        let question = Query::new(question, turn.clone());
        let mut queries = distinct(transformer.transform(&question).await?);
        queries.retain(|query| !query.text().trim().is_empty());
        let found = search::search(queries, &**router, *max_concurrency).await?;
        let mut skipped = Vec::new();
        let mut results = Vec::with_capacity(found.len());
        for search::QueryResults { query, lists, skipped: own } in found {
            results.push((query, lists));
            skipped.extend(own);
        }
        let mut contents = aggregator.aggregate(results).await?;
        let left_out = limits.apply(&mut contents);
        Ok(Retrieved { contents, skipped, left_out })
    }

    fn inject(&self, message: &UserMessage, contents: &[RetrievedContent]) -> Result<UserMessage> {
        self.0.injector.inject(message, contents)
    }
}

impl fmt::Debug for DefaultRetrievalAugmentor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DefaultRetrievalAugmentor")
            .field("max_concurrency", &self.0.max_concurrency)
            .finish_non_exhaustive()
    }
}
