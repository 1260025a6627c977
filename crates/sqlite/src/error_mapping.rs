//! Mapping of SQLite errors and thread failures to [`Error`].

use ai_services_core::memory::{MemoryId, UnreadableRecord};
use ai_services_core::{Error, ErrorKind};
use rusqlite::ErrorCode;
use std::path::PathBuf;

/// The error of a task on a thread of the store.
#[derive(Debug)]
pub(super) enum TaskFailure {
    /// SQLite failed.
    Sqlite(rusqlite::Error),
    /// `COMMIT` failed with an error of the disk. The transaction may reappear after a crash, because its pages
    /// may be in the write-ahead log.
    Unacknowledged(rusqlite::Error),
    /// The file was deleted or replaced while it was open.
    FileLost {
        /// The path that no longer leads to the open file.
        path: PathBuf,
        /// `true` if the old file may contain the changes of the task.
        may_be_applied: bool,
    },
    /// A check of the store failed.
    Refused(Error),
    /// The task panicked.
    Panicked,
    /// The store is closed, its thread has ended, or the task was cancelled.
    Closed,
}

/// Description of an operation on conversations, for error messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation<'a> {
    /// Verb, for example `load`.
    pub(super) verb: &'static str,
    /// Id of the conversation; `None` for all conversations.
    pub(super) id: Option<&'a MemoryId>,
}

impl TaskFailure {
    /// Returns the failure of a `COMMIT`.
    pub(super) fn of_commit(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::SystemIoFailure) => Self::Unacknowledged(error),
            _ => Self::Sqlite(error),
        }
    }

    /// Returns the failure of a check after a successful `COMMIT`.
    pub(super) fn after_commit(self) -> Self {
        match self {
            Self::FileLost { path, .. } => Self::FileLost { path, may_be_applied: true },
            other => other,
        }
    }

    /// Returns whether the changes of the task may have been applied.
    pub(super) fn may_be_applied(&self) -> bool {
        matches!(self, Self::Unacknowledged(_) | Self::FileLost { may_be_applied: true, .. })
    }

    /// Returns whether a task of a failed transaction may succeed in a transaction of its own.
    pub(super) fn may_succeed_alone(&self) -> bool {
        match self {
            Self::Sqlite(error) | Self::Unacknowledged(error) => !is_busy(error),
            Self::FileLost { .. } | Self::Refused(_) | Self::Panicked | Self::Closed => false,
        }
    }

    /// Copies the failure of a transaction, for each of its tasks.
    pub(super) fn copy(&self) -> Self {
        match self {
            Self::Sqlite(error) => Self::Sqlite(copy_error(error)),
            Self::Unacknowledged(error) => Self::Unacknowledged(copy_error(error)),
            Self::FileLost { path, may_be_applied } => {
                Self::FileLost { path: path.clone(), may_be_applied: *may_be_applied }
            }
            Self::Refused(error) => Self::Refused(Error::new(error.kind(), error.to_string())),
            Self::Panicked => Self::Panicked,
            Self::Closed => Self::Closed,
        }
    }

    /// Returns the error for the caller.
    pub(super) fn into_error(self, action: Operation<'_>) -> Error {
        let subject = match action.id {
            Some(id) => format!("{} the conversation `{id}`", action.verb),
            None => format!("{} conversations", action.verb),
        };
        match (self, action.id) {
            (Self::Sqlite(error), Some(id)) if is_damage(&error) => {
                UnreadableRecord::corrupt(id, "the database file or a row", error).into()
            }
            (failure, _) => failure.explain(&subject),
        }
    }

    /// Returns the error for the caller of an operation, for example `load conversations`.
    pub(super) fn explain(self, operation: &str) -> Error {
        match self {
            Self::Refused(error) => error,
            Self::Sqlite(error) | Self::Unacknowledged(error) => {
                sqlite_error(error, &format!("cannot {operation} in SQLite"))
            }
            Self::FileLost { path, .. } => Error::new(
                ErrorKind::Store,
                format!(
                    "cannot {operation}: `{}` was deleted or replaced while it was open; put the file back, \
                     or open the store again",
                    path.display()
                ),
            ),
            Self::Panicked => Error::new(
                ErrorKind::Store,
                format!(
                    "cannot {operation}: a thread of the SQLite store panicked; nothing was changed"
                ),
            ),
            Self::Closed => Error::new(
                ErrorKind::Store,
                format!("cannot {operation}: the SQLite store is closed"),
            ),
        }
    }
}

impl From<rusqlite::Error> for TaskFailure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Error> for TaskFailure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<UnreadableRecord> for TaskFailure {
    fn from(record: UnreadableRecord) -> Self {
        Self::Refused(record.into())
    }
}

/// Maps an error of SQLite to an [`Error`], with advice for the operator.
pub(super) fn sqlite_error(error: rusqlite::Error, problem: &str) -> Error {
    let (kind, advice) = match error.sqlite_error_code() {
        _ if is_busy(&error) => (
            ErrorKind::Timeout,
            "; another process kept it locked for the whole busy timeout, nothing was changed",
        ),
        _ if is_damage(&error) => {
            (ErrorKind::Store, "; the file is damaged or not a database, restore it from a backup")
        }
        Some(ErrorCode::DiskFull) => {
            (ErrorKind::Store, "; nothing was changed, free some disk space and try again")
        }
        // SQLite reports "cannot open" if it cannot create the journal beside the file.
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen) => {
            (ErrorKind::Store, "; nothing was changed, the file and its directory must be writable")
        }
        _ => (ErrorKind::Store, ""),
    };
    Error::new(kind, format!("{problem}: {error}{advice}")).with_source(error)
}

/// Returns whether a retry may succeed once other processes release the file.
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

/// Returns whether the error indicates damage to the file or to a value in it.
fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error as E;
    match error {
        E::SqliteFailure(failure, _) => matches!(
            failure.code,
            // A duplicate number means that the head is outdated.
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::ConstraintViolation
        ),
        E::InvalidColumnType(..)
        | E::FromSqlConversionFailure(..)
        | E::IntegralValueOutOfRange(..)
        | E::Utf8Error(..) => true,
        _ => false,
    }
}

fn copy_error(error: &rusqlite::Error) -> rusqlite::Error {
    match error {
        rusqlite::Error::SqliteFailure(failure, text) => {
            rusqlite::Error::SqliteFailure(*failure, text.clone())
        }
        // Statements that begin and end transactions only fail with `SqliteFailure`.
        other => rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ERROR),
            Some(other.to_string()),
        ),
    }
}
