//! The `tracing` spans of model calls, with the attributes of OpenTelemetry's conventions.
//!
//! A span that no subscriber records costs a comparison: fields are computed only for a recorded span. Names,
//! numbers and kinds are recorded, texts of conversations never.

mod chat;
mod embedding;
mod step;
mod stream_clock;

pub use chat::{Delivery, chat, chat_span, record_failure, record_response, record_usage, stream};
pub use embedding::embed;
pub use step::StepSpan;
pub use stream_clock::StreamClock;

use std::time::Instant;
use tracing::level_filters::LevelFilter;

/// Returns the current time if a subscriber may record spans.
#[must_use]
pub fn start_time() -> Option<Instant> {
    (LevelFilter::current() >= LevelFilter::INFO).then(Instant::now)
}

/// Returns a count as the integer type that all subscribers record as a number.
#[must_use]
pub fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
