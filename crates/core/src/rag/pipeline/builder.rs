//! The builder of the default augmentor.

use super::{ContentLimits, DefaultRetrievalAugmentor, Stages};
use crate::error::{Error, Result};
use crate::rag::{
    ContentAggregator, ContentInjector, DefaultContentInjector, DefaultQueryRouter,
    DefaultQueryTransformer, QueryRouter, QueryTransformer, ReciprocalRankFusion, Route,
};
use std::fmt;
use std::sync::Arc;

/// Builds a [`DefaultRetrievalAugmentor`].
#[must_use]
pub struct DefaultRetrievalAugmentorBuilder {
    transformer: Option<Box<dyn QueryTransformer>>,
    router: Option<Box<dyn QueryRouter>>,
    routes: Vec<Route>,
    aggregator: Option<Box<dyn ContentAggregator>>,
    injector: Option<Box<dyn ContentInjector>>,
    max_concurrency: usize,
    limits: ContentLimits,
}

impl DefaultRetrievalAugmentorBuilder {
    pub(super) fn new() -> Self {
        Self {
            transformer: None,
            router: None,
            routes: Vec::new(),
            aggregator: None,
            injector: None,
            max_concurrency: DefaultRetrievalAugmentor::DEFAULT_MAX_CONCURRENCY,
            limits: ContentLimits::default(),
        }
    }

    /// Sets the transformer that makes queries from the question. Default: [`DefaultQueryTransformer`].
    pub fn query_transformer(mut self, transformer: impl QueryTransformer + 'static) -> Self {
        self.transformer = Some(Box::new(transformer));
        self
    }

    /// Sets the router that chooses the retrievers of each query, in place of querying all added routes.
    pub fn query_router(mut self, router: impl QueryRouter + 'static) -> Self {
        self.router = Some(Box::new(router));
        self
    }

    /// Adds a retriever that runs for every query. By default, it times out after 30 seconds, and its
    /// failure fails the call. A [`Route`] sets another time limit or [failure
    /// policy](crate::rag::FailurePolicy).
    pub fn content_retriever(mut self, retriever: impl Into<Route>) -> Self {
        self.routes.push(retriever.into());
        self
    }

    /// Sets the aggregator that merges the results into one list. Default: [`ReciprocalRankFusion`].
    pub fn content_aggregator(mut self, aggregator: impl ContentAggregator + 'static) -> Self {
        self.aggregator = Some(Box::new(aggregator));
        self
    }

    /// Sets the injector that adds the contents to the message. Default: [`DefaultContentInjector`].
    pub fn content_injector(mut self, injector: impl ContentInjector + 'static) -> Self {
        self.injector = Some(Box::new(injector));
        self
    }

    /// Sets how many retrievers or router decisions run concurrently. Default: 8. 0 counts as 1.
    pub fn max_concurrency(mut self, max: usize) -> Self {
        self.max_concurrency = max;
        self
    }

    /// Sets the maximum number of contents in the prompt, of which the best are kept. Default: 1,000.
    pub fn max_contents(mut self, max: usize) -> Self {
        self.limits.contents = max;
        self
    }

    /// Sets the size limit of the texts of all contents together, in bytes. Default: 4 MiB. A content that
    /// does not fit into the space that better contents leave is left out as a whole.
    pub fn max_text_bytes(mut self, max: usize) -> Self {
        self.limits.text_bytes = max;
        self
    }

    /// Builds the augmentor.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if there is neither a retriever
    /// nor a router, or if there are both a router and routes, which the router would not use.
    pub fn build(self) -> Result<DefaultRetrievalAugmentor> {
        let Self { transformer, router, routes, aggregator, injector, max_concurrency, limits } =
            self;
        let router = match (router, routes.is_empty()) {
            (Some(router), true) => router,
            (None, false) => Box::new(DefaultQueryRouter::new(routes)),
            (None, true) => {
                return Err(Error::configuration(
                    "the augmentor has no retriever; call `.content_retriever(...)` or `.query_router(...)`",
                ));
            }
            (Some(_), false) => {
                return Err(Error::configuration(
                    "a query router replaces the retrievers of `.content_retriever(...)`; pass these to the router",
                ));
            }
        };
        Ok(DefaultRetrievalAugmentor(Arc::new(Stages {
            transformer: transformer.unwrap_or_else(|| Box::new(DefaultQueryTransformer)),
            router,
            aggregator: aggregator.unwrap_or_else(|| Box::new(ReciprocalRankFusion::new())),
            injector: injector.unwrap_or_else(|| Box::new(DefaultContentInjector::new())),
            max_concurrency,
            limits,
        })))
    }
}

impl fmt::Debug for DefaultRetrievalAugmentorBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DefaultRetrievalAugmentorBuilder")
            .field("routes", &self.routes)
            .field("max_concurrency", &self.max_concurrency)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
