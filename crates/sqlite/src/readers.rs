//! The threads that read.

use super::connection::{self, Settings};
use super::task::{Message, Task};
use ai_services_core::{Error, ErrorKind, Result};
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use tokio::sync::mpsc;

/// How many reads wait in the queue before callers wait for a place in it.
const QUEUE: usize = 1024;

/// A few threads with a connection each; a further one is started when all are busy.
pub(super) struct Readers {
    pub(super) queue: mpsc::Sender<Message>,
    /// Lives as long as one of the threads.
    pool: Weak<Pool>,
    most: usize,
}

struct Pool {
    inbox: Mutex<mpsc::Receiver<Message>>,
    path: PathBuf,
    settings: Settings,
    idle: AtomicUsize,
    started: AtomicUsize,
    /// Tells the writer that there are readers.
    _alive: mpsc::Sender<()>,
}

impl Readers {
    /// Starts the first thread. Each opens its connection when it has something to do.
    pub(super) fn start(
        path: PathBuf,
        settings: Settings,
        most: usize,
        alive: mpsc::Sender<()>,
    ) -> Result<Self> {
        let (queue, inbox) = mpsc::channel(QUEUE);
        let pool = Arc::new(Pool {
            inbox: Mutex::new(inbox),
            path,
            settings,
            idle: AtomicUsize::new(0),
            started: AtomicUsize::new(0),
            _alive: alive,
        });
        let readers = Self { queue, pool: Arc::downgrade(&pool), most };
        pool.start_thread(most).map_err(|error| {
            Error::new(ErrorKind::Store, "cannot start a thread that reads from SQLite")
                .with_source(error)
        })?;
        Ok(readers)
    }

    /// Sees to it that what is asked next need not wait, if more threads may be started.
    pub(super) fn make_room(&self) {
        let Some(pool) = self.pool.upgrade() else { return };
        if pool.idle.load(Ordering::Relaxed) == 0
            && let Err(error) = pool.start_thread(self.most)
        {
            tracing::warn!(%error, "cannot start another thread that reads from SQLite");
        }
    }

    /// Ends all threads after what they are doing.
    pub(super) async fn close(&self) {
        let Some(pool) = self.pool.upgrade() else { return };
        // From now on none is started.
        let started = pool.started.swap(usize::MAX, Ordering::Relaxed).min(self.most);
        drop(pool);
        for _ in 0..started {
            // Refused if the threads have ended already.
            let _ = self.queue.send(Message::Close).await;
        }
    }
}

impl Pool {
    /// Starts a thread unless there are `most`.
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
        while let Some(Message::Task(mut task)) = self.next() {
            if task.is_wanted() {
                self.run(&mut connection, &mut *task);
            }
            task.answer();
        }
    }

    fn next(&self) -> Option<Message> {
        self.idle.fetch_add(1, Ordering::Relaxed);
        let message = self.inbox.lock().unwrap_or_else(PoisonError::into_inner).blocking_recv();
        self.idle.fetch_sub(1, Ordering::Relaxed);
        message
    }

    fn run(&self, known: &mut Option<Connection>, task: &mut dyn Task) {
        let connection = match known.take() {
            Some(connection) => Ok(connection),
            None => connection::open_reader(&self.path, &self.settings),
        };
        let connection = match connection {
            Ok(connection) => known.insert(connection),
            Err(fault) => return task.fail(fault),
        };
        // One transaction, so that several statements see one state.
        match connection.unchecked_transaction() {
            Ok(transaction) => drop(task.run(&transaction)),
            Err(error) => task.fail(error.into()),
        }
    }
}
