//! What was sent within the last minute. Knows no clock and waits for nothing.

use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// The time that limits are for.
pub(super) const MINUTE: Duration = Duration::from_secs(60);

/// The requests of the last minute, and what they count for.
///
/// A window that slides, and no bucket that fills: a bucket lets twice its size through within a minute.
#[derive(Debug, Default)]
pub(super) struct Window {
    max_requests: Option<usize>,
    max_tokens: Option<u64>,
    /// Oldest first.
    taken: VecDeque<Taken>,
    /// How many have left the window; the number of the first that has not.
    left: u64,
    /// The sum of the tokens in the window.
    tokens: u64,
    paused_until: Option<Instant>,
}

#[derive(Debug)]
struct Taken {
    at: Instant,
    tokens: u64,
}

impl Window {
    pub(super) fn new(max_requests: Option<usize>, max_tokens: Option<u64>) -> Self {
        Self { max_requests, max_tokens, ..Self::default() }
    }

    /// Takes a request of so many tokens and gives its number, or says when it can be tried again.
    pub(super) fn take(&mut self, tokens: u64, now: Instant) -> Result<u64, Instant> {
        self.forget(now);
        if let Some(ready) = self.ready_at(tokens).filter(|ready| *ready > now) {
            return Err(ready);
        }
        self.paused_until = None;
        let number = self.left + self.taken.len() as u64;
        if self.max_requests.is_some() || self.max_tokens.is_some() {
            self.tokens = self.tokens.saturating_add(tokens);
            self.taken.push_back(Taken { at: now, tokens });
        }
        Ok(number)
    }

    /// When a request of so many tokens fits, if it does not now.
    pub(super) fn ready_at(&self, tokens: u64) -> Option<Instant> {
        let by_requests = self.max_requests.and_then(|max| {
            let over = (self.taken.len() + 1).checked_sub(max)?;
            self.taken.get(over.checked_sub(1)?)
        });
        let by_tokens = self.max_tokens.and_then(|max| {
            let mut over = self.tokens.saturating_add(tokens).checked_sub(max)?;
            let mut taken = self.taken.iter();
            let mut last = None;
            while over > 0 {
                let next = taken.next()?;
                over = over.saturating_sub(next.tokens);
                last = Some(next);
            }
            last
        });
        let by_limits = by_requests.into_iter().chain(by_tokens).map(|taken| taken.at + MINUTE);
        by_limits.chain(self.paused_until).max()
    }

    /// Puts right what a request counts for.
    pub(super) fn correct(&mut self, number: u64, tokens: u64) {
        let index = number.checked_sub(self.left).and_then(|index| usize::try_from(index).ok());
        if let Some(taken) = index.and_then(|index| self.taken.get_mut(index)) {
            self.tokens = self.tokens.saturating_sub(taken.tokens).saturating_add(tokens);
            taken.tokens = tokens;
        }
    }

    /// Lets nothing through until then.
    pub(super) fn pause(&mut self, until: Instant) {
        self.paused_until = self.paused_until.max(Some(until));
    }

    fn forget(&mut self, now: Instant) {
        while let Some(taken) = self.taken.front().filter(|taken| taken.at + MINUTE <= now) {
            self.tokens = self.tokens.saturating_sub(taken.tokens);
            self.taken.pop_front();
            self.left += 1;
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
    fn requests_wait_for_the_oldest_to_leave() {
        let start = Instant::now();
        let mut window = Window::new(Some(2), None);
        assert_eq!(window.take(1, start), Ok(0));
        assert_eq!(window.take(1, start + seconds(10)), Ok(1));
        assert_eq!(window.take(1, start + seconds(20)), Err(start + MINUTE));
        assert_eq!(window.take(1, start + MINUTE), Ok(2));
        assert_eq!(window.take(1, start + MINUTE), Err(start + seconds(70)));
    }

    #[test]
    fn tokens_wait_for_as_many_as_they_need() {
        let start = Instant::now();
        let mut window = Window::new(None, Some(100));
        window.take(40, start).unwrap();
        let second = window.take(40, start + seconds(5)).unwrap();
        assert_eq!(window.take(30, start + seconds(6)), Err(start + MINUTE));
        assert_eq!(window.take(70, start + seconds(6)), Err(start + seconds(65)));
        window.correct(second, 10);
        assert!(window.take(30, start + seconds(6)).is_ok());
    }

    #[test]
    fn pause_holds_everything_back() {
        let start = Instant::now();
        let mut window = Window::new(None, None);
        window.pause(start + seconds(9));
        window.pause(start + seconds(3));
        assert_eq!(window.take(1, start + seconds(4)), Err(start + seconds(9)));
        assert!(window.take(1, start + seconds(9)).is_ok());
    }

    proptest! {
        /// Whoever waits as he is told gets through, and no minute holds more than the limits.
        #[test]
        fn no_minute_exceeds_the_limits(
            (max_requests, max_tokens) in (1_usize..6, 10_u64..50),
            asked in prop::collection::vec((0_u64..40, 0_u64..10), 1..60),
        ) {
            let mut window = Window::new(Some(max_requests), Some(max_tokens));
            let mut now = Instant::now();
            let mut sent: Vec<(Instant, u64)> = Vec::new();
            for (pause, tokens) in asked {
                now += seconds(pause);
                let mut tries = 0;
                while let Err(ready) = window.take(tokens, now) {
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
