//! Streamed answers.

mod answer_stream;
mod event_queue;
mod late_items;
mod views;

pub use answer_stream::{AnswerStream, StreamReturn};
pub(super) use event_queue::{EventQueue, StreamItem};
pub(super) use late_items::{emit_round, emit_text, emit_thinking};
pub use views::{PartialStream, TextStream};
