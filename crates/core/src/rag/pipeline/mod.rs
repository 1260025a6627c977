//! Retrieval that is put together from parts.

mod builder;
mod search;

pub use builder::DefaultRetrievalAugmentorBuilder;

use super::transform::distinct;
use super::{
    ContentAggregator, ContentInjector, ContentRetriever, DefaultContentInjector,
    DefaultQueryRouter, DefaultQueryTransformer, Query, QueryRouter, QueryTransformer,
    ReciprocalRankFusion, RetrievalAugmentor, Retrieved, RetrievedContent, Route,
};
use crate::error::Result;
use crate::invocation::TurnContext;
use crate::message::UserMessage;
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;

/// Retrieval in five steps, each of which can be exchanged.
///
/// | step | by default | set by |
/// |---|---|---|
/// | make queries of the question | the question as it is | [`query_transformer`](DefaultRetrievalAugmentorBuilder::query_transformer) |
/// | choose whom to ask | all routes | [`query_router`](DefaultRetrievalAugmentorBuilder::query_router) |
/// | ask | retrievers that may take 30 s and must not fail | [`content_retriever`](DefaultRetrievalAugmentorBuilder::content_retriever), [`route`](DefaultRetrievalAugmentorBuilder::route) |
/// | put the results together | [`ReciprocalRankFusion`] | [`content_aggregator`](DefaultRetrievalAugmentorBuilder::content_aggregator) |
/// | tell the model | [`DefaultContentInjector`] | [`content_injector`](DefaultRetrievalAugmentorBuilder::content_injector) |
///
/// The question is the text of the user's message; several texts are joined by line breaks. A message without
/// a text, an image for example, is no question: nothing is searched for, and that is not an error. Queries
/// with equal texts are searched for once, at the place of the first; those without a text are not.
///
/// All queries go to all their routes at the same time, up to
/// [`max_concurrency`](DefaultRetrievalAugmentorBuilder::max_concurrency). Results are put together in the order
/// of the queries and of their routes, whoever answers first.
///
/// Of what is left in the end the model is told at most
/// [`max_contents`](DefaultRetrievalAugmentorBuilder::max_contents) with at most
/// [`max_text_bytes`](DefaultRetrievalAugmentorBuilder::max_text_bytes) together. Both are there for accidents, and far
/// above what most models read.
///
/// # Errors
///
/// Those of the parts. The error of a retriever ends the others unless the [policy](super::FailurePolicy) of
/// its route says otherwise; its text names the route. A retriever that takes too long fails with
/// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout), one that panics with
/// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable). A panic of another part is not caught.
///
/// # Cancellation
///
/// Dropping the future cancels all searches. Nothing runs in the background.
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
///     .route(
///         Route::new(forum)
///             .name("forum")
///             .timeout(Duration::from_secs(3))
///             .on_failure(FailurePolicy::Skip),
///     )
///     .build()?;
///
/// // A service does the rest itself.
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
/// There, one failing retriever fails the call, no time is limited, several queries are put together in no
/// particular order, equal queries are searched for twice, and a message that is not one text is an error.
#[derive(Clone)]
pub struct DefaultRetrievalAugmentor(Arc<Parts>);

struct Parts {
    transformer: Box<dyn QueryTransformer>,
    router: Box<dyn QueryRouter>,
    aggregator: Box<dyn ContentAggregator>,
    injector: Box<dyn ContentInjector>,
    max_concurrency: usize,
    limits: Limits,
}

/// How much the model is told.
#[derive(Clone, Copy, Debug)]
struct Limits {
    contents: usize,
    text_bytes: usize,
}

impl DefaultRetrievalAugmentor {
    /// How many retrievers are asked at a time by default.
    pub const DEFAULT_MAX_CONCURRENCY: usize = 8;

    /// How many contents the model is told at most by default.
    pub const DEFAULT_MAX_CONTENTS: usize = 1000;

    /// How long the texts of all contents together may be by default, in bytes.
    pub const DEFAULT_MAX_TEXT_BYTES: usize = 4 << 20;

    /// Starts an augmentor.
    pub fn builder() -> DefaultRetrievalAugmentorBuilder {
        DefaultRetrievalAugmentorBuilder::new()
    }

    /// An augmentor that asks one retriever, with defaults for everything else.
    #[must_use]
    pub fn of(retriever: impl ContentRetriever + 'static) -> Self {
        Self(Arc::new(Parts {
            transformer: Box::new(DefaultQueryTransformer),
            router: Box::new(DefaultQueryRouter::new([Route::new(retriever)])),
            aggregator: Box::new(ReciprocalRankFusion::new()),
            injector: Box::new(DefaultContentInjector::new()),
            max_concurrency: Self::DEFAULT_MAX_CONCURRENCY,
            limits: Limits::default(),
        }))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            contents: DefaultRetrievalAugmentor::DEFAULT_MAX_CONTENTS,
            text_bytes: DefaultRetrievalAugmentor::DEFAULT_MAX_TEXT_BYTES,
        }
    }
}

impl Limits {
    /// Leaves out what is too much, and says how many contents that were.
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
            tracing::warn!(left_out, "more was found than the model may be told");
        }
        left_out
    }
}

#[async_trait]
impl RetrievalAugmentor for DefaultRetrievalAugmentor {
    async fn retrieve(&self, turn: &TurnContext) -> Result<Retrieved> {
        let Parts { transformer, router, aggregator, max_concurrency, limits, .. } = &*self.0;
        let question = turn.user_message().joined_text().filter(|text| !text.trim().is_empty());
        let Some(question) = question else { return Ok(Retrieved::default()) };
        let question = Query::new(question, turn.clone());
        let mut queries = distinct(transformer.transform(&question).await?);
        queries.retain(|query| !query.text().trim().is_empty());
        let found = search::search(queries, &**router, *max_concurrency).await?;
        let mut skipped = Vec::new();
        let mut results = Vec::with_capacity(found.len());
        for search::Found { query, lists, skipped: own } in found {
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
