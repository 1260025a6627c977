//! Futures that run beside each other.

use crate::error::Result;
use futures_util::stream::{FuturesUnordered, StreamExt};

/// What the futures come to, in their order. At most `limit` run at a time. The first error ends it and
/// drops those that still run.
pub(super) async fn in_order<T, F>(futures: Vec<F>, limit: usize) -> Result<Vec<T>>
where
    F: Future<Output = Result<T>>,
{
    let mut done = Vec::with_capacity(futures.len());
    let mut waiting = futures.into_iter().enumerate();
    let mut running = FuturesUnordered::new();
    loop {
        while running.len() < limit.max(1)
            && let Some((place, future)) = waiting.next()
        {
            running.push(numbered(place, future));
        }
        let Some(finished) = running.next().await else { break };
        done.push(finished?);
    }
    done.sort_unstable_by_key(|(place, _)| *place);
    Ok(done.into_iter().map(|(_, value)| value).collect())
}

async fn numbered<T, F: Future<Output = Result<T>>>(place: usize, future: F) -> Result<(usize, T)> {
    Ok((place, future.await?))
}
