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
//! ```
//! use ai_services::memory::{Change, MemoryId};
//! use ai_services::message::ChatMessage;
//! use ai_services::store::kit::plan::{CommitPlan, ConversationHead, snapshot};
//!
//! # fn main() -> ai_services::Result<()> {
//! let id = MemoryId::from("ann");
//! let turn = vec![ChatMessage::user("Hi."), ChatMessage::ai("Hello.")];
//! let change = Change::advance(None, 0..0, turn.clone());
//! let Some(plan) = CommitPlan::for_advance(&id, 0, &change)? else { unreachable!("not a replacement") };
//!
//! // The database now stores `plan.rows` and this head, in one atomic step. Later it loads them.
//! let head = ConversationHead { version: plan.version, messages: 2 };
//! let loaded = snapshot(&id, Some(head), &plan.rows)?;
//! assert!(loaded.messages().iter().eq(&turn));
//!
//! // A missing row is reported.
//! assert!(snapshot(&id, Some(head), &plan.rows[..1]).is_err());
//! # Ok(())
//! # }
//! ```
//!
//! # Implementing a store of embeddings
//!
//! Pass new entries through [`embeddings::CheckedEntries::new`] and search vectors through
//! [`embeddings::normalized`], so that cosine similarity is a dot product. [`embeddings::SearchWords::parse`]
//! splits a search text. Test the store with `ai_services::testing::embedding_stores::EmbeddingStoreSuite`.
//!
//! ```
//! use ai_services::document::TextSegment;
//! use ai_services::embedding::EmbeddingEntry;
//! use ai_services::store::kit::embeddings::{CheckedEntries, SearchWords, normalized};
//!
//! # fn main() -> ai_services::Result<()> {
//! let entry = EmbeddingEntry::new("a", vec![3.0, 4.0], TextSegment::new("Bananas are berries."));
//! let checked = CheckedEntries::new(vec![entry], None)?;
//! assert_eq!(checked.entries[0].vector, normalized(&[3.0, 4.0]));
//! assert_eq!(checked.dimensions, Some(2));
//!
//! let words = SearchWords::parse("bananas, berries!").map(|found| found.words);
//! assert_eq!(words, Some(vec!["bananas", "berries"]));
//! # Ok(())
//! # }
//! ```

#[doc(inline)]
pub use crate::memory::{check_limit, conflict, lease_lost, random};

pub mod embeddings;
pub mod failpoint;
pub mod limits;
pub mod plan;
pub mod record;
pub mod time;
