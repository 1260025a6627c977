//! Building blocks for crates that implement a store of conversations or of embeddings.
//!
//! The stores for SQLite, PostgreSQL, Redis and Cassandra are built on this module. An author of another
//! store uses it for the parts that do not depend on the database: validation of ids and names, the numbering
//! of rows, the record format with its checksum, and the crash points of the tests.
//!
//! | module | use it to |
//! |---|---|
//! | [`limits`] | validate ids and table names before a request is sent |
//! | [`plan`] | turn a [`Change`](crate::memory::Change) into rows to delete and rows to insert, and rows into a [`Snapshot`](crate::memory::Snapshot) |
//! | [`record`] | encode one message with a format version and a checksum, and decode it |
//! | [`time`] | store times as milliseconds |
//! | [`embeddings`] | validate and normalize embeddings, and split a search text into words |
//! | [`failpoint`] | abort the process at a named point, in crash tests |
//!
//! # Implementing a store of conversations
//!
//! A store keeps one head for each conversation, with its version and its number of messages, and one row for
//! each message, with its number and its record.
//!
//! - `load`: call [`limits::check_id`], read the head and all rows in memory in one consistent read, and pass
//!   them to [`plan::snapshot`]. It reports missing, surplus, reordered and damaged rows.
//! - `commit`: call [`limits::check_id`]. If [`CommitPlan::for_advance`](plan::CommitPlan::for_advance)
//!   returns a plan, no row has to be read; otherwise read the rows and call
//!   [`CommitPlan::for_replacement`](plan::CommitPlan::for_replacement). Then apply the plan in one atomic
//!   step, on the condition that the head still has the expected version: delete the rows in `evicted` (or
//!   move them to the history), insert `rows`, and write the new version and number of messages to the head.
//! - The history: decode each row with [`record::decode`].
//!
//! If the answer to a commit can get lost, store a random token with the commit, so that a retry detects that
//! the first attempt was applied.
//!
//! Test the store with `ai_services::testing::stores::StoreSuite`.
//!
//! # Implementing a store of embeddings
//!
//! Pass new entries through [`embeddings::CheckedEntries::new`] and search vectors through
//! [`embeddings::normalized`], so that cosine similarity is a dot product. [`embeddings::SearchWords::parse`]
//! splits a search text. Test the store with `ai_services::testing::embedding_stores::EmbeddingStoreSuite`.

#[doc(inline)]
pub use crate::memory::{check_limit, conflict, lease_lost, random};

pub mod embeddings;
pub mod failpoint;
pub mod limits;
pub mod plan;
pub mod record;
pub mod time;
