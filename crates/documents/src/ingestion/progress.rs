//! How far it is, and how it ended.

use ai_services_core::Error;
use ai_services_core::model::TokenUsage;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many failures a report keeps. All are counted.
const MAX_FAILURES: usize = 1000;

/// How far an ingestion is.
///
/// A source is what has one `source` in its metadata: a file, with all its pages.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct IngestionProgress {
    /// How many documents there are, if the stream of documents knows.
    pub documents_total: Option<u64>,
    /// Documents of sources that were new or had changed, and are stored.
    pub documents_done: u64,
    /// Documents of sources that had not changed.
    pub documents_unchanged: u64,
    /// Documents that could not be loaded, embedded or stored.
    pub documents_failed: u64,
    /// Sources that were new or had changed, and are stored.
    pub sources_done: u64,
    /// Sources that had not changed.
    pub sources_unchanged: u64,
    /// Sources that could not be loaded, embedded or stored.
    pub sources_failed: u64,
    /// Sources that were no longer there, and were removed from the store.
    pub sources_removed: u64,
    /// Segments that were embedded.
    pub embedded: u64,
    /// Segments that are stored.
    pub stored: u64,
    /// The length of all texts that were read, in bytes of UTF-8.
    pub bytes: u64,
    /// The tokens that embedding cost.
    pub usage: TokenUsage,
}

/// How an ingestion ended.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct IngestionReport {
    /// What was done.
    pub totals: IngestionProgress,
    /// What failed, in the order in which it did; the first 1,000.
    pub failures: Vec<IngestionFailure>,
}

/// A source that is not in the store as it is now, and why. What was there of it before still is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IngestionFailure {
    /// The source; empty if a document has none.
    pub source: Box<str>,
    /// Why. [`detail`](Error::detail) finds a [`LoadError`](crate::LoadError).
    pub error: Arc<Error>,
}

/// An ingestion that stopped at its first failure, as it was told to; a detail of its error.
#[derive(Debug)]
#[non_exhaustive]
pub struct IngestionStopped {
    /// What was done before.
    pub report: IngestionReport,
}

impl fmt::Display for IngestionStopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stopped after {} sources", self.report.totals.sources_done)
    }
}

impl std::error::Error for IngestionStopped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.report.failures.last().map(|failure| &*failure.error as _)
    }
}

pub(super) type Callback = dyn Fn(&IngestionProgress) + Send + Sync;

/// Counts, and tells whoever wants to know.
pub(super) struct Tally {
    report: Mutex<IngestionReport>,
    callback: Option<Arc<Callback>>,
}

impl Tally {
    pub(super) fn new(documents_total: Option<u64>, callback: Option<Arc<Callback>>) -> Self {
        let totals = IngestionProgress { documents_total, ..IngestionProgress::default() };
        Self { report: Mutex::new(IngestionReport { totals, failures: Vec::new() }), callback }
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut IngestionProgress)) {
        let snapshot = {
            let mut report = self.lock();
            change(&mut report.totals);
            self.callback.is_some().then(|| report.totals.clone())
        };
        if let (Some(callback), Some(progress)) = (&self.callback, snapshot) {
            callback(&progress);
        }
    }

    pub(super) fn fail(&self, failure: IngestionFailure, documents: u64) {
        {
            let mut report = self.lock();
            if report.failures.len() < MAX_FAILURES {
                report.failures.push(failure);
            }
        }
        self.count(|totals| {
            totals.sources_failed += 1;
            totals.documents_failed += documents;
        });
    }

    pub(super) fn report(&self) -> IngestionReport {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, IngestionReport> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
