//! Concurrent futures with results in order.

use crate::error::Result;
use futures_util::stream::{FuturesUnordered, StreamExt};

/// Runs the futures concurrently, at most `limit` at a time, and returns their results in order. The first
/// error is returned and drops the running futures.
pub(super) async fn join_ordered<T, F>(futures: Vec<F>, limit: usize) -> Result<Vec<T>>
where
    F: Future<Output = Result<T>>,
{
    let mut done = Vec::with_capacity(futures.len());
    let mut waiting = futures.into_iter().enumerate();
    let mut running = FuturesUnordered::new();
    loop {
        while running.len() < limit.max(1)
            && let Some((index, future)) = waiting.next()
        {
            running.push(with_index(index, future));
        }
        let Some(finished) = running.next().await else { break };
        done.push(finished?);
    }
    done.sort_unstable_by_key(|(index, _)| *index);
    Ok(done.into_iter().map(|(_, value)| value).collect())
}

async fn with_index<T, F: Future<Output = Result<T>>>(
    index: usize,
    future: F,
) -> Result<(usize, T)> {
    Ok((index, future.await?))
}
