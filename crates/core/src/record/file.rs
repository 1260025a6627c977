//! Files of records.

use super::limits::Limits;
use super::rotation::RotatingFile;
use super::turn_record::TurnRecord;
use crate::error::{Error, Result};
use crate::redaction::Redaction;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, JoinHandle};

/// A file of records, one line of JSON each.
///
/// Records are written by a thread of the file, so that a call does not wait for the disk. Cloning is cheap. Dropping the
/// last clone waits until all queued records are written.
///
/// # Secrets
///
/// Before a record is written, these secrets are replaced by `[redacted]` in all texts, as in cassettes:
/// texts passed to [`redact`](RecordFileBuilder::redact), texts that a [function](RecordFileBuilder::redact_with) replaces,
/// well-known forms of keys and tokens, and members of provider-specific parameters whose name indicates a secret.
///
/// # Limits
///
/// | limit | default |
/// |---|---|
/// | [`max_field_bytes`](RecordFileBuilder::max_field_bytes): a longer text is cut, and ends with `… [N bytes]`; larger media lose their data | 64 KiB |
/// | [`max_record_bytes`](RecordFileBuilder::max_record_bytes): a longer record has shorter texts, or no steps | 1 MiB |
/// | [`max_file_bytes`](RecordFileBuilder::max_file_bytes): then the file is renamed to `NAME.1`, and so on | 64 MiB |
/// | [`max_files`](RecordFileBuilder::max_files): the oldest file beyond it is deleted | 5 |
/// | [`queue`](RecordFileBuilder::queue): further records are [dropped](RecordFile::dropped) while it is full | 1,024 records |
///
/// On Unix, only the owner may read the files.
#[derive(Clone)]
pub struct RecordFile(Arc<Inner>);

struct Inner {
    /// `None` once the file is closed.
    queue: Option<SyncSender<Job>>,
    writer: Option<JoinHandle<()>>,
    dropped: Arc<AtomicU64>,
}

enum Job {
    Write(Box<TurnRecord>),
    /// Sends a message when all jobs before it are done.
    Flush(Sender<()>),
}

impl RecordFile {
    /// Starts configuring a file.
    pub fn builder(path: impl Into<PathBuf>) -> RecordFileBuilder {
        RecordFileBuilder {
            path: path.into(),
            redaction: Redaction::default(),
            limits: Limits { field: 64 << 10, record: 1 << 20 },
            max_file_bytes: 64 << 20,
            max_files: 5,
            queue: 1_024,
        }
    }

    /// Queues a record, and drops it if the queue is full. Does not wait.
    pub fn write(&self, record: TurnRecord) {
        let queue = self.0.queue.as_ref();
        let queued =
            queue.is_some_and(|queue| queue.try_send(Job::Write(Box::new(record))).is_ok());
        if !queued {
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all records that were queued before are written. Blocks the thread.
    pub fn flush(&self) {
        let (sender, written) = channel();
        if let Some(queue) = &self.0.queue
            && queue.send(Job::Flush(sender)).is_ok()
        {
            // Fails if the writer has ended, which drops the sender.
            let _ = written.recv();
        }
    }

    /// Returns the number of records that are not in the file, because the queue was full or a write failed.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(writer) = self.writer.take() {
            // A panic of the writer is reported by its thread.
            let _ = writer.join();
        }
    }
}

impl fmt::Debug for RecordFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordFile").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}

/// Configures a [`RecordFile`].
#[derive(Clone)]
#[must_use]
pub struct RecordFileBuilder {
    path: PathBuf,
    redaction: Redaction,
    limits: Limits,
    max_file_bytes: u64,
    max_files: usize,
    queue: usize,
}

impl RecordFileBuilder {
    /// Replaces a text by `[redacted]`.
    pub fn redact(mut self, secret: impl Into<String>) -> Self {
        self.redaction.literal(secret.into());
        self
    }

    /// Passes all texts through a function that replaces secrets. It runs on the thread of the file. If it panics, the
    /// record is not written.
    pub fn redact_with(
        mut self,
        function: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Self {
        self.redaction.function(function);
        self
    }

    /// Sets the longest text. Default: 64 KiB. At least 256 bytes.
    pub fn max_field_bytes(mut self, bytes: usize) -> Self {
        self.limits.field = bytes;
        self
    }

    /// Sets the longest record. Default: 1 MiB.
    pub fn max_record_bytes(mut self, bytes: usize) -> Self {
        self.limits.record = bytes;
        self
    }

    /// Sets the size of a file. Default: 64 MiB. A file has at least one record.
    pub fn max_file_bytes(mut self, bytes: u64) -> Self {
        self.max_file_bytes = bytes;
        self
    }

    /// Sets the number of files, the current one included. Default: 5. At least 1.
    pub fn max_files(mut self, files: usize) -> Self {
        self.max_files = files.max(1);
        self
    }

    /// Sets the number of records that wait to be written. Default: 1,024. At least 1.
    pub fn queue(mut self, records: usize) -> Self {
        self.queue = records.max(1);
        self
    }

    /// Opens the file, and starts its thread. Appends to a file that exists.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if the file cannot be opened, or if the thread
    /// cannot be started.
    pub fn open(self) -> Result<RecordFile> {
        let Self { path, redaction, limits, max_file_bytes, max_files, queue } = self;
        let failed = |source: io::Error| {
            Error::configuration(format!("the file of records cannot be opened: {source}"))
                .with_source(source)
        };
        let file = RotatingFile::open(path, max_file_bytes, max_files).map_err(failed)?;
        let dropped = Arc::new(AtomicU64::new(0));
        let writer = Writer {
            file,
            redaction,
            limits,
            dropped: Arc::clone(&dropped),
            has_failed: AtomicBool::new(false),
        };
        let (sender, jobs) = sync_channel(queue);
        let thread = Builder::new().name("turn records".to_owned());
        let thread = thread.spawn(move || writer.run(&jobs)).map_err(failed)?;
        Ok(RecordFile(Arc::new(Inner { queue: Some(sender), writer: Some(thread), dropped })))
    }
}

impl fmt::Debug for RecordFileBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The redactions are secret.
        f.debug_struct("RecordFileBuilder").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The thread of a file.
struct Writer {
    file: RotatingFile,
    redaction: Redaction,
    limits: Limits,
    dropped: Arc<AtomicU64>,
    has_failed: AtomicBool,
}

impl Writer {
    fn run(mut self, jobs: &Receiver<Job>) {
        while let Ok(job) = jobs.recv() {
            match job {
                Job::Write(record) => self.write(&record),
                Job::Flush(done) => drop(done.send(())),
            }
        }
    }

    /// Writes a record. The first failure is logged.
    fn write(&mut self, record: &TurnRecord) {
        // A panic of the application's function loses this record only.
        let line = catch_unwind(AssertUnwindSafe(|| self.line(record)));
        let line = line.unwrap_or_else(|_| Err("a redaction panicked".into()));
        let written = line.and_then(|line| self.file.append(&line).map_err(io::Error::into));
        if let Err(error) = written {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            if !self.has_failed.swap(true, Ordering::Relaxed) {
                tracing::warn!(%error, "a record of a turn was not written; further failures are only counted");
            }
        }
    }

    fn line(&self, record: &TurnRecord) -> std::result::Result<String, crate::BoxError> {
        let value = serde_json::to_value(record)?;
        Ok(self.limits.line(value, &self.redaction)?)
    }
}
