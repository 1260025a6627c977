//! Tests of every embedding store in a database.
#![cfg(any(feature = "sqlite", feature = "postgres"))]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails panics"
)]
#![allow(clippy::disallowed_methods, reason = "concurrent writers run in tasks")]

mod crash;
mod filters;
mod measure;
#[cfg(feature = "postgres")]
mod postgres;
mod samples;
#[cfg(feature = "sqlite")]
mod sqlite;
mod words;
