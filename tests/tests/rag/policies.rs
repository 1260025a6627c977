//! Retrievers that fail or time out.

use crate::{QueryLog, failing, finding, finding_after, texts, turn};
use ai_services::message::UserMessage;
use ai_services::model::{TokenUsage, UsageMeter};
use ai_services::rag::{
    ContentRetriever, DefaultRetrievalAugmentor, FailurePolicy, Query, RetrievalAugmentor,
    Retrieved, RetrievedContent, Route, SkippedRetrieval,
};
use ai_services::{Error, ErrorKind, Result, TurnContext};
use futures_util::future::BoxFuture;
use std::time::Duration;
use tokio::time::Instant;

/// Runs a route beside another one that returns "other".
async fn beside_another(route: Route) -> Result<Retrieved> {
    let other = Route::new(finding(&["other"])).name("other");
    let augmentor = DefaultRetrievalAugmentor::builder()
        .content_retriever(route)
        .content_retriever(other)
        .build()
        .unwrap();
    augmentor.retrieve(&turn("the question")).await
}

fn skipped(skipped: &[SkippedRetrieval]) -> Vec<(&str, &str, ErrorKind)> {
    skipped.iter().map(|one| (&*one.route, &*one.query, one.error.kind())).collect()
}

#[tokio::test]
async fn failure_fails_the_call_and_names_the_retriever() {
    let route = Route::new(failing(ErrorKind::RateLimited)).name("docs");
    let error = beside_another(route).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.to_string(), "the retriever `docs` failed: RateLimited");
    assert!(error.is_retryable());
    assert_eq!(error.detail::<Error>().unwrap().to_string(), "RateLimited");
}

#[tokio::test]
async fn skipped_failure_is_reported() {
    let route = Route::new(failing(ErrorKind::Unavailable)).name("docs");
    let retrieved = beside_another(route.on_failure(FailurePolicy::Skip)).await.unwrap();
    assert_eq!(texts(&retrieved.contents), ["other"]);
    assert_eq!(skipped(&retrieved.skipped), [("docs", "the question", ErrorKind::Unavailable)]);
}

