//! One run of an ingestor: sources are checked, then embedded and stored in groups, concurrently.

use super::IngestionFailure;
use super::plan::{IngestionErrorPolicy, MissingSources, Plan};
use super::progress::{IngestionReport, IngestionStopped, Tally};
use super::source::{Source, Sources, Unusable};
use super::tasks::{Checked, Prepared, RunContext, check, embed_and_store};
use crate::LoadError;
use ai_services_core::document::{Document, MetadataValue, key};
use ai_services_core::embedding::Filter;
use ai_services_core::{Error, Result};
use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, Stream, StreamExt};
use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Number of missing sources that are removed with one call.
const REMOVAL_BATCH: usize = 100;

pub(super) struct Run {
    shared: Arc<RunContext>,
    /// The running tasks. All of them are polled together, so that none waits for a permit of a task that is
    /// not polled.
    tasks: FuturesUnordered<BoxFuture<'static, Event>>,
    /// Number of sources that were read.
    read: u64,
    /// Number of the next source to process. Sources are processed in the order of the stream, regardless of
    /// the order in which their checks finish, so that the same documents make the same requests.
    next: u64,
    checked: BTreeMap<u64, (Outcome, u64)>,
    /// Changed sources that do not yet fill a request.
    waiting: Vec<Prepared>,
    /// Groups of changed sources that fill a request.
    ready: VecDeque<Vec<Prepared>>,
    storing: usize,
    is_read: bool,
}

type Outcome = Result<Checked, IngestionFailure>;

enum Event {
    /// The number of a source, the outcome of its check, and its number of documents.
    Checked(u64, Outcome, u64),
    Stored(Vec<(Prepared, Result<(), Arc<Error>>)>),
}

/// The next event of a run.
enum Step {
    Read(Option<Result<Source, Unusable>>),
    Done(Event),
}

impl Run {
    pub(super) fn new(plan: Arc<Plan>, documents: &impl Stream) -> Self {
        let total = match documents.size_hint() {
            (least, Some(most)) if least == most => Some(least as u64),
            _ => None,
        };
        let tally = Tally::new(total, plan.options.progress.clone());
        let permits = Semaphore::new(plan.options.max_concurrency.min(Semaphore::MAX_PERMITS));
        Self {
            shared: Arc::new(RunContext { plan, tally, permits }),
            tasks: FuturesUnordered::new(),
            read: 0,
            next: 0,
            checked: BTreeMap::new(),
            waiting: Vec::new(),
            ready: VecDeque::new(),
            storing: 0,
            is_read: false,
        }
    }

    pub(super) async fn ingest(
        mut self,
        documents: impl Stream<Item = Result<Document, LoadError>> + Send,
    ) -> Result<IngestionReport> {
        let mut sources = Sources::new(documents);
        loop {
            self.store_ready();
            match self.step(&mut sources).await {
                Some(Step::Read(next)) => self.read(next)?,
                Some(Step::Done(event)) => self.done(event)?,
                None => break,
            }
        }
        if self.shared.plan.options.missing == MissingSources::Remove {
            self.remove_missing(&mut sources).await?;
        }
        let report = self.shared.tally.report();
        let totals = &report.totals;
        tracing::debug!(
            done = totals.sources_done,
            unchanged = totals.sources_unchanged,
            failed = totals.sources_failed,
            removed = totals.sources_removed,
            segments = totals.stored,
            "ingestion finished"
        );
        Ok(report)
    }

    /// Waits for the next source or the next finished task; returns `None` at the end of the run.
    async fn step(&mut self, sources: &mut Sources<'_>) -> Option<Step> {
        let limit = self.shared.plan.options.max_concurrency as u64;
        let is_full = self.read - self.next >= limit || !self.ready.is_empty();
        match (self.is_read || is_full, self.tasks.is_empty()) {
            (true, true) => None,
            (true, false) => self.tasks.next().await.map(Step::Done),
            (false, true) => Some(Step::Read(sources.next().await)),
            (false, false) => match select(pin!(sources.next()), self.tasks.next()).await {
                Either::Left((next, _)) => Some(Step::Read(next)),
                Either::Right((event, _)) => event.map(Step::Done),
            },
        }
    }

    /// Starts tasks that embed and store the groups that are ready.
    fn store_ready(&mut self) {
        if self.is_read && self.read == self.next && !self.waiting.is_empty() {
            self.ready.push_back(mem::take(&mut self.waiting));
        }
        while self.storing < self.shared.plan.options.max_concurrency {
            let Some(group) = self.ready.pop_front() else { return };
            self.storing += 1;
            let shared = Arc::clone(&self.shared);
            self.tasks.push(embed_and_store(shared, group).map(Event::Stored).boxed());
        }
    }

