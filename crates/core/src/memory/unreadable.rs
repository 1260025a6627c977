//! Errors of records that a store cannot read.

use super::MemoryId;
use crate::error::{Error, ErrorKind};
use std::fmt;

/// A row of a store that cannot be read: the [detail](Error::detail) of an error of kind
/// [`ErrorKind::Store`].
///
/// A store rejects writes to a conversation with an unreadable row, to prevent further loss.
/// [`ConversationStore::export_raw`](super::ConversationStore::export_raw) returns the stored
/// bytes. [`delete_messages`](super::ChatMemoryStore::delete_messages) deletes the conversation.
///
/// # Examples
///
/// ```
/// use ai_services::memory::{UnreadableProblem, UnreadableRecord};
///
/// fn must_update(error: &ai_services::Error) -> bool {
///     let record = error.detail::<UnreadableRecord>();
///     record.is_some_and(|record| matches!(record.problem, UnreadableProblem::Newer { .. }))
/// }
/// # assert!(!must_update(&ai_services::Error::new(ai_services::ErrorKind::Store, "no row")));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UnreadableRecord {
    /// The id of the conversation.
    pub id: MemoryId,
    /// The name of the row, in the store's own terms, for example `message 7`.
    pub row: String,
    /// The reason why the row cannot be read.
    pub problem: UnreadableProblem,
}

/// The reason why a row cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnreadableProblem {
    /// The content is corrupt, with a description of the problem.
    Corrupt(String),
    /// The row was written by a newer version of this crate.
    Newer {
        /// The format version of the row.
        found: u32,
        /// The newest format version that this build reads.
        supported: u32,
    },
}

impl UnreadableRecord {
    /// Creates the error of a corrupt row.
    #[must_use]
    pub fn corrupt(id: &MemoryId, row: impl fmt::Display, reason: impl fmt::Display) -> Self {
        let problem = UnreadableProblem::Corrupt(reason.to_string());
        Self { id: id.clone(), row: row.to_string(), problem }
    }

    /// Creates the error of a row with a format that is too new.
    #[must_use]
    pub fn newer(id: &MemoryId, row: impl fmt::Display, found: u32, supported: u32) -> Self {
        let problem = UnreadableProblem::Newer { found, supported };
        Self { id: id.clone(), row: row.to_string(), problem }
    }
}

impl fmt::Display for UnreadableRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, row, problem } = self;
        write!(f, "{row} of the conversation `{id}` ")?;
        match problem {
            UnreadableProblem::Corrupt(reason) => write!(f, "is corrupt: {reason}"),
            UnreadableProblem::Newer { found, supported } => write!(
                f,
                "has format version {found}; this build reads up to {supported}, update ai-services"
            ),
        }
    }
}

impl std::error::Error for UnreadableRecord {}

impl From<UnreadableRecord> for Error {
    fn from(record: UnreadableRecord) -> Self {
        Self::new(ErrorKind::Store, record.to_string()).with_source(record)
    }
}
