//! Ingestion: what the model is asked, what the store has then, and what a second run does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails panics"
)]

#[path = "ingestion/again.rs"]
mod again;
#[path = "ingestion/desk.rs"]
mod desk;
#[path = "ingestion/failures.rs"]
mod failures;
#[path = "ingestion/interrupted.rs"]
mod interrupted;
#[path = "ingestion/progress.rs"]
mod progress;
#[path = "ingestion/requests.rs"]
mod requests;
#[path = "ingestion/several.rs"]
mod several;
