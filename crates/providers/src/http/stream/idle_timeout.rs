//! The idle timeout of streams.

use crate::http::body::BodyError;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// Grace period after the timeout. If the stream was not polled for a long time, the runtime needs this
/// time to find the data that has arrived.
const GRACE: Duration = Duration::from_millis(20);

/// Measures idle periods with one timer.
///
/// The timer is not reset for each period: if it fires too early, it is reset to the end of the current
/// period.
pub(super) struct IdleTimeout {
    limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    phase: Phase,
}

#[derive(Clone, Copy)]
enum Phase {
    /// Data has arrived, and no idle period has begun.
    Active,
    /// The timeout is at this time; `None` if the time is out of range.
    Idle(Option<Instant>),
    /// The timeout has passed. The grace period ends at this time.
    Grace(Instant),
}

impl IdleTimeout {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, timer: None, phase: Phase::Active }
    }

    /// Ends the idle period because data has arrived.
    pub(super) fn reset(&mut self) {
        self.phase = Phase::Active;
    }

    /// Polls the timeout while there is no data. Ready with [`BodyError::Idle`] after the timeout.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<BodyError> {
        if let Phase::Active = self.phase {
            self.phase = Phase::Idle(Instant::now().checked_add(self.limit));
        }
        loop {
            let end = match self.phase {
                Phase::Idle(Some(end)) | Phase::Grace(end) => end,
                Phase::Active | Phase::Idle(None) => return Poll::Pending,
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
                Phase::Grace(_) => return Poll::Ready(BodyError::Idle(self.limit)),
                _ => self.phase = Phase::Grace(Instant::now().checked_add(GRACE).unwrap_or(end)),
            }
        }
    }
}
