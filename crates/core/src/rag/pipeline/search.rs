//! Concurrent queries to the retrievers.

use crate::error::{Error, ErrorKind, Result, panic_text};
use crate::rag::metering::meter_discarded_error;
use crate::rag::ordered_join::join_ordered;
use crate::rag::{FailurePolicy, Query, QueryRouter, RetrievedContent, Route, SkippedRetrieval};
use crate::trace::{StepSpan, count};
use futures_util::future::FutureExt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::{Semaphore, SemaphorePermit};
use tracing::field;

/// Results of one query, one list per route.
pub(super) struct QueryResults {
    pub(super) query: Query,
    pub(super) lists: Vec<Vec<RetrievedContent>>,
    pub(super) skipped: Vec<SkippedRetrieval>,
}

/// Result of one route.
struct RouteOutcome {
    contents: Vec<RetrievedContent>,
    skipped: Vec<SkippedRetrieval>,
}

/// Runs all queries on the routes that the router chooses. The results have the order of the queries and
/// routes.
pub(super) async fn search(
    queries: Vec<Query>,
    router: &dyn QueryRouter,
    max_concurrency: usize,
) -> Result<Vec<QueryResults>> {
    // One limit for all: a query with a single route leaves its share to the other queries.
    let limit = Semaphore::new(max_concurrency.clamp(1, Semaphore::MAX_PERMITS));
    let mut searches = Vec::with_capacity(queries.len());
    for query in queries {
        searches.push(search_for(query, router, &limit));
    }
    join_ordered(searches, usize::MAX).await
}

async fn search_for(
    query: Query,
    router: &dyn QueryRouter,
    limit: &Semaphore,
) -> Result<QueryResults> {
    let routes = {
        let _permit = acquire(limit).await?;
        router.route(&query).await?
    };
    let mut searches = Vec::with_capacity(routes.len());
    for route in &routes {
        searches.push(search_route(route, &query, limit));
    }
    let outcomes = join_ordered(searches, usize::MAX).await?;
    let (mut lists, mut skipped) = (Vec::with_capacity(outcomes.len()), Vec::new());
    for outcome in outcomes {
        lists.push(outcome.contents);
        skipped.extend(outcome.skipped);
    }
    Ok(QueryResults { query, lists, skipped })
}

async fn acquire(limit: &Semaphore) -> Result<SemaphorePermit<'_>> {
    // The semaphore is never closed.
    limit.acquire().await.map_err(|closed| {
        Error::configuration("the semaphore of the retrievers is closed").with_source(closed)
    })
}

/// Queries a retriever and, if it fails, the fallbacks of its policy.
async fn search_route(route: &Route, query: &Query, limit: &Semaphore) -> Result<RouteOutcome> {
    let _permit = acquire(limit).await?;
    let mut skipped = Vec::new();
    let mut route = route;
    loop {
        let error = match call_retriever(route, query).await {
            Ok(contents) => return Ok(RouteOutcome { contents, skipped: Vec::new() }),
            Err(error) => error,
        };
        let (name, kind) = (&*route.name, error.kind());
        let next = match &route.on_failure {
            FailurePolicy::Fail => return Err(with_retriever_name(name, error)),
            FailurePolicy::Skip => None,
            FailurePolicy::Fallback(next) => Some(&**next),
        };
        meter_discarded_error(&error, query.turn());
        skipped.push(SkippedRetrieval {
            route: route.name.clone(),
            query: query.shared_text(),
            error: Arc::new(error),
        });
        match next {
            Some(next) => {
                let to = &*next.name;
                tracing::warn!(from = name, to, ?kind, "falling back to the next retriever");
                route = next;
            }
            None => {
                tracing::warn!(retriever = name, ?kind, "skipping a failed retriever");
                return Ok(RouteOutcome { contents: Vec::new(), skipped });
            }
        }
    }
}

async fn call_retriever(route: &Route, query: &Query) -> Result<Vec<RetrievedContent>> {
    let (name, timeout) = (&*route.name, route.timeout);
    let span = tracing::info_span!(
        "retrieval",
        otel.name = %format_args!("retrieval {name}"),
        otel.kind = "client",
        otel.status_code = field::Empty,
        gen_ai.operation.name = "retrieval",
        gen_ai.conversation.id = field::Empty,
        gen_ai.data_source.id = name,
        ai_services.retrieval.contents = field::Empty,
        error.r#type = field::Empty,
    );
    let mut step = StepSpan::new(span);
    // Panics are caught around the timeout too: it panics in a runtime without a timer.
    let searching = async { tokio::time::timeout(timeout, route.retriever.retrieve(query)).await };
    let searching = AssertUnwindSafe(step.run(searching)).catch_unwind();
    let outcome = match searching.await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(Error::new(ErrorKind::Timeout, format!("no results within {timeout:?}"))),
        Err(panic) => {
            let message = format!("panic: {}", panic_text(&*panic));
            Err(Error::new(ErrorKind::Unavailable, message).with_retryable(false))
        }
    };
    if let Ok(contents) = &outcome {
        step.span().record("ai_services.retrieval.contents", count(contents.len()));
    }
    step.end(&outcome);
    outcome
}

/// Adds the name of the retriever to the message of its error.
fn with_retriever_name(name: &str, error: Error) -> Error {
    let named = error.replied(format!("the retriever `{name}` failed: {error}"));
    let usage = error.usage().copied().unwrap_or_default();
    named.with_usage(usage).with_source(error)
}
