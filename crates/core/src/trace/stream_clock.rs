//! The times of a streamed answer.

use crate::error::Result;
use crate::model::ModelStreamEvent;
use std::time::Instant;
use tracing::Span;

/// Measures the times of the pieces of an answer. Measures nothing if the span of the request is not recorded.
#[derive(Debug)]
pub struct StreamClock {
    span: Span,
    started: Option<Instant>,
    first: Option<Instant>,
    last: Option<Instant>,
    chunks: i64,
}

impl StreamClock {
    /// Starts with the request of this span.
    #[must_use]
    pub fn start(span: &Span) -> Self {
        let started = (!span.is_disabled()).then(Instant::now);
        Self { span: span.clone(), started, first: None, last: None, chunks: 0 }
    }

    /// Counts an event of the stream that is a piece of the answer. Records the times at the last event.
    pub fn observe(&mut self, event: Option<&Result<ModelStreamEvent>>) {
        let Some(started) = self.started else { return };
        match event {
            Some(Ok(ModelStreamEvent::Completed(_)) | Err(_)) => self.record(started),
            Some(Ok(_)) => {
                let now = Instant::now();
                self.first.get_or_insert(now);
                self.last = Some(now);
                self.chunks = self.chunks.saturating_add(1);
            }
            None => {}
        }
    }

    /// Records the time to the first piece, the time from the first to the last one, and their number.
    fn record(&self, started: Instant) {
        if let (Some(first), Some(last)) = (self.first, self.last) {
            let to_first = first.duration_since(started).as_secs_f64();
            self.span.record("gen_ai.response.time_to_first_chunk", to_first);
            let streaming = last.duration_since(first).as_secs_f64();
            self.span.record("ai_services.response.streaming_time", streaming);
            self.span.record("ai_services.response.chunks", self.chunks);
        }
    }
}
