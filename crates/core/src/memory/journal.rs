//! The journals of open turns.

use super::LeaseToken;
use crate::error::{Error, ErrorKind, Result};
use crate::forward::forward_through_arc;
use crate::invocation::{MemoryId, TurnId};
use async_trait::async_trait;
use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

/// The journals of a store: at most one open journal for each conversation.
///
/// A journal holds the records of a turn that is not finished, so that another process can resume it. The
/// conversation stays unchanged until the turn is committed: a [`Change`](super::Change) that
/// [closes](super::Change::closing) the journal stores the turn and deletes the journal in one atomic step.
///
/// Each write names the position of the journal that it is based on (optimistic locking). Of several writers at
/// one position, one succeeds, and the others get a conflict. A process that was paused for so long that
/// another one resumed its turn can therefore append nothing.
///
/// [`ChatMemoryStore::load`](super::ChatMemoryStore::load) returns the position of the open journal with the
/// [snapshot](super::Snapshot::journal), without an additional round trip.
/// [`ChatMemoryStore::delete_messages`](super::ChatMemoryStore::delete_messages) deletes the journal, too.
///
/// `ai_services::testing::stores` (feature `testing`) checks the whole contract of this trait.
///
/// Implementations carry `#[ai_services::async_trait]`. Without it, the compiler reports that "lifetime
/// parameters or bounds on method … do not match the trait declaration".
#[async_trait]
pub trait TurnJournals: Send + Sync {
    /// Returns the open journal of this conversation, in one consistent read.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read, or with the detail
    /// [`UnreadableRecord`](super::UnreadableRecord) if a record is damaged.
    async fn journal(&self, id: &MemoryId) -> Result<Option<TurnJournal>>;

    /// Appends the records in one atomic step: all of them or none. Returns the new position.
    ///
    /// A position of length 0 opens the journal. No journal of the conversation may be open then.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if the journal no longer has this position,
    /// or if `lease` is no longer held. Returns
    /// [`ErrorKind::UnknownOutcome`](crate::ErrorKind::UnknownOutcome) if the records may have been appended,
    /// for example because the connection broke before the answer arrived. Otherwise fails if the store cannot
    /// be written; the journal is unchanged then.
    async fn append(
        &self,
        id: &MemoryId,
        position: JournalPosition,
        records: &[String],
        lease: Option<LeaseToken>,
    ) -> Result<JournalPosition>;

    /// Deletes the journal without a commit.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if the journal no longer has this position,
    /// or is no longer open. A journal that was deleted although the answer was lost is a conflict for a
    /// second attempt. Otherwise fails if the store cannot be written.
    async fn discard(&self, id: &MemoryId, position: JournalPosition) -> Result<()>;

    /// Returns at most `limit` open journals. Each page starts behind the id `after`, in an order that the
    /// store chooses.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read, or if the limit is 0.
    async fn open_journals(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<OpenJournal>>;
}

forward_through_arc! {
    TurnJournals {
        async fn journal<'a, 'b>(&'a self, id: &'b MemoryId) -> Result<Option<TurnJournal>>;
        async fn append<'a, 'b, 'c>(
            &'a self,
            id: &'b MemoryId,
            position: JournalPosition,
            records: &'c [String],
            lease: Option<LeaseToken>,
        ) -> Result<JournalPosition>;
        async fn discard<'a, 'b>(
            &'a self,
            id: &'b MemoryId,
            position: JournalPosition,
        ) -> Result<()>;
        async fn open_journals<'a, 'b>(
            &'a self,
            after: Option<&'b MemoryId>,
            limit: usize,
        ) -> Result<Vec<OpenJournal>>;
    }
}

/// A position in the journal of a turn: the number of its records.
///
/// The text form is `turn:length`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JournalPosition {
    /// The turn of the journal.
    pub turn: TurnId,
    /// Number of records.
    pub length: u64,
}

impl JournalPosition {
    /// Creates the position that opens the journal of a turn.
    #[must_use]
    pub const fn start(turn: TurnId) -> Self {
        Self { turn, length: 0 }
    }

    /// Returns the position behind `count` more records.
    #[must_use]
    pub fn advanced(self, count: usize) -> Self {
        Self { length: self.length.saturating_add(count as u64), ..self }
    }
}

impl fmt::Display for JournalPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.turn, self.length)
    }
}

impl FromStr for JournalPosition {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parsed = text.split_once(':').and_then(|(turn, length)| {
            Some(Self { turn: turn.parse().ok()?, length: length.parse().ok()? })
        });
        let error = || Error::new(ErrorKind::Store, format!("invalid journal position `{text}`"));
        parsed.ok_or_else(error)
    }
}

/// The open journal of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnJournal {
    /// The turn of the journal.
    pub turn: TurnId,
    /// The records, oldest first. At least one.
    pub records: Vec<String>,
}

impl TurnJournal {
    /// Creates a journal.
    #[must_use]
    pub fn new(turn: TurnId, records: Vec<String>) -> Self {
        Self { turn, records }
    }

    /// Returns the position behind the last record.
    #[must_use]
    pub fn position(&self) -> JournalPosition {
        JournalPosition::start(self.turn).advanced(self.records.len())
    }
}

/// An entry in the list of open journals.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenJournal {
    /// Id of the conversation.
    pub id: MemoryId,
    /// The position behind the last record.
    pub position: JournalPosition,
    /// Time of the last append, in milliseconds, by the writer's clock.
    pub last_updated: SystemTime,
}

impl OpenJournal {
    /// Creates an entry.
    #[must_use]
    pub fn new(id: MemoryId, position: JournalPosition, last_updated: SystemTime) -> Self {
        Self { id, position, last_updated }
    }
}

/// Creates the error of a write that is based on another position of the journal.
pub fn journal_moved(id: &MemoryId) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!(
            "the journal of the conversation `{id}` has changed: another process resumed, finished or \
             cancelled its turn"
        ),
    )
    .with_retryable(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_round_trips_as_text() {
        let position = JournalPosition::start(TurnId::new()).advanced(7);
        assert_eq!(position.to_string().parse::<JournalPosition>().unwrap(), position);
        for text in ["", ":", "1:2", &format!("{}:-1", position.turn)] {
            assert!(text.parse::<JournalPosition>().is_err(), "{text}");
        }
    }
}
