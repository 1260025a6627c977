//! Asking the retrievers.

use crate::error::{Error, ErrorKind, Result, panic_text};
use crate::rag::in_order::in_order;
use crate::rag::spending::write_off;
use crate::rag::{FailurePolicy, Query, QueryRouter, RetrievedContent, Route, SkippedRetrieval};
use futures_util::future::FutureExt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::{Semaphore, SemaphorePermit};
use tracing::{Instrument, field};

/// What was found for a query, one list for each route.
pub(super) struct Found {
    pub(super) query: Query,
    pub(super) lists: Vec<Vec<RetrievedContent>>,
    pub(super) skipped: Vec<SkippedRetrieval>,
}

/// What came of a route.
struct Outcome {
    contents: Vec<RetrievedContent>,
    skipped: Vec<SkippedRetrieval>,
}

/// Asks for all queries whom the router says. The order is that of the queries and of their routes.
pub(super) async fn search(
    queries: Vec<Query>,
    router: &dyn QueryRouter,
    max_concurrency: usize,
) -> Result<Vec<Found>> {
    // One limit for all: a query with a single route leaves its share to the others.
    let limit = Semaphore::new(max_concurrency.clamp(1, Semaphore::MAX_PERMITS));
    let mut searches = Vec::with_capacity(queries.len());
    for query in queries {
        searches.push(search_for(query, router, &limit));
    }
    in_order(searches, usize::MAX).await
}

async fn search_for(query: Query, router: &dyn QueryRouter, limit: &Semaphore) -> Result<Found> {
    let routes = {
        let _permit = acquire(limit).await?;
        router.route(&query).await?
    };
    let mut searches = Vec::with_capacity(routes.len());
    for route in &routes {
        searches.push(follow(route, &query, limit));
    }
    let outcomes = in_order(searches, usize::MAX).await?;
    let (mut lists, mut skipped) = (Vec::with_capacity(outcomes.len()), Vec::new());
    for outcome in outcomes {
        lists.push(outcome.contents);
        skipped.extend(outcome.skipped);
    }
    Ok(Found { query, lists, skipped })
}

async fn acquire(limit: &Semaphore) -> Result<SemaphorePermit<'_>> {
    // It is never closed.
    limit.acquire().await.map_err(|closed| {
        Error::configuration("the limit of concurrent retrievals is closed").with_source(closed)
    })
}

/// Asks a retriever and, if it fails, whom its policy names.
async fn follow(route: &Route, query: &Query, limit: &Semaphore) -> Result<Outcome> {
    let _permit = acquire(limit).await?;
    let mut skipped = Vec::new();
    let mut route = route;
    loop {
        let error = match ask(route, query).await {
            Ok(contents) => return Ok(Outcome { contents, skipped: Vec::new() }),
            Err(error) => error,
        };
        let (name, kind) = (&*route.name, error.kind());
        let next = match &route.on_failure {
            FailurePolicy::Fail => return Err(named(name, error)),
            FailurePolicy::Skip => None,
            FailurePolicy::Fallback(next) => Some(&**next),
        };
        write_off(&error, query.turn());
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
                tracing::warn!(retriever = name, ?kind, "a retriever failed and was passed over");
                return Ok(Outcome { contents: Vec::new(), skipped });
            }
        }
    }
}

async fn ask(route: &Route, query: &Query) -> Result<Vec<RetrievedContent>> {
    let (name, timeout) = (&*route.name, route.timeout);
    let span = tracing::info_span!(
        "retrieval",
        otel.name = %format_args!("retrieval {name}"),
        gen_ai.operation.name = "retrieval",
        gen_ai.data_source.id = name,
        found = field::Empty,
        error.r#type = field::Empty,
    );
    // Caught around all of it: the time limit panics as well, in a runtime without a timer.
    let searching = async { tokio::time::timeout(timeout, route.retriever.retrieve(query)).await };
    let searching = AssertUnwindSafe(searching.instrument(span.clone())).catch_unwind();
    let outcome = match searching.await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => {
            Err(Error::new(ErrorKind::Timeout, format!("it took longer than {timeout:?}")))
        }
        Err(panic) => {
            let message = format!("it panicked: {}", panic_text(&*panic));
            Err(Error::new(ErrorKind::Unavailable, message).with_retryable(false))
        }
    };
    match &outcome {
        Ok(contents) => span.record("found", contents.len()),
        Err(error) => span.record("error.type", field::debug(error.kind())),
    };
    outcome
}

/// The error with the name of the retriever, so that one of several is found.
fn named(name: &str, error: Error) -> Error {
    let named = error.replied(format!("the retriever `{name}` failed: {error}"));
    let usage = error.usage().copied().unwrap_or_default();
    named.with_usage(usage).with_source(error)
}
