//! The reader threads.

use super::connection::{self, Settings, execute};
use super::file_identity::OpenFiles;
use super::task::{Task, WorkerMessage};
use ai_services_core::{Error, ErrorKind, Result};
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use tokio::sync::mpsc;

/// Capacity of the queue of reads. Back-pressure: callers wait while it is full.
const QUEUE: usize = 1024;

/// A pool of threads with a connection each. Another thread is started when all are busy.
pub(super) struct Readers {
    pub(super) queue: mpsc::Sender<WorkerMessage>,
    /// State of the threads, which keep it alive.
    pool: Weak<Pool>,
    most: usize,
}

struct Pool {
    inbox: Mutex<mpsc::Receiver<WorkerMessage>>,
    path: PathBuf,
    files: OpenFiles,
    settings: Settings,
    idle: AtomicUsize,
    started: AtomicUsize,
    /// Signals to the writer thread that reader threads are running.
    _alive: mpsc::Sender<()>,
}

impl Readers {
    /// Starts the first thread. A thread opens its connection for its first task.
    pub(super) fn start(
        path: PathBuf,
        files: OpenFiles,
        settings: Settings,
        most: usize,
        alive: mpsc::Sender<()>,
    ) -> Result<Self> {
        let (queue, inbox) = mpsc::channel(QUEUE);
        let pool = Arc::new(Pool {
            inbox: Mutex::new(inbox),
            path,
            files,
            settings,
            idle: AtomicUsize::new(0),
            started: AtomicUsize::new(0),
            _alive: alive,
        });
        let readers = Self { queue, pool: Arc::downgrade(&pool), most };
        pool.start_thread(most).map_err(|error| {
            Error::new(ErrorKind::Store, "cannot start a SQLite reader thread").with_source(error)
        })?;
        Ok(readers)
    }

    /// Starts another thread if all are busy and the maximum is not reached.
    pub(super) fn start_if_busy(&self) {
        let Some(pool) = self.pool.upgrade() else { return };
        if pool.idle.load(Ordering::Relaxed) == 0
            && let Err(error) = pool.start_thread(self.most)
        {
            tracing::warn!(%error, "cannot start another SQLite reader thread");
        }
    }

    /// Ends all threads after the queued tasks.
    pub(super) async fn close(&self) {
        let Some(pool) = self.pool.upgrade() else { return };
        // Prevents further threads from being started.
        let started = pool.started.swap(usize::MAX, Ordering::Relaxed).min(self.most);
        drop(pool);
        for _ in 0..started {
            // Fails if the threads have already ended.
            let _ = self.queue.send(WorkerMessage::Close).await;
        }
    }
}

impl Pool {
    /// Starts a thread unless `most` have been started.
    fn start_thread(self: Arc<Self>, most: usize) -> std::io::Result<()> {
        let started = &self.started;
        let one_more = |started| (started < most).then_some(started + 1);
        if started.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_err() {
            return Ok(());
        }
        thread::Builder::new().name("sqlite-reader".into()).spawn(move || self.serve()).map(drop)
    }

    fn serve(&self) {
        let mut connection = None;
        while let Some(WorkerMessage::Task(mut task)) = self.next() {
            if task.has_caller() {
                self.run(&mut connection, &mut *task);
            }
            task.send_result();
        }
    }

    fn next(&self) -> Option<WorkerMessage> {
        self.idle.fetch_add(1, Ordering::Relaxed);
        let message = self.inbox.lock().unwrap_or_else(PoisonError::into_inner).blocking_recv();
        self.idle.fetch_sub(1, Ordering::Relaxed);
        message
    }

    fn run(&self, known: &mut Option<Connection>, task: &mut dyn Task) {
        let connection = match known.take() {
            Some(connection) => Ok(connection),
            None => {
                let files = self.files.check();
                files.and_then(|()| connection::open_reader(&self.path, &self.settings))
            }
        };
        let connection = match connection {
            Ok(connection) => known.insert(connection),
            Err(failure) => return task.fail(failure),
        };
        // One transaction, so that several statements see the same snapshot.
        match execute(connection, "BEGIN") {
            Ok(()) => drop(task.run(connection)),
            Err(error) => task.fail(error.into()),
        }
        if !connection.is_autocommit()
            && let Err(error) = execute(connection, "ROLLBACK")
        {
            tracing::warn!(%error, "cannot end a read of a SQLite store");
            *known = None;
        }
        // Otherwise a deleted or replaced file would be read without notice.
        if let Err(failure) = self.files.check() {
            task.fail(failure);
        }
    }
}
