//! Stores of conversations and of embeddings, and the servers that their tests start.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests panic on failure"
)]
#![allow(clippy::disallowed_methods, reason = "servers and concurrent writers run in tasks")]

mod cached;
#[cfg(feature = "cassandra")]
mod cassandra;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod embedding_stores;
mod in_memory;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg(target_os = "linux")]
mod servers;
#[cfg(feature = "sqlite")]
mod sqlite;
mod summaries;
