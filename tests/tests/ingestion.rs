//! Ingestion: requests to the model, entries of the store, and repeated runs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failing test panics"
)]

#[path = "ingestion/collections.rs"]
mod collections;
#[path = "ingestion/failures.rs"]
mod failures;
#[path = "ingestion/fixture.rs"]
mod fixture;
#[path = "ingestion/interrupted.rs"]
mod interrupted;
#[path = "ingestion/progress.rs"]
mod progress;
#[path = "ingestion/repeated_runs.rs"]
mod repeated_runs;
#[path = "ingestion/requests.rs"]
mod requests;
