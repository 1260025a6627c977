//! Checks of concurrent calls.

use super::case::{Case, CheckResult, ensure, entry_with};
use ai_services_core::document::{MetadataValue, TextSegment};
use ai_services_core::embedding::{EmbeddingEntry, Filter, Replace};
use futures_util::future::{join, join_all};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use tokio::task::yield_now;

super::checks![batches_are_atomic, concurrent_writes_are_all_stored, dropped_change_is_atomic,];

/// Number of entries of a batch.
const BATCH: usize = 20;

fn batch(generation: i64) -> Vec<EmbeddingEntry> {
    let entry = |n: usize| entry_with(format!("{generation} {n}"), "generation", generation);
    (0..BATCH).map(entry).collect()
}

fn any_generation() -> Filter {
    Filter::key("generation").exists()
}

/// Checks that the entries are those of one generation.
async fn one_generation(case: &Case) -> CheckResult<i64> {
    let found = case.search(Some(&any_generation())).await?;
    let generation = |segment: &TextSegment| {
        segment.metadata().get("generation").and_then(MetadataValue::as_integer)
    };
    let first = found.first().and_then(|found| generation(&found.segment)).unwrap_or(-1);
    let is_one =
        found.len() == BATCH && found.iter().all(|found| generation(&found.segment) == Some(first));
    let count = found.len();
    ensure(is_one, || format!("found {count} entries, expected {BATCH} of one batch"))?;
    Ok(first)
}

async fn batches_are_atomic(case: &Case) -> CheckResult {
    const GENERATIONS: i64 = 30;
    case.add(batch(0)).await?;
    let is_done = AtomicBool::new(false);
    let write = async {
        let mut written = Ok(());
        for generation in 1..=GENERATIONS {
            written =
                case.store().replace(Replace::Matching(&any_generation()), batch(generation)).await;
            if written.is_err() {
                break;
            }
            yield_now().await;
        }
        is_done.store(true, Ordering::Relaxed);
        CheckResult::Ok(written?)
    };
    let read = async || {
        let mut last = 0;
        while !is_done.load(Ordering::Relaxed) {
            let generation = one_generation(case).await?;
            ensure(generation >= last, || {
                format!("batch {generation} is found after batch {last}")
            })?;
            last = generation;
            let count = case.store().count().await?;
            ensure(count == BATCH as u64, || format!("`count` returns {count}, expected {BATCH}"))?;
            let values = case.store().values("generation", None).await?;
            ensure(values.len() == 1, || format!("the generations are {values:?}"))?;
            yield_now().await;
        }
        CheckResult::Ok(())
    };
    let (written, seen) = join(write, join_all([read(), read(), read()])).await;
    written?;
    seen.into_iter().collect::<CheckResult>()?;
    case.expect(&batch(GENERATIONS)).await
}

async fn concurrent_writes_are_all_stored(case: &Case) -> CheckResult {
    const WRITERS: usize = 8;
    const ROUNDS: usize = 5;
    let entries = |writer: usize, round: usize| {
        let own = (0..3).map(move |n| entry_with(format!("{writer} {round} {n}"), "n", 1));
        own.chain([entry_with("shared", "n", 2)]).collect::<Vec<_>>()
    };
    let writers = (0..WRITERS).map(|writer| async move {
        for round in 0..ROUNDS {
            case.add(entries(writer, round)).await?;
            case.store().remove(&[&*format!("{writer} {round} 2")]).await?;
            yield_now().await;
        }
        CheckResult::Ok(())
    });
    join_all(writers).await.into_iter().collect::<CheckResult>()?;
    let mut expected = vec![entry_with("shared", "n", 2)];
    for writer in 0..WRITERS {
        expected.extend((0..ROUNDS).flat_map(|round| entries(writer, round).into_iter().take(2)));
    }
    case.expect(&expected).await
}

async fn dropped_change_is_atomic(case: &Case) -> CheckResult {
    const TRIES: i64 = 12;
    case.add(batch(0)).await?;
    for generation in 1..=TRIES {
        let filter = any_generation();
        {
            let mut change =
                pin!(case.store().replace(Replace::Matching(&filter), batch(generation)));
            for _ in 0..generation {
                let polled = std::future::poll_fn(|context| {
                    Poll::Ready(change.as_mut().poll(context).is_ready())
                });
                if polled.await {
                    break;
                }
                yield_now().await;
            }
        }
        one_generation(case).await?;
        let values = case.store().values("generation", None).await?;
        ensure(values.len() == 1, || format!("the generations are {values:?}"))?;
    }
    case.store().replace(Replace::Matching(&any_generation()), batch(-1)).await?;
    case.expect(&batch(-1)).await
}
