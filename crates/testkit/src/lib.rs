//! Test suites for stores and guardrails, and cassettes that record and replay models.
//!
//! Part of [`ai-services`](https://docs.rs/ai-services), which re-exports everything here behind its feature
//! `testing` as `ai_services::testing` and `ai_services::combinators`.

mod cassette;
pub mod embedding_stores;
pub mod guardrails;
mod report;
pub mod stores;

pub use cassette::{
    CorruptCassette, ExistingCassette, NotRecorded, RecordingModel, RecordingModelBuilder,
    ReplayModel, ReplayModelBuilder, ReplayOrder, ReplayUse, WriteErrorPolicy,
};
