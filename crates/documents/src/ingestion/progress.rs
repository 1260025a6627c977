//! Progress, reports and failures of an ingestion.

use ai_services_core::Error;
use ai_services_core::model::TokenUsage;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of failures in a report. All failures are counted.
const MAX_FAILURES: usize = 1000;

/// The progress of an ingestion.
///
/// A source is the group of documents with the same `source` in their metadata, for example all pages of a
/// file.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct IngestionProgress {
    /// Total number of documents, if the size hint of the stream is exact.
    pub documents_total: Option<u64>,
    /// Number of documents of new or changed sources that were stored.
    pub documents_done: u64,
    /// Number of documents of unchanged sources.
    pub documents_unchanged: u64,
    /// Number of documents that could not be loaded, embedded or stored.
    pub documents_failed: u64,
    /// Number of new or changed sources that were stored.
    pub sources_done: u64,
    /// Number of unchanged sources.
    pub sources_unchanged: u64,
    /// Number of sources that could not be loaded, embedded or stored.
    pub sources_failed: u64,
    /// Number of missing sources that were removed from the store.
    pub sources_removed: u64,
    /// Number of embedded segments.
    pub embedded: u64,
    /// Number of stored segments.
    pub stored: u64,
    /// Total length of the texts that were read, in bytes of UTF-8.
    pub bytes: u64,
    /// Token usage of the embedding model.
    pub usage: TokenUsage,
}

/// The result of an ingestion.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct IngestionReport {
    /// Totals of the ingestion.
    pub totals: IngestionProgress,
    /// The first 1,000 failures, in order of occurrence.
    pub failures: Vec<IngestionFailure>,
}

/// A source that could not be ingested. Its previous entries are still in the store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IngestionFailure {
    /// The source; empty for a document without one and for a failure that concerns several sources.
    pub source: Box<str>,
    /// The error. A [`LoadError`](crate::LoadError) is available as its [`detail`](Error::detail).
    pub error: Arc<Error>,
}

/// The detail of the error of an ingestion that stopped at its first failure.
#[derive(Debug)]
#[non_exhaustive]
pub struct IngestionStopped {
    /// Report of the work that was done before the failure.
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

/// Counts the progress and calls the callback.
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
