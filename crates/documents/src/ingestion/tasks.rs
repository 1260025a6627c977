//! The tasks for a source: split it, check whether it has changed, embed it, store it.

use super::IngestionFailure;
use super::plan::Plan;
use super::progress::Tally;
use super::source::{Source, digest, id};
use ai_services_core::document::{TextSegment, key};
use ai_services_core::embedding::{EmbeddingEntry, EmbeddingPurpose, Filter, Replace};
use ai_services_core::{Error, ErrorKind, Result, trace};
use futures_util::StreamExt;
use futures_util::stream;
use std::collections::HashSet;
use std::slice;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// The state shared by the tasks of a run.
pub(super) struct RunContext {
    pub(super) plan: Arc<Plan>,
    pub(super) tally: Tally,
    pub(super) permits: Semaphore,
}

/// A source that is split and ready to be embedded.
pub(super) struct Prepared {
    pub(super) name: Box<str>,
    pub(super) documents: u64,
    pub(super) segments: Vec<TextSegment>,
    digest: String,
}

pub(super) enum Checked {
    Unchanged,
    Changed(Prepared),
}

type Vectors = Vec<Vec<f32>>;

/// Splits a source and checks whether the store already has its current version.
pub(super) async fn check(
    shared: Arc<RunContext>,
    source: Source,
) -> Result<Checked, IngestionFailure> {
    let name = source.name.clone();
    let failed = |error| IngestionFailure { source: name, error: Arc::new(error) };
    let plan = Arc::clone(&shared.plan);
    let prepared = match spawn_blocking(move || prepare(&plan, source)).await {
        Ok(prepared) => prepared,
        Err(error) => {
            let message = "the splitter or a document or segment transformer panicked";
            return Err(failed(Error::configuration(message).with_source(error)));
        }
    };
    let mut filter = shared.plan.stored(&prepared.name);
    let expected = prepared.segments.len() as u64;
    // A source without segments is up to date if the store has no entries of it.
    if expected > 0 {
        filter = filter.and(Filter::key(key::DIGEST).is(prepared.digest.as_str()));
    }
    match shared.plan.store.count_matching(&filter).await {
        Ok(stored) if stored == expected => Ok(Checked::Unchanged),
        Ok(_) => Ok(Checked::Changed(prepared)),
        Err(error) => Err(failed(error)),
    }
}

fn prepare(plan: &Plan, source: Source) -> Prepared {
    let Source { name, documents } = source;
    let count = documents.len() as u64;
    let options = &plan.options;
    let mut segments = Vec::new();
    for document in documents {
        let document = match &options.document_transformer {
            Some(transformer) => transformer(document),
            None => Some(document),
        };
        let Some(document) = document else { continue };
        for segment in plan.splitter.split(&document) {
            let segment = match &options.segment_transformer {
                Some(transformer) => transformer(segment),
                None => Some(segment),
            };
            // Models reject empty texts.
            segments.extend(segment.filter(|segment| !segment.text().trim().is_empty()));
        }
    }
    let collection = options.collection.as_deref();
    let digest = digest(&*plan.model, collection, &segments);
    let length = i64::try_from(segments.len()).unwrap_or(i64::MAX);
    let segments = segments.into_iter().map(|segment| {
        let mut metadata = segment.metadata().clone().with(key::SOURCE, &*name);
        if let Some(collection) = collection {
            metadata.set(key::COLLECTION, collection);
        }
        let metadata = metadata.with(key::DIGEST, digest.as_str()).with(key::SEGMENTS, length);
        segment.with_metadata(metadata)
    });
    Prepared { segments: segments.collect(), name, documents: count, digest }
}

/// Embeds a group of sources together and stores each source in one step.
pub(super) async fn embed_and_store(
    shared: Arc<RunContext>,
    sources: Vec<Prepared>,
) -> Vec<(Prepared, Result<(), Arc<Error>>)> {
    let mut embedded = embed(&shared, &sources).await;
    if sources.len() > 1 {
        for (source, vectors) in sources.iter().zip(&mut embedded) {
            // The rejected text may belong to another source in the same request.
            if vectors.as_ref().is_err_and(|error| may_concern_one_text(error)) {
                let alone = embed(&shared, slice::from_ref(source)).await;
                *vectors = alone.into_iter().next().unwrap_or_else(|| Ok(Vec::new()));
            }
        }
    }
    let mut stored = Vec::with_capacity(sources.len());
    for (source, vectors) in sources.into_iter().zip(embedded) {
        let result = match vectors {
            Ok(vectors) => store(&shared.plan, &source, vectors).await.map_err(Arc::new),
            Err(error) => Err(error),
        };
        stored.push((source, result));
    }
    stored
}

