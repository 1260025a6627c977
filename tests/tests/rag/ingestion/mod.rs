//! Ingestion: requests to the model, entries of the store, and repeated runs.

mod collections;
mod failures;
mod fixture;
mod interrupted;
mod progress;
mod repeated_runs;
mod requests;
