//! What every embedding store in a database promises, checked on each of them.
#![cfg(any(feature = "sqlite", feature = "postgres"))]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails panics"
)]
#![allow(clippy::disallowed_methods, reason = "rivals run beside the test")]

mod crash;
mod filters;
mod measure;
#[cfg(feature = "postgres")]
mod postgres;
mod samples;
#[cfg(feature = "sqlite")]
mod sqlite;
mod words;
