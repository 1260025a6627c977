//! The configuration of an ingestor.

use super::progress::Callback;
use crate::DocumentSplitter;
use ai_services_core::document::{Document, TextSegment, key};
use ai_services_core::embedding::{EmbeddingModel, EmbeddingStore, Filter};
use std::fmt;
use std::sync::Arc;

type Transformer<T> = dyn Fn(T) -> Option<T> + Send + Sync;

/// The immutable configuration of an ingestor.
pub(super) struct Plan {
    pub(super) store: Arc<dyn EmbeddingStore>,
    pub(super) model: Arc<dyn EmbeddingModel>,
    pub(super) splitter: Arc<dyn DocumentSplitter>,
    pub(super) options: Options,
}

impl Plan {
    /// Returns a filter for the entries of the ingestor's collection; `None` without a collection.
    pub(super) fn own(&self) -> Option<Filter> {
        let collection = self.options.collection.clone()?;
        Some(Filter::key(key::COLLECTION).is(collection))
    }

    /// Returns a filter for the stored entries of a source.
    pub(super) fn stored(&self, source: &str) -> Filter {
        let stored = Filter::key(key::SOURCE).is(source);
        match self.own() {
            Some(own) => own.and(stored),
            None => stored,
        }
    }
}

/// The options of an ingestor, with their defaults.
#[derive(Clone)]
pub(super) struct Options {
    pub(super) document_transformer: Option<Arc<Transformer<Document>>>,
    pub(super) segment_transformer: Option<Arc<Transformer<TextSegment>>>,
    pub(super) collection: Option<Arc<str>>,
    pub(super) batch_size: usize,
    pub(super) max_concurrency: usize,
    pub(super) missing: MissingSources,
    pub(super) on_error: IngestionErrorPolicy,
    pub(super) progress: Option<Arc<Callback>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            document_transformer: None,
            segment_transformer: None,
            collection: None,
            batch_size: 64,
            max_concurrency: 4,
            missing: MissingSources::default(),
            on_error: IngestionErrorPolicy::default(),
            progress: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("collection", &self.collection)
            .field("batch_size", &self.batch_size)
            .field("max_concurrency", &self.max_concurrency)
            .field("missing", &self.missing)
            .field("on_error", &self.on_error)
            .finish_non_exhaustive()
    }
}

/// Treatment of sources that are in the store but not in the stream of documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissingSources {
    /// Missing sources are kept. The default.
    #[default]
    Keep,
    /// Missing sources are removed after the end of the stream.
    ///
    /// A source that could not be loaded does not count as missing; neither do the sources in a folder that
    /// could not be read.
    ///
    /// An empty stream removes everything, so set a
    /// [`collection`](super::EmbeddingStoreIngestorBuilder::collection) if the store has other documents too.
    Remove,
}

/// Policy for a source that cannot be loaded, embedded or stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum IngestionErrorPolicy {
    /// The ingestion fails with the error of the source. Stored sources are kept. The default.
    #[default]
    Stop,
    /// The ingestion continues with the other sources; the report lists the failed source.
    Skip,
}