#[tokio::test(start_paused = true)]
async fn slow_retriever_times_out() {
    let slow = || Route::new(finding_after(31, &["late"])).name("slow");
    let started = Instant::now();
    let error = beside_another(slow()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(error.to_string(), "the retriever `slow` failed: no results within 30s");
    assert_eq!(started.elapsed().as_secs(), 30);

    let retrieved = beside_another(slow().timeout(Duration::from_secs(40))).await.unwrap();
    assert_eq!(texts(&retrieved.contents), ["late", "other"]);
    let impatient = slow().timeout(Duration::from_secs(1)).on_failure(FailurePolicy::Skip);
    let retrieved = beside_another(impatient).await.unwrap();
    assert_eq!(skipped(&retrieved.skipped), [("slow", "the question", ErrorKind::Timeout)]);
}

#[tokio::test(start_paused = true)]
async fn endless_retriever_does_not_block_the_others() {
    let endless = |name: &str, policy| {
        let retriever = |_: Query| std::future::pending::<Result<Vec<RetrievedContent>>>();
        Route::new(retriever).name(name).timeout(Duration::from_secs(2)).on_failure(policy)
    };
    let copy = Route::new(finding_after(3, &["copy"]));
    let augmentor = DefaultRetrievalAugmentor::builder()
        .content_retriever(endless("a", FailurePolicy::Skip))
        .content_retriever(endless("b", FailurePolicy::fallback(copy)))
        .content_retriever(finding_after(4, &["other"]))
        .build()
        .unwrap();
    let started = Instant::now();
    let retrieved = augmentor.retrieve(&turn("?")).await.unwrap();
    assert_eq!(texts(&retrieved.contents), ["copy", "other"]);
    assert_eq!(skipped(&retrieved.skipped), [("a", "?", ErrorKind::Timeout)]);
    assert_eq!(
        started.elapsed().as_secs(),
        5,
        "two plus three seconds, concurrently with the others"
    );
}

/// A retriever that panics before it returns a future.
struct PanickingRetriever;

impl ContentRetriever for PanickingRetriever {
    fn retrieve<'a, 'b, 'z>(&'a self, _: &'b Query) -> BoxFuture<'z, Result<Vec<RetrievedContent>>>
    where
        'a: 'z,
        'b: 'z,
        Self: 'z,
    {
        panic!("in retrieve")
    }
}

#[tokio::test]
async fn panic_of_a_retriever_is_a_failure() {
    let panicking =
        |_: Query| async { if true { panic!("no {}", "shelf") } else { Ok(Vec::new()) } };
    let skipping = Route::new(panicking).name("docs").on_failure(FailurePolicy::Skip);
    let retrieved = beside_another(skipping).await.unwrap();
    assert_eq!(texts(&retrieved.contents), ["other"]);
    assert_eq!(skipped(&retrieved.skipped), [("docs", "the question", ErrorKind::Unavailable)]);

    let copy = FailurePolicy::fallback(Route::new(finding(&["copy"])));
    let retrieved = beside_another(Route::new(PanickingRetriever).on_failure(copy)).await.unwrap();
    assert_eq!(texts(&retrieved.contents), ["copy", "other"]);

    let error = beside_another(Route::new(panicking).name("docs")).await.unwrap_err();
    assert_eq!(error.to_string(), "the retriever `docs` failed: panic: no shelf");
    assert!(!error.is_retryable());
}

#[tokio::test]
async fn fallback_replaces_a_failed_retriever() {
    let log = QueryLog::default();
    let second = Route::new(log.echo("second"));
    let first =
        Route::new(failing(ErrorKind::Unavailable)).on_failure(FailurePolicy::fallback(second));
    let retrieved = beside_another(first).await.unwrap();
    assert_eq!(texts(&retrieved.contents), ["second: the question", "other"]);
    assert!(retrieved.skipped.is_empty(), "the fallback succeeded");
    assert_eq!(log.all(), ["the question"]);
}

#[tokio::test]
async fn fallback_is_not_used_without_a_failure() {
    let log = QueryLog::default();
    let policy = FailurePolicy::fallback(Route::new(log.echo("second")));
    let retrieved = beside_another(Route::new(finding(&[])).on_failure(policy)).await.unwrap();
    assert_eq!(texts(&retrieved.contents), ["other"], "an empty result is not a failure");
    assert!(log.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn fallbacks_have_their_own_timeout_and_policy() {
    let third = Route::new(failing(ErrorKind::Connection)).name("third");
    let second = |third: Route| {
        Route::new(finding_after(5, &["late"]))
            .name("second")
            .timeout(Duration::from_secs(2))
            .on_failure(FailurePolicy::fallback(third))
    };
    let first = |second: Route| {
        let first = Route::new(failing(ErrorKind::Unavailable)).name("first");
        first.timeout(Duration::from_secs(1)).on_failure(FailurePolicy::fallback(second))
    };
    let started = Instant::now();
    let lenient = third.clone().on_failure(FailurePolicy::Skip);
    let retrieved = beside_another(first(second(lenient))).await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 2);
    assert_eq!(
        skipped(&retrieved.skipped),
        [
            ("first", "the question", ErrorKind::Unavailable),
            ("second", "the question", ErrorKind::Timeout),
            ("third", "the question", ErrorKind::Connection),
        ]
    );
    let error = beside_another(first(second(third))).await.unwrap_err();
    assert_eq!(error.to_string(), "the retriever `third` failed: Connection");
}

#[tokio::test]
async fn skipped_routes_are_listed_in_order() {
    let route = |name: &str| {
        Route::new(failing(ErrorKind::Unavailable)).name(name).on_failure(FailurePolicy::Skip)
    };
    let augmentor = DefaultRetrievalAugmentor::builder()
        .query_transformer(|query: Query| async move {
            Ok(["q1", "q2"].map(|text| query.with_text(text)).to_vec())
        })
        .content_retriever(route("a"))
        .content_retriever(route("b"))
        .build()
        .unwrap();
    let retrieved = augmentor.retrieve(&turn("?")).await.unwrap();
    let order: Vec<_> =
        skipped(&retrieved.skipped).into_iter().map(|(route, query, _)| (query, route)).collect();
    assert_eq!(order, [("q1", "a"), ("q1", "b"), ("q2", "a"), ("q2", "b")]);
}

/// A retriever that fails with token usage.
struct CostlyFailure;

#[ai_services::async_trait]
impl ContentRetriever for CostlyFailure {
    async fn retrieve(&self, _: &Query) -> Result<Vec<RetrievedContent>> {
        Err(Error::new(ErrorKind::Unavailable, "down").with_usage(TokenUsage::new(7, 0)))
    }
}

#[tokio::test]
async fn usage_of_a_failure_is_counted_once() {
    for (policy, metered, of_error) in
        [(FailurePolicy::Skip, Some(7), None), (FailurePolicy::Fail, None, Some(7))]
    {
        let meter = UsageMeter::new();
        let turn = TurnContext::builder(UserMessage::new("?")).meter(meter.clone()).build();
        let augmentor = DefaultRetrievalAugmentor::builder()
            .content_retriever(Route::new(CostlyFailure).on_failure(policy))
            .build()
            .unwrap();
        let outcome = augmentor.retrieve(&turn).await;
        assert_eq!(meter.total().input, metered);
        assert_eq!(outcome.err().and_then(|error| error.usage()?.input), of_error);
    }
}
