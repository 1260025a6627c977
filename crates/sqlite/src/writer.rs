//! The thread that writes: many changes, one transaction.
//!
//! A commit costs a wait for the disk, whatever is in it. So the thread takes all changes that have
//! queued up while the last transaction was written, and writes them in one. Each is behind a savepoint
//! of its own: one that fails takes no other with it.

use super::fault::{Fault, is_busy, same};
use super::task::{Message, Task};
use ai_services_core::store_kit::failpoint::failpoint;
use rusqlite::Connection;
use tokio::sync::mpsc;

/// How many changes wait in the queue before callers wait for a place in it.
pub(super) const QUEUE: usize = 1024;

/// How many changes one transaction has at most: what a caller waits for is limited.
const BATCH: usize = 256;

/// Writes until the store is closed or dropped and all readers are gone.
pub(super) fn serve(
    connection: Connection,
    mut inbox: mpsc::Receiver<Message>,
    mut readers: mpsc::Receiver<()>,
) {
    let mut messages = Vec::new();
    let mut is_open = true;
    while is_open && inbox.blocking_recv_many(&mut messages, BATCH) > 0 {
        let mut batch = Vec::new();
        for message in messages.drain(..) {
            match message {
                Message::Task(task) if is_open && task.is_wanted() => batch.push(task),
                Message::Task(_) => {}
                Message::Close => is_open = false,
            }
        }
        transact(&connection, &mut batch);
        failpoint!("sqlite.before_answer");
        batch.into_iter().for_each(Task::answer);
    }
    // The last connection puts everything into one file, but not if it can only read.
    while readers.blocking_recv().is_some() {}
    // For whoever has chosen not to wait for the disk; others lose nothing if it fails.
    if let Err(error) = connection.execute_batch("PRAGMA wal_checkpoint(PASSIVE)") {
        tracing::warn!(%error, "a SQLite store could not write its journal back");
    }
    drop(connection);
    // Who waits for the end waits for this.
    drop(inbox);
}

fn transact(connection: &Connection, batch: &mut [Box<dyn Task>]) {
    let Err(error) = attempt(connection, batch) else { return };
    if !connection.is_autocommit()
        && let Err(error) = connection.execute_batch("ROLLBACK")
    {
        tracing::warn!(%error, "a SQLite store could not roll back");
    }
    match batch {
        [] => {}
        // Perhaps one alone was too much for the disk: the others shall not pay for it. A change
        // that was committed after all knows itself by its token.
        [_, _, ..] if !is_busy(&error) => {
            batch.iter_mut().for_each(|task| transact(connection, std::slice::from_mut(task)));
        }
        _ => batch.iter_mut().for_each(|task| task.fail(Fault::Sqlite(same(&error)))),
    }
}

fn attempt(connection: &Connection, batch: &mut [Box<dyn Task>]) -> rusqlite::Result<()> {
    let say = |statement| connection.prepare_cached(statement)?.execute([]);
    if batch.is_empty() {
        return Ok(());
    }
    failpoint!("sqlite.before_begin");
    say("BEGIN IMMEDIATE")?;
    failpoint!("sqlite.after_begin");
    for task in batch {
        say("SAVEPOINT change")?;
        if !task.run(connection) {
            say("ROLLBACK TO change")?;
        }
        say("RELEASE change")?;
    }
    failpoint!("sqlite.before_commit");
    say("COMMIT")?;
    failpoint!("sqlite.after_commit");
    Ok(())
}
