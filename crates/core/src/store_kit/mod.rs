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
//! | [`cache`] | keep loaded conversations, and read only what is new |
//! | [`commits`] | detect a commit that was applied although its answer was lost |
//! | [`journal`] | number and encode the records of journals, and detect an append whose answer was lost |
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
//! - To make the cost of a turn independent of the length of the conversation, load through a
//!   [`cache::ConversationCache`], which takes the place of [`plan::snapshot`].
//! - The history: decode each row with [`record::decode`].
//!
//! - The log of commits: the head contains a [`commits::CommitLog`], to which every commit adds the
//!   [entry](commits::PendingCommit::entry) of its [`commits::PendingCommit`] in the same atomic step. If an
//!   answer is lost, [`settle`](commits::PendingCommit::settle) decides whether the commit was applied, was not
//!   applied, or has an unknown outcome. The log also answers
//!   [`commit_state`](crate::memory::ChatMemoryStore::commit_state).
//!
//! - Journals, for durable turns: implement [`TurnJournals`](crate::memory::TurnJournals) with the rows of
//!   [`journal::PendingAppend`], return the position of the open journal with each snapshot, and delete the
//!   journal in the commit that [closes](crate::memory::Change::closed_journal) it.
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
pub use crate::memory::{check_limit, conflict, journal_moved, lease_lost};
pub use crate::random::random;

/// Detection of commits that were applied although their answer was lost.
///
/// ```
/// use ai_services::memory::{Change, MemoryId};
/// use ai_services::store::kit::commits::{CommitLog, PendingCommit, Settled};
///
/// # fn main() -> ai_services::Result<()> {
/// let change = Change::advance(Some(7), 0..0, Vec::new());
/// let commit = PendingCommit::new(&MemoryId::from("ann"), &change);
///
/// // The first attempt at version 7 is applied, but the connection breaks. Two other commits follow.
/// let mut log = CommitLog::default();
/// log.push(commit.entry(7));
/// commit.lose_answer(7);
/// for version in [8, 9] {
///     log.push(PendingCommit::new(&MemoryId::from("ann"), &change).entry(version));
/// }
///
/// // The second attempt is refused at version 10. It must not be reported as a conflict.
/// assert_eq!(commit.settle(10, &log)?, Settled::Applied);
/// # Ok(())
/// # }
/// ```
pub mod commits {
    #[doc(inline)]
    pub use crate::memory::{
        CommitLog, ENTRY_BYTES, KEPT_COMMITS, MAX_LOG_BYTES, PendingCommit, Settled,
    };
}
pub mod cache;
pub mod embeddings;
pub mod failpoint;
pub mod journal;
pub mod limits;
pub mod plan;
pub mod record;
pub mod time;
