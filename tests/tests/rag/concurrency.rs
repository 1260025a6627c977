//! Concurrency and cancellation of searches.

use crate::{failing, finding, finding_after, texts, turn};
use ai_services::ErrorKind;
use ai_services::rag::{
    ContentRetriever, DefaultRetrievalAugmentor, DefaultRetrievalAugmentorBuilder, Query,
    RetrievalAugmentor, RetrievedContent, Route,
};
use ai_services_tests::retrievers::Endless;
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Barrier;
use tokio::time::Instant;

fn three_queries() -> DefaultRetrievalAugmentorBuilder {
    DefaultRetrievalAugmentor::builder().query_transformer(|query: Query| async move {
        Ok(["q1", "q2", "q3"].map(|text| query.with_text(text)).to_vec())
    })
}

/// A retriever that waits until `barrier` is full.
fn waiting(barrier: &Arc<Barrier>) -> impl ContentRetriever + 'static + use<> {
    let barrier = Arc::clone(barrier);
    move |query: Query| {
        let barrier = Arc::clone(&barrier);
        async move {
            barrier.wait().await;
            Ok(vec![RetrievedContent::from(query.text())])
        }
    }
}

#[tokio::test(start_paused = true)]
async fn all_queries_run_on_all_routes_concurrently() {
    let barrier = Arc::new(Barrier::new(6));
    let augmentor = three_queries()
        .content_retriever(waiting(&barrier))
        .content_retriever(waiting(&barrier))
        .build()
        .unwrap();
    let retrieved = augmentor.retrieve(&turn("?")).await.unwrap();
    assert_eq!(texts(&retrieved.contents), ["q1", "q2", "q3"]);
}

#[tokio::test(start_paused = true)]
async fn queries_are_routed_concurrently() {
    let barrier = Arc::new(Barrier::new(3));
    let augmentor = three_queries()
        .query_router(move |_: Query| {
            let barrier = Arc::clone(&barrier);
            async move {
                let met = tokio::time::timeout(Duration::from_secs(60), barrier.wait()).await;
                met.expect("all three queries are routed");
                Ok(vec![Route::new(finding(&["a"]))])
            }
        })
        .build()
        .unwrap();
    assert_eq!(texts(&augmentor.retrieve(&turn("?")).await.unwrap().contents), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn concurrent_searches_are_limited() {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counting = {
        let most = Arc::clone(&most);
        move |_: Query| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            async move {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(10)).await;
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(Vec::new())
            }
        }
    };
    let augmentor = three_queries()
        .content_retriever(counting.clone())
        .content_retriever(counting)
        .max_concurrency(2)
        .build()
        .unwrap();
    let started = Instant::now();
    augmentor.retrieve(&turn("?")).await.unwrap();
    assert_eq!(most.load(Ordering::SeqCst), 2);
    assert_eq!(started.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn concurrent_routing_is_limited() {
    let augmentor = three_queries()
        .query_router(|_: Query| async {
            tokio::time::sleep(Duration::from_secs(10)).await;
            Ok(Vec::new())
        })
        .max_concurrency(2)
        .build()
        .unwrap();
    let started = Instant::now();
    augmentor.retrieve(&turn("?")).await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 20);
}

#[tokio::test(start_paused = true)]
async fn order_is_independent_of_response_times() {
    let augmentor = DefaultRetrievalAugmentor::builder()
        .content_retriever(finding_after(3, &["a", "d"]))
        .content_retriever(finding_after(1, &["b", "e"]))
        .content_retriever(finding_after(2, &["c"]))
        .build()
        .unwrap();
    let retrieved = augmentor.retrieve(&turn("?")).await.unwrap();
    assert_eq!(texts(&retrieved.contents), ["a", "b", "c", "d", "e"]);
}

#[tokio::test(start_paused = true)]
async fn timeout_excludes_the_wait_for_a_slot() {
    let augmentor = DefaultRetrievalAugmentor::builder()
        .content_retriever(finding_after(20, &["a"]))
        .content_retriever(finding_after(20, &["b"]))
        .max_concurrency(0)
        .build()
        .unwrap();
    let started = Instant::now();
    let retrieved = augmentor.retrieve(&turn("?")).await.unwrap();
    assert_eq!(texts(&retrieved.contents), ["a", "b"]);
    assert_eq!(started.elapsed().as_secs(), 40);
}

#[tokio::test(start_paused = true)]
async fn failure_cancels_the_other_searches() {
    let endless = Endless::default();
    let mut builder = three_queries().max_concurrency(200);
    for _ in 0..50 {
        builder = builder.content_retriever(endless.clone());
    }
    let augmentor = builder.content_retriever(failing(ErrorKind::Unavailable)).build().unwrap();
    let started = Instant::now();
    let error = augmentor.retrieve(&turn("?")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(started.elapsed(), Duration::ZERO);
    let (started_searches, dropped) = endless.counts();
    assert!(started_searches >= 50, "{started_searches}");
    assert_eq!(started_searches, dropped);
}

#[tokio::test(start_paused = true)]
async fn dropped_call_cancels_all_searches() {
    let endless = Endless::default();
    let augmentor = three_queries().content_retriever(endless.clone()).build().unwrap();
    let turn = turn("?");
    let call = tokio::time::timeout(Duration::from_secs(1), augmentor.retrieve(&turn));
    assert!(call.await.is_err());
    assert_eq!(endless.counts(), (3, 3));
}

/// Returns the results of routes with these delays and a limit of `max` concurrent searches.
fn found_after(lists: &[Vec<u8>], seconds: &[u64], max: usize) -> Vec<String> {
    let mut builder = three_queries().max_concurrency(max);
    for (list, seconds) in lists.iter().zip(seconds) {
        let names: Vec<String> = list.iter().map(u8::to_string).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        builder = builder.content_retriever(finding_after(*seconds, &names));
    }
    let augmentor = builder.build().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let retrieved = runtime.block_on(augmentor.retrieve(&turn("?"))).unwrap();
    texts(&retrieved.contents).into_iter().map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn result_is_independent_of_delays(
        routes in prop::collection::vec((prop::collection::vec(0_u8..9, 0..5), 0_u64..29, 0_u64..29), 1..5),
        max in (1_usize..9, 1_usize..9),
    ) {
        let lists: Vec<_> = routes.iter().map(|(list, _, _)| list.clone()).collect();
        let (some, others): (Vec<_>, Vec<_>) = routes.iter().map(|(_, a, b)| (*a, *b)).unzip();
        prop_assert_eq!(found_after(&lists, &some, max.0), found_after(&lists, &others, max.1));
    }
}
