//! Putting the parts of retrieval together.

use super::{DefaultRetrievalAugmentor, Limits, Parts};
use crate::error::{Error, Result};
use crate::rag::{
    ContentAggregator, ContentInjector, ContentRetriever, DefaultContentInjector,
    DefaultQueryRouter, DefaultQueryTransformer, QueryRouter, QueryTransformer,
    ReciprocalRankFusion, Route,
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
    limits: Limits,
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
            limits: Limits::default(),
        }
    }

    /// Sets what makes queries of the question.
    pub fn query_transformer(mut self, transformer: impl QueryTransformer + 'static) -> Self {
        self.transformer = Some(Box::new(transformer));
        self
    }

    /// Sets what chooses whom to ask, in place of routes that are all asked.
    pub fn query_router(mut self, router: impl QueryRouter + 'static) -> Self {
        self.router = Some(Box::new(router));
        self
    }

    /// Adds a retriever that is asked for every query, may take 30 seconds and must not fail.
    pub fn content_retriever(self, retriever: impl ContentRetriever + 'static) -> Self {
        self.route(Route::new(retriever))
    }

    /// Adds a retriever that is asked for every query.
    pub fn route(mut self, route: Route) -> Self {
        self.routes.push(route);
        self
    }

    /// Sets what makes one list of all that was found.
    pub fn content_aggregator(mut self, aggregator: impl ContentAggregator + 'static) -> Self {
        self.aggregator = Some(Box::new(aggregator));
        self
    }

    /// Sets what tells the model.
    pub fn content_injector(mut self, injector: impl ContentInjector + 'static) -> Self {
        self.injector = Some(Box::new(injector));
        self
    }

    /// Sets how many retrievers, or decisions of the router, run at a time; 8 by default. 0 is 1.
    pub fn max_concurrency(mut self, max: usize) -> Self {
        self.max_concurrency = max;
        self
    }

    /// Sets how many contents the model is told, the best; 1000 by default.
    pub fn max_contents(mut self, max: usize) -> Self {
        self.limits.contents = max;
        self
    }

    /// Sets how long the texts of all contents together may be, in bytes; 4 MiB by default. A content that does not
    /// fit into what those before it left is left out as a whole.
    pub fn max_text_bytes(mut self, max: usize) -> Self {
        self.limits.text_bytes = max;
        self
    }

    /// The augmentor.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if there is nobody to ask, and if there
    /// are both a router and routes that it would not know of.
    pub fn build(self) -> Result<DefaultRetrievalAugmentor> {
        let Self { transformer, router, routes, aggregator, injector, max_concurrency, limits } =
            self;
        let router = match (router, routes.is_empty()) {
            (Some(router), true) => router,
            (None, false) => Box::new(DefaultQueryRouter::new(routes)),
            (None, true) => {
                return Err(Error::configuration(
                    "there is nothing to retrieve from; call `.content_retriever(...)`, \
                     `.route(...)` or `.query_router(...)`",
                ));
            }
            (Some(_), false) => {
                return Err(Error::configuration(
                    "a query router chooses the routes; give it those of `.content_retriever(...)` \
                     and `.route(...)`",
                ));
            }
        };
        Ok(DefaultRetrievalAugmentor(Arc::new(Parts {
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
