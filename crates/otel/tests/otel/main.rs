//! Telemetry as an exporter gets it.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests panic on failure"
)]

mod attributes;
mod content;
mod fixture;
mod metrics;
mod otlp;
mod scenarios;