/// Returns whether a single text may have caused the error; an authentication error or an unavailable
/// provider concerns all texts.
fn may_concern_one_text(error: &Error) -> bool {
    let concerns_all = matches!(error.kind(), ErrorKind::Authentication | ErrorKind::Configuration);
    !error.is_retryable() && !concerns_all
}

async fn store(plan: &Plan, source: &Prepared, vectors: Vectors) -> Result<()> {
    let collection = plan.options.collection.as_deref();
    let entry = |(number, (segment, vector)): (usize, (&TextSegment, Vec<f32>))| {
        let id = id(collection, &source.name, &source.digest, number);
        EmbeddingEntry::new(id, vector, segment.clone())
    };
    let entries = source.segments.iter().zip(vectors).enumerate().map(entry).collect();
    plan.store.replace(Replace::Matching(&plan.stored(&source.name)), entries).await
}

/// Returns the vectors of each source; sources may share requests.
async fn embed(shared: &RunContext, sources: &[Prepared]) -> Vec<Result<Vectors, Arc<Error>>> {
    let options = &shared.plan.options;
    let texts: Vec<(usize, &str)> = sources
        .iter()
        .enumerate()
        .flat_map(|(owner, source)| source.segments.iter().map(move |text| (owner, text.text())))
        .collect();
    let failed = FailedSources::default();
    let requests: Vec<_> =
        texts.chunks(options.batch_size).map(|texts| request(shared, texts, &failed)).collect();
    let answers: Vec<_> = stream::iter(requests).buffered(options.max_concurrency).collect().await;
    let mut embedded: Vec<_> = sources.iter().map(|_| Ok(Vec::new())).collect();
    for (texts, answer) in texts.chunks(options.batch_size).zip(answers) {
        match answer {
            Ok(vectors) => {
                for ((owner, _), vector) in texts.iter().zip(vectors) {
                    if let Some(Ok(vectors)) = embedded.get_mut(*owner) {
                        vectors.push(vector);
                    }
                }
            }
            Err(error) => {
                for (owner, _) in texts {
                    if let Some(vectors @ Ok(_)) = embedded.get_mut(*owner) {
                        *vectors = Err(Arc::clone(&error));
                    }
                }
            }
        }
    }
    embedded
}

/// The sources with a failed request, and the last failure.
#[derive(Default)]
struct FailedSources(Mutex<(HashSet<usize>, Option<Arc<Error>>)>);

impl FailedSources {
    fn record(&self, texts: &[(usize, &str)], error: &Arc<Error>) {
        let mut failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failed.0.extend(texts.iter().map(|(owner, _)| *owner));
        failed.1 = Some(Arc::clone(error));
    }

    /// Returns the last failure if all sources of these texts have failed already.
    fn failure_of_all(&self, texts: &[(usize, &str)]) -> Option<Arc<Error>> {
        let failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let error = failed.1.clone()?;
        texts.iter().all(|(owner, _)| failed.0.contains(owner)).then_some(error)
    }
}

/// Sends one request, unless all of its sources have failed already.
async fn request(
    shared: &RunContext,
    texts: &[(usize, &str)],
    failed: &FailedSources,
) -> Result<Vectors, Arc<Error>> {
    // The semaphore is never closed.
    let _permit = shared.permits.acquire().await.ok();
    if let Some(error) = failed.failure_of_all(texts) {
        return Err(error);
    }
    let plain: Vec<&str> = texts.iter().map(|(_, text)| *text).collect();
    let answer = trace::embed(&*shared.plan.model, &plain, EmbeddingPurpose::Document).await;
    let error = match answer {
        Ok(embeddings) if embeddings.vectors.len() == texts.len() => {
            shared.tally.count(|totals| {
                totals.embedded += texts.len() as u64;
                totals.usage += embeddings.usage;
            });
            return Ok(embeddings.vectors);
        }
        Ok(embeddings) => {
            let (sent, returned) = (texts.len(), embeddings.vectors.len());
            let message =
                format!("the embedding model returned {returned} vectors for {sent} texts");
            Error::new(ErrorKind::InvalidResponse, message).with_usage(embeddings.usage)
        }
        Err(error) => error,
    };
    if let Some(usage) = error.usage().copied() {
        shared.tally.count(|totals| totals.usage += usage);
    }
    let error = Arc::new(error);
    failed.record(texts, &error);
    Err(error)
}
