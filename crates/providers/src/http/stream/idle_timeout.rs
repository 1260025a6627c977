//! How long a server may be silent in the middle of an answer.

use crate::http::body::Broken;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// How much longer a silence may last than its limit. After a reader that was away for long, the
/// runtime gets this time to find out that the connection was not silent at all.
const GRACE: Duration = Duration::from_millis(20);

/// Measures silences with one timer. It is not set anew for each of them: when it rings too early, it
/// is set to the time at which the current silence is too long.
pub(super) struct IdleTimeout {
    limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    phase: Phase,
}

#[derive(Clone, Copy)]
enum Phase {
    Talking,
    /// Until this time silence is allowed; `None` is beyond what a clock can measure.
    Silent(Option<Instant>),
    Late(Instant),
}

impl IdleTimeout {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, timer: None, phase: Phase::Talking }
    }

    /// Something came.
    pub(super) fn end(&mut self) {
        self.phase = Phase::Talking;
    }

    /// Nothing came. Ready when that has been so for too long.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Broken> {
        if let Phase::Talking = self.phase {
            self.phase = Phase::Silent(Instant::now().checked_add(self.limit));
        }
        loop {
            let end = match self.phase {
                Phase::Silent(Some(end)) | Phase::Late(end) => end,
                Phase::Talking | Phase::Silent(None) => return Poll::Pending,
            };
            let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
            if timer.deadline() > end {
                timer.as_mut().reset(end);
            }
            ready!(timer.as_mut().poll(context));
            if timer.deadline() < end {
                timer.as_mut().reset(end);
                continue;
            }
            match self.phase {
                Phase::Late(_) => return Poll::Ready(Broken::Silent(self.limit)),
                _ => self.phase = Phase::Late(Instant::now().checked_add(GRACE).unwrap_or(end)),
            }
        }
    }
}
