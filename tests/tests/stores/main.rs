//! What every store promises, checked on each of them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails panics"
)]
#![allow(clippy::disallowed_methods, reason = "servers and rivals run beside the test")]

#[cfg(feature = "cassandra")]
mod cassandra;
mod in_memory;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "sqlite")]
mod sqlite;
