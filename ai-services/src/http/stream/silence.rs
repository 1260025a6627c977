//! How long a server may be silent in the middle of an answer.

use crate::http::body::Broken;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// How much longer a silence may last than its limit. After a reader that was away for long, the
/// runtime gets this time to find out that the connection was not silent at all.
const GRACE: Duration = Duration::from_millis(20);

/// Measures silences with one timer, which is set only when there is one.
pub(super) struct Silence {
    limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Talking,
    Silent,
    Late,
}

impl Silence {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, timer: None, phase: Phase::Talking }
    }

    /// Something came.
    pub(super) fn end(&mut self) {
        self.phase = Phase::Talking;
    }

    /// Nothing came. Ready when that has been so for too long.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Broken> {
        if self.phase == Phase::Talking {
            self.set(self.limit, Phase::Silent);
        }
        // No timer: the limit lies beyond what a clock can measure.
        let Some(timer) = &mut self.timer else { return Poll::Pending };
        ready!(timer.as_mut().poll(context));
        if self.phase == Phase::Late {
            return Poll::Ready(Broken::Silent(self.limit));
        }
        self.set(GRACE, Phase::Late);
        match &mut self.timer {
            Some(timer) => timer.as_mut().poll(context).map(|()| Broken::Silent(self.limit)),
            None => Poll::Pending,
        }
    }

    fn set(&mut self, after: Duration, phase: Phase) {
        self.phase = phase;
        let Some(end) = Instant::now().checked_add(after) else { return };
        match &mut self.timer {
            Some(timer) => timer.as_mut().reset(end),
            None => self.timer = Some(Box::pin(tokio::time::sleep_until(end))),
        }
    }
}
