//! What a store reports when it cannot read what it kept.

use super::MemoryId;
use crate::error::{Error, ErrorKind};
use std::fmt;

/// A row of a store that cannot be read: the [detail](Error::detail) of an error of kind
/// [`ErrorKind::Memory`].
///
/// Nothing is written to a conversation with such a row, so that nothing more is lost.
/// [`ConversationStore::export_raw`](super::ConversationStore::export_raw) gives what is stored;
/// [`delete_messages`](super::ChatMemoryStore::delete_messages) gives the conversation up.
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
/// # assert!(!must_update(&ai_services::Error::new(ai_services::ErrorKind::Memory, "no row")));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UnreadableRecord {
    /// The conversation.
    pub id: MemoryId,
    /// The row, in the store's own terms, for example `message 7`.
    pub row: String,
    /// What is wrong with it.
    pub problem: UnreadableProblem,
}

/// Why a row cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnreadableProblem {
    /// The row is not what was written, for this reason.
    Corrupt(String),
    /// The row was written by a newer version of this crate.
    Newer {
        /// The version of the row's format.
        found: u32,
        /// The newest version that this build reads.
        supported: u32,
    },
}

impl UnreadableRecord {
    /// A row that is not what was written, and why.
    #[must_use]
    pub fn corrupt(id: &MemoryId, row: impl fmt::Display, reason: impl fmt::Display) -> Self {
        let problem = UnreadableProblem::Corrupt(reason.to_string());
        Self { id: id.clone(), row: row.to_string(), problem }
    }

    /// A row in a format that is too new.
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
        Self::new(ErrorKind::Memory, record.to_string()).with_source(record)
    }
}
