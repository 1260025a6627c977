//! One run: sources are checked and groups of them embedded and stored, some at once.

use super::IngestionFailure;
use super::builder::{IngestionErrorPolicy, MissingSources, Plan};
use super::progress::{IngestionReport, IngestionStopped, Tally};
use super::source::{Source, Sources};
use super::tasks::{Checked, Prepared, check, embed_and_store};
use crate::document::{Document, LoadError, MetadataValue, key};
use crate::embedding::Filter;
use crate::error::{Error, Result};
use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, Stream, StreamExt};
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// How many missing sources are removed at once.
const REMOVED_AT_ONCE: usize = 100;

pub(super) struct Run {
    shared: Arc<Shared>,
    /// All that is under way. Every task is polled whenever one may go on, so that none waits for what
    /// another one holds.
    tasks: FuturesUnordered<BoxFuture<'static, Event>>,
    checking: usize,
    storing: usize,
    /// Sources that have changed, until there are enough for a request.
    waiting: Vec<Prepared>,
    is_read: bool,
}

/// What the tasks of a run share.
pub(super) struct Shared {
    pub(super) plan: Arc<Plan>,
    pub(super) tally: Tally,
    pub(super) permits: Semaphore,
}

enum Event {
    Checked(Result<Checked, IngestionFailure>, u64),
    Stored(Vec<(Prepared, Result<(), Arc<Error>>)>),
}

/// What happened next.
enum Step {
    Read(Option<Result<Source, IngestionFailure>>),
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
            shared: Arc::new(Shared { plan, tally, permits }),
            tasks: FuturesUnordered::new(),
            checking: 0,
            storing: 0,
            waiting: Vec::new(),
            is_read: false,
        }
    }

    pub(super) async fn ingest(
        mut self,
        documents: impl Stream<Item = Result<Document, LoadError>> + Send,
    ) -> Result<IngestionReport> {
        let mut sources = Sources::new(documents);
        loop {
            self.store_waiting();
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
            "documents were ingested"
        );
        Ok(report)
    }

    /// Waits for whatever is next; none if there is nothing to wait for.
    async fn step(&mut self, sources: &mut Sources<'_>) -> Option<Step> {
        let limit = self.shared.plan.options.max_concurrency;
        let is_full = self.checking >= limit || self.is_enough_waiting();
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

    fn is_enough_waiting(&self) -> bool {
        let segments: usize = self.waiting.iter().map(|source| source.segments.len()).sum();
        let batch = self.shared.plan.options.batch_size;
        // Sources without segments wait too.
        segments >= batch || self.waiting.len() >= batch
    }

    /// Begins to embed and store what waits, if it fills a request or is the last.
    fn store_waiting(&mut self) {
        let is_last = self.is_read && self.checking == 0 && !self.waiting.is_empty();
        let has_room = self.storing < self.shared.plan.options.max_concurrency;
        if has_room && (is_last || self.is_enough_waiting()) {
            let group = mem::take(&mut self.waiting);
            let shared = Arc::clone(&self.shared);
            self.storing += 1;
            self.tasks.push(embed_and_store(shared, group).map(Event::Stored).boxed());
        }
    }

    fn read(&mut self, next: Option<Result<Source, IngestionFailure>>) -> Result<()> {
        match next {
            None => self.is_read = true,
            Some(Err(failure)) => self.fail(failure, 1)?,
            Some(Ok(source)) => {
                let documents = source.documents.len() as u64;
                let bytes: usize = source.documents.iter().map(|document| document.text().len()).sum();
                self.shared.tally.count(|totals| totals.bytes += bytes as u64);
                self.checking += 1;
                let checked = check(Arc::clone(&self.shared), source);
                let event = checked.map(move |checked| Event::Checked(checked, documents));
                self.tasks.push(event.boxed());
            }
        }
        Ok(())
    }

    fn done(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Checked(checked, documents) => {
                self.checking -= 1;
                match checked {
                    Err(failure) => self.fail(failure, documents)?,
                    Ok(Checked::Changed(source)) => self.waiting.push(source),
                    Ok(Checked::Unchanged) => self.shared.tally.count(|totals| {
                        totals.sources_unchanged += 1;
                        totals.documents_unchanged += documents;
                    }),
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

    /// Notes a failure, and ends the run if it has to.
    fn fail(&self, failure: IngestionFailure, documents: u64) -> Result<()> {
        let Shared { plan, tally, .. } = &*self.shared;
        tracing::warn!(source = &*failure.source, "a source could not be ingested");
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

    // Neither the tasks nor the stream of documents may be looked at from two threads.
    async fn remove_missing(&mut self, sources: &mut Sources<'_>) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let Shared { plan, tally, .. } = &*shared;
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
        for chunk in missing.chunks(REMOVED_AT_ONCE) {
            let these = Filter::key(key::SOURCE).is_in(chunk.iter().cloned());
            let filter = match own.clone() {
                Some(own) => own.and(these),
                None => these,
            };
            match plan.store.remove_all(Some(&filter)).await {
                Ok(()) => tally.count(|totals| totals.sources_removed += chunk.len() as u64),
                Err(error) => self.fail(failed(error), 0)?,
            }
        }
        Ok(())
    }
}
