//! The sliding window of recent requests. It does not read a clock and does not wait.

use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// Length of the window.
pub(super) const MINUTE: Duration = Duration::from_secs(60);

/// The requests of the last minute and their tokens.
///
/// A sliding window instead of a token bucket: a bucket lets up to twice its size through within a minute.
#[derive(Debug, Default)]
pub(super) struct Window {
    max_requests: Option<usize>,
    max_tokens: Option<u64>,
    /// Oldest first.
    requests: VecDeque<SentRequest>,
    /// Number of requests that have left the window, which is the number of the first one in it.
    expired: u64,
    /// The sum of the tokens in the window.
    tokens: u64,
    paused_until: Option<Instant>,
}

#[derive(Debug)]
struct SentRequest {
    at: Instant,
    tokens: u64,
}

impl Window {
    pub(super) fn new(max_requests: Option<usize>, max_tokens: Option<u64>) -> Self {
        Self { max_requests, max_tokens, ..Self::default() }
    }

    /// Adds a request with this many tokens and returns its number, or the time of the next attempt.
    pub(super) fn try_take(&mut self, tokens: u64, now: Instant) -> Result<u64, Instant> {
        self.remove_expired(now);
        if let Some(ready) = self.ready_at(tokens).filter(|ready| *ready > now) {
            return Err(ready);
        }
        self.paused_until = None;
        let number = self.expired + self.requests.len() as u64;
        if self.max_requests.is_some() || self.max_tokens.is_some() {
            self.tokens = self.tokens.saturating_add(tokens);
            self.requests.push_back(SentRequest { at: now, tokens });
        }
        Ok(number)
    }

    /// Returns the time at which a request with this many tokens fits, if it does not fit now.
    pub(super) fn ready_at(&self, tokens: u64) -> Option<Instant> {
        let by_requests = self.max_requests.and_then(|max| {
            let over = (self.requests.len() + 1).checked_sub(max)?;
            self.requests.get(over.checked_sub(1)?)
        });
        let by_tokens = self.max_tokens.and_then(|max| {
            let mut over = self.tokens.saturating_add(tokens).checked_sub(max)?;
            let mut requests = self.requests.iter();
            let mut last = None;
            while over > 0 {
                let next = requests.next()?;
                over = over.saturating_sub(next.tokens);
                last = Some(next);
            }
            last
        });
        let by_limits = by_requests.into_iter().chain(by_tokens).map(|request| request.at + MINUTE);
        by_limits.chain(self.paused_until).max()
    }

    /// Corrects the tokens of a request.
    pub(super) fn correct(&mut self, number: u64, tokens: u64) {
        let index = number.checked_sub(self.expired).and_then(|index| usize::try_from(index).ok());
        if let Some(request) = index.and_then(|index| self.requests.get_mut(index)) {
            self.tokens = self.tokens.saturating_sub(request.tokens).saturating_add(tokens);
            request.tokens = tokens;
        }
    }

    /// Blocks all requests until then.
    pub(super) fn pause(&mut self, until: Instant) {
        self.paused_until = self.paused_until.max(Some(until));
    }

    fn remove_expired(&mut self, now: Instant) {
        while let Some(request) = self.requests.front().filter(|request| request.at + MINUTE <= now)
        {
            self.tokens = self.tokens.saturating_sub(request.tokens);
            self.requests.pop_front();
            self.expired += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn request_waits_until_oldest_expires() {
        let start = Instant::now();
        let mut window = Window::new(Some(2), None);
        assert_eq!(window.try_take(1, start), Ok(0));
        assert_eq!(window.try_take(1, start + seconds(10)), Ok(1));
        assert_eq!(window.try_take(1, start + seconds(20)), Err(start + MINUTE));
        assert_eq!(window.try_take(1, start + MINUTE), Ok(2));
        assert_eq!(window.try_take(1, start + MINUTE), Err(start + seconds(70)));
    }

    #[test]
    fn tokens_wait_until_enough_expire() {
        let start = Instant::now();
        let mut window = Window::new(None, Some(100));
        window.try_take(40, start).unwrap();
        let second = window.try_take(40, start + seconds(5)).unwrap();
        assert_eq!(window.try_take(30, start + seconds(6)), Err(start + MINUTE));
        assert_eq!(window.try_take(70, start + seconds(6)), Err(start + seconds(65)));
        window.correct(second, 10);
        assert!(window.try_take(30, start + seconds(6)).is_ok());
    }

    #[test]
    fn pause_blocks_all_requests() {
        let start = Instant::now();
        let mut window = Window::new(None, None);
        window.pause(start + seconds(9));
        window.pause(start + seconds(3));
        assert_eq!(window.try_take(1, start + seconds(4)), Err(start + seconds(9)));
        assert!(window.try_take(1, start + seconds(9)).is_ok());
    }

    proptest! {
        /// A request that waits as returned is admitted, and every minute is within the limits.
        #[test]
        fn no_minute_exceeds_the_limits(
            (max_requests, max_tokens) in (1_usize..6, 10_u64..50),
            arrivals in prop::collection::vec((0_u64..40, 0_u64..10), 1..60),
        ) {
            let mut window = Window::new(Some(max_requests), Some(max_tokens));
            let mut now = Instant::now();
            let mut sent: Vec<(Instant, u64)> = Vec::new();
            for (pause, tokens) in arrivals {
                now += seconds(pause);
                let mut tries = 0;
                while let Err(ready) = window.try_take(tokens, now) {
                    prop_assert!(ready > now);
                    now = ready;
                    tries += 1;
                    prop_assert!(tries < 3);
                }
                sent.push((now, tokens));
            }
            for (start, _) in &sent {
                let within = || sent.iter().filter(|(at, _)| at >= start && *at < *start + MINUTE);
                prop_assert!(within().count() <= max_requests);
                prop_assert!(within().map(|(_, tokens)| tokens).sum::<u64>() <= max_tokens);
            }
        }
    }
}
