//! Spans with an outcome.

use crate::error::Error;
use std::fmt::Debug;
use tracing::{Instrument, Span, field};

/// A span whose outcome is recorded in any case.
///
/// A span that is dropped without an outcome belongs to a future that was dropped, or to a panic.
#[derive(Debug)]
pub struct StepSpan {
    span: Span,
    is_open: bool,
}

impl StepSpan {
    /// Takes over a span that declares the fields `error.type` and `otel.status_code`.
    #[must_use]
    pub fn new(span: Span) -> Self {
        let is_open = !span.is_disabled();
        Self { span, is_open }
    }

    /// Returns the span.
    #[must_use]
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// Runs a future within the span. Without a recorded span, the future runs as it is.
    pub async fn run<F: Future>(&self, future: F) -> F::Output {
        if self.span.is_disabled() {
            future.await
        } else {
            future.instrument(self.span.clone()).await
        }
    }

    /// Returns `true` if the span is recorded and has no outcome yet.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Records an outcome.
    pub fn end<T>(&mut self, outcome: &Result<T, Error>) {
        match outcome {
            Ok(_) => self.succeed(),
            Err(error) => self.fail(&error.kind()),
        }
    }

    /// Records success, which has no attribute.
    pub fn succeed(&mut self) {
        self.is_open = false;
    }

    /// Records the kind of an error.
    pub fn fail(&mut self, kind: &dyn Debug) {
        if self.is_open {
            self.is_open = false;
            self.span.record("error.type", field::debug(kind));
            self.span.record("otel.status_code", "ERROR");
        }
    }
}

impl Drop for StepSpan {
    fn drop(&mut self) {
        if self.is_open {
            let reason = if std::thread::panicking() { "panic" } else { "cancelled" };
            self.span.record("error.type", reason);
            self.span.record("otel.status_code", "ERROR");
        }
    }
}