    /// Adds a changed source to the waiting group.
    fn enqueue(&mut self, source: Prepared) {
        self.waiting.push(source);
        let segments: usize = self.waiting.iter().map(|source| source.segments.len()).sum();
        let batch = self.shared.plan.options.batch_size;
        // Sources without segments count too.
        if segments >= batch || self.waiting.len() >= batch {
            self.ready.push_back(mem::take(&mut self.waiting));
        }
    }

    fn read(&mut self, next: Option<Result<Source, Unusable>>) -> Result<()> {
        match next {
            None => self.is_read = true,
            Some(Err(Unusable { failure, documents })) => self.fail(failure, documents)?,
            Some(Ok(source)) => {
                let documents = source.documents.len() as u64;
                let bytes: usize =
                    source.documents.iter().map(|document| document.text().len()).sum();
                self.shared.tally.count(|totals| totals.bytes += bytes as u64);
                let number = self.read;
                self.read += 1;
                let checked = check(Arc::clone(&self.shared), source);
                let event = checked.map(move |outcome| Event::Checked(number, outcome, documents));
                self.tasks.push(event.boxed());
            }
        }
        Ok(())
    }

    fn done(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Checked(number, outcome, documents) => {
                self.checked.insert(number, (outcome, documents));
                while let Some((outcome, documents)) = self.checked.remove(&self.next) {
                    self.next += 1;
                    self.process(outcome, documents)?;
                }
            }
            Event::Stored(sources) => {
                self.storing -= 1;
                for (source, stored) in sources {
                    self.stored(source, stored)?;
                }
            }
        }
        Ok(())
    }

    fn process(&mut self, outcome: Outcome, documents: u64) -> Result<()> {
        match outcome {
            Err(failure) => return self.fail(failure, documents),
            Ok(Checked::Changed(source)) => self.enqueue(source),
            Ok(Checked::Unchanged) => self.shared.tally.count(|totals| {
                totals.sources_unchanged += 1;
                totals.documents_unchanged += documents;
            }),
        }
        Ok(())
    }

    fn stored(&self, source: Prepared, stored: Result<(), Arc<Error>>) -> Result<()> {
        let Prepared { name, documents, segments, .. } = source;
        if let Err(error) = stored {
            return self.fail(IngestionFailure { source: name, error }, documents);
        }
        self.shared.tally.count(|totals| {
            totals.sources_done += 1;
            totals.documents_done += documents;
            totals.stored += segments.len() as u64;
        });
        Ok(())
    }

    /// Records a failure; returns an error if the policy is to stop.
    fn fail(&self, failure: IngestionFailure, documents: u64) -> Result<()> {
        let RunContext { plan, tally, .. } = &*self.shared;
        tracing::warn!(source = &*failure.source, "failed to ingest a source");
        let IngestionFailure { source, error } = failure.clone();
        tally.fail(failure, documents);
        match plan.options.on_error {
            IngestionErrorPolicy::Skip => Ok(()),
            IngestionErrorPolicy::Stop => {
                let message = match &*source {
                    "" => format!("the ingestion stopped: {error}"),
                    source => format!("the ingestion stopped at `{source}`: {error}"),
                };
                let report = tally.report();
                let usage = report.totals.usage;
                let stopped = IngestionStopped { report };
                Err(error.replied(message).with_usage(usage).with_source(stopped))
            }
        }
    }

    // Takes `&mut self` because neither the tasks nor the stream of documents are `Sync`.
    async fn remove_missing(&mut self, sources: &mut Sources<'_>) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let RunContext { plan, tally, .. } = &*shared;
        let own = plan.own();
        let failed = |error| IngestionFailure { source: "".into(), error: Arc::new(error) };
        let stored = match plan.store.values(key::SOURCE, own.as_ref()).await {
            Ok(stored) => stored,
            Err(error) => return self.fail(failed(error), 0),
        };
        let is_missing = |source: &MetadataValue| {
            source.as_text().is_some_and(|source| !sources.may_have(source))
        };
        let mut missing: Vec<_> = stored.into_iter().filter(is_missing).collect();
        missing.sort_by(|a, b| a.as_text().cmp(&b.as_text()));
        for chunk in missing.chunks(REMOVAL_BATCH) {
            let these = Filter::key(key::SOURCE).is_in(chunk.iter().cloned());
            let filter = match own.clone() {
                Some(own) => own.and(these),
                None => these,
            };
            match plan.store.remove_matching(&filter).await {
                Ok(()) => tally.count(|totals| totals.sources_removed += chunk.len() as u64),
                Err(error) => self.fail(failed(error), 0)?,
            }
        }
        Ok(())
    }
}
