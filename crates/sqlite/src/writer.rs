//! The writer thread: group commit of queued changes.
//!
//! A commit waits for the disk, whatever its size. Therefore the thread writes all changes that were queued
//! during the last transaction in one transaction. Each of several changes has its own savepoint, so that a
//! failed change does not affect the others.

use super::connection::execute;
use super::error_mapping::TaskFailure;
use super::file_identity::OpenFiles;
use super::task::{Task, WorkerMessage};
use ai_services_core::store_kit::failpoint::failpoint;
use rusqlite::Connection;
use tokio::sync::mpsc;

/// Capacity of the queue of changes. Back-pressure: callers wait while it is full.
pub(super) const QUEUE: usize = 1024;

/// Maximum number of changes in one transaction, which limits how long a caller waits.
const BATCH: usize = 256;

/// Runs the writer thread until the store is closed or dropped, and then waits for the reader threads.
pub(super) fn serve(
    connection: Connection,
    files: &OpenFiles,
    mut inbox: mpsc::Receiver<WorkerMessage>,
    mut readers: mpsc::Receiver<()>,
) {
    let mut messages = Vec::new();
    let mut is_open = true;
    while is_open && inbox.blocking_recv_many(&mut messages, BATCH) > 0 {
        let mut batch = Vec::new();
        for message in messages.drain(..) {
            match message {
                WorkerMessage::Task(task) if is_open && task.has_caller() => batch.push(task),
                WorkerMessage::Task(_) => {}
                WorkerMessage::Close => is_open = false,
            }
        }
        transact(&connection, files, &mut batch);
        failpoint!("sqlite.before_answer");
        batch.into_iter().for_each(Task::send_result);
    }
    // The last connection moves the write-ahead log into the file, but not if it is read-only.
    while readers.blocking_recv().is_some() {}
    // Syncs the commits of `Durability::Normal`. With `Full` no data is lost if it fails.
    if let Err(error) = connection.execute_batch("PRAGMA wal_checkpoint(PASSIVE)") {
        tracing::warn!(%error, "checkpoint of a SQLite store failed");
    }
    drop(connection);
    // Wakes `Database::close`.
    drop(inbox);
}

fn transact(connection: &Connection, files: &OpenFiles, batch: &mut [Box<dyn Task>]) {
    let Err(failure) = attempt_or_roll_back(connection, files, batch) else { return };
    if batch.len() < 2 || !failure.may_succeed_alone() {
        return batch.iter_mut().for_each(|task| task.fail(failure.copy()));
    }
    // A single change may be too large for the disk, so each is retried alone. A change that was committed
    // nevertheless is recognized in the log of commits.
    for task in batch {
        let alone = attempt_or_roll_back(connection, files, std::slice::from_mut(task));
        if let Err(second) = alone {
            task.fail(if failure.may_be_applied() { failure.copy() } else { second });
        }
    }
}

fn attempt_or_roll_back(
    connection: &Connection,
    files: &OpenFiles,
    batch: &mut [Box<dyn Task>],
) -> Result<(), TaskFailure> {
    let outcome = attempt(connection, files, batch);
    if outcome.is_err()
        && !connection.is_autocommit()
        && let Err(error) = connection.execute_batch("ROLLBACK")
    {
        tracing::warn!(%error, "rollback of a SQLite store failed");
    }
    outcome
}

fn attempt(
    connection: &Connection,
    files: &OpenFiles,
    batch: &mut [Box<dyn Task>],
) -> Result<(), TaskFailure> {
    if batch.is_empty() {
        return Ok(());
    }
    files.check()?;
    failpoint!("sqlite.before_begin");
    execute(connection, "BEGIN IMMEDIATE")?;
    failpoint!("sqlite.after_begin");
    if let [task] = batch {
        if !task.run(connection) {
            return Ok(execute(connection, "ROLLBACK")?);
        }
    } else {
        for task in batch {
            execute(connection, "SAVEPOINT change")?;
            if !task.run(connection) {
                execute(connection, "ROLLBACK TO change")?;
            }
            execute(connection, "RELEASE change")?;
        }
    }
    failpoint!("sqlite.before_commit");
    execute(connection, "COMMIT").map_err(TaskFailure::of_commit)?;
    failpoint!("sqlite.after_commit");
    // Only now is it certain that the changes are in the file that the path leads to.
    files.check().map_err(TaskFailure::after_commit)
}
