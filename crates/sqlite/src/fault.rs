//! What went wrong in a thread of the store, before it is said what it prevented.

use ai_services_core::memory::{MemoryId, UnreadableRecord};
use ai_services_core::{Error, ErrorKind};
use rusqlite::ErrorCode;

/// Why something was not done.
#[derive(Debug)]
pub(super) enum Fault {
    /// The database refused it.
    Sqlite(rusqlite::Error),
    /// It must not be done, whatever the database says.
    Refused(Error),
    /// The thread panicked while it did it.
    Panicked,
    /// The store is closed, or its thread is gone.
    Closed,
}

/// What was to be done, for the text of an error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Action<'a> {
    /// For example `load`.
    pub(super) verb: &'static str,
    /// `None` for all conversations.
    pub(super) id: Option<&'a MemoryId>,
}

impl Fault {
    /// The error that a caller gets.
    pub(super) fn into_error(self, action: Action<'_>) -> Error {
        let subject = match action.id {
            Some(id) => format!("{} the conversation `{id}`", action.verb),
            None => format!("{} conversations", action.verb),
        };
        match (self, action.id) {
            (Self::Sqlite(error), Some(id)) if is_damage(&error) => {
                UnreadableRecord::corrupt(id, "the database file or a row", error).into()
            }
            (fault, _) => fault.explain(&subject),
        }
    }

    /// The error that a caller gets who wanted something done, for example `load conversations`.
    pub(super) fn explain(self, wanted: &str) -> Error {
        match self {
            Self::Refused(error) => error,
            Self::Sqlite(error) => describe(error, &format!("cannot {wanted} in SQLite")),
            Self::Panicked => Error::new(
                ErrorKind::Store,
                format!(
                    "cannot {wanted}: a thread of the SQLite store panicked; nothing was changed"
                ),
            ),
            Self::Closed => {
                Error::new(ErrorKind::Store, format!("cannot {wanted}: the SQLite store is closed"))
            }
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<UnreadableRecord> for Fault {
    fn from(record: UnreadableRecord) -> Self {
        Self::Refused(record.into())
    }
}

/// What the database said, with what that means for whoever runs the program.
pub(super) fn describe(error: rusqlite::Error, problem: &str) -> Error {
    let (kind, advice) = match error.sqlite_error_code() {
        _ if is_busy(&error) => (
            ErrorKind::Timeout,
            "; another process kept it locked for the whole busy timeout, nothing was changed",
        ),
        _ if is_damage(&error) => {
            (ErrorKind::Store, "; the file is damaged or no database, restore it from a backup")
        }
        Some(ErrorCode::DiskFull) => {
            (ErrorKind::Store, "; nothing was changed, free some space and try again")
        }
        // A journal that cannot be made beside the file is one that cannot be opened.
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen) => {
            (ErrorKind::Store, "; nothing was changed, the file and its directory must be writable")
        }
        _ => (ErrorKind::Store, ""),
    };
    Error::new(kind, format!("{problem}: {error}{advice}")).with_source(error)
}

/// Whether the same may succeed as soon as others let go of the file.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed
        )
    )
}

/// Whether the file or a value in it is not what was written.
fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error as E;
    match error {
        E::SqliteFailure(failure, _) => matches!(
            failure.code,
            // A number that is given twice shows that a head has lost count.
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::ConstraintViolation
        ),
        E::InvalidColumnType(..)
        | E::FromSqlConversionFailure(..)
        | E::IntegralValueOutOfRange(..)
        | E::Utf8Error(..) => true,
        _ => false,
    }
}

/// The same error once more, for each of those whom one failure concerns.
pub(super) fn same(error: &rusqlite::Error) -> rusqlite::Error {
    match error {
        rusqlite::Error::SqliteFailure(failure, text) => {
            rusqlite::Error::SqliteFailure(*failure, text.clone())
        }
        // Statements that begin and end transactions fail in the database or not at all.
        other => rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ERROR),
            Some(other.to_string()),
        ),
    }
}
