//! Tests of every store of conversations.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails panics"
)]
#![allow(clippy::disallowed_methods, reason = "servers and concurrent writers run in tasks")]

#[cfg(feature = "cassandra")]
mod cassandra;
mod in_memory;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "sqlite")]
mod sqlite;
