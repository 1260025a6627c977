//! The builder of an ingestor and its options.

use super::EmbeddingStoreIngestor;
use super::progress::{Callback, IngestionProgress};
use crate::{DocumentSplitter, RecursiveSplitter};
use ai_services_core::document::{Document, TextSegment};
use ai_services_core::embedding::{EmbeddingModel, EmbeddingStore};
use ai_services_core::{Error, Result};
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
    /// [`collection`](EmbeddingStoreIngestorBuilder::collection) if the store has other documents too.
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

/// Builds an [`EmbeddingStoreIngestor`].
#[must_use]
pub struct EmbeddingStoreIngestorBuilder {
    store: Option<Arc<dyn EmbeddingStore>>,
    model: Option<Arc<dyn EmbeddingModel>>,
    splitter: Option<Arc<dyn DocumentSplitter>>,
    options: Options,
}

impl EmbeddingStoreIngestorBuilder {
    pub(super) fn new() -> Self {
        let options = Options {
            document_transformer: None,
            segment_transformer: None,
            collection: None,
            batch_size: 64,
            max_concurrency: 4,
            missing: MissingSources::default(),
            on_error: IngestionErrorPolicy::default(),
            progress: None,
        };
        Self { store: None, model: None, splitter: None, options }
    }

    /// Sets the store. Required.
    pub fn store(mut self, store: impl EmbeddingStore + 'static) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Sets the embedding model. Required.
    ///
    /// The name of the model and its configured dimensions are part of the digest of a source: with another
    /// model everything is embedded again. If the new vectors have another length,
    /// [empty](EmbeddingStore::remove_all) the store first.
    #[doc(alias = "embeddingModel")]
    pub fn model(mut self, model: impl EmbeddingModel + 'static) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// Sets the splitter. Default: a [`RecursiveSplitter`] with its defaults.
    #[doc(alias = "documentSplitter")]
    pub fn splitter(mut self, splitter: impl DocumentSplitter + 'static) -> Self {
        self.splitter = Some(Arc::new(splitter));
        self
    }

    /// Sets a function that changes each document before it is split, or drops it by returning `None`. The
    /// `source` of the document cannot be changed.
    ///
    /// The function runs on a blocking thread.
    pub fn document_transformer(
        mut self,
        transformer: impl Fn(Document) -> Option<Document> + Send + Sync + 'static,
    ) -> Self {
        self.options.document_transformer = Some(Arc::new(transformer));
        self
    }

    /// Sets a function that changes each segment before it is embedded, or drops it by returning `None`.
    ///
    /// For example to put the title before the text. The function runs on a blocking thread, on every run and
    /// for every segment, because its result decides whether a source has changed.
    #[doc(alias = "textSegmentTransformer")]
    pub fn segment_transformer(
        mut self,
        transformer: impl Fn(TextSegment) -> Option<TextSegment> + Send + Sync + 'static,
    ) -> Self {
        self.options.segment_transformer = Some(Arc::new(transformer));
        self
    }

    /// Sets the name of the collection of documents, for a store that has other documents too.
    ///
    /// The segments have the name in their metadata as `collection`, and only entries of this collection are
    /// replaced or removed. Default: no collection; a source then stands for all entries with its name,
    /// whichever ingestor stored them.
    pub fn collection(mut self, name: impl Into<Arc<str>>) -> Self {
        self.options.collection = Some(name.into());
        self
    }

    /// Sets the maximum number of texts in a request to the model. Default: 64. Small sources share a
    /// request.
    pub fn batch_size(mut self, texts: usize) -> Self {
        self.options.batch_size = texts;
        self
    }

    /// Sets the maximum number of concurrent requests to the model, and roughly the number of sources in
    /// memory. Default: 4.
    pub fn max_concurrency(mut self, requests: usize) -> Self {
        self.options.max_concurrency = requests;
        self
    }

    /// Sets the treatment of sources that are missing from the stream. Default: [`MissingSources::Keep`].
    pub fn missing_sources(mut self, missing: MissingSources) -> Self {
        self.options.missing = missing;
        self
    }

    /// Sets the policy for a source that fails. Default: [`IngestionErrorPolicy::Stop`].
    pub fn on_error(mut self, policy: IngestionErrorPolicy) -> Self {
        self.options.on_error = policy;
        self
    }

    /// Sets a callback that receives the progress after every request to the model and after every source. It
    /// must not block.
    pub fn progress(
        mut self,
        callback: impl Fn(&IngestionProgress) + Send + Sync + 'static,
    ) -> Self {
        self.options.progress = Some(Arc::new(callback));
        self
    }

    /// Builds the ingestor.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if the store or the
    /// model is missing, or if `batch_size` or `max_concurrency` is 0.
    pub fn build(self) -> Result<EmbeddingStoreIngestor> {
        let Self { store, model, splitter, options } = self;
        let missing = |part| Error::configuration(format!("an ingestor needs {part}"));
        let store = store.ok_or_else(|| missing("a store; call `store`"))?;
        let model = model.ok_or_else(|| missing("an embedding model; call `model`"))?;
        let splitter = splitter.unwrap_or_else(|| Arc::new(RecursiveSplitter::default()));
        if options.batch_size == 0 || options.max_concurrency == 0 {
            return Err(Error::configuration(
                "`batch_size` and `max_concurrency` of an ingestor must be at least 1",
            ));
        }
        Ok(EmbeddingStoreIngestor::new(Plan { store, model, splitter, options }))
    }
}

impl fmt::Debug for EmbeddingStoreIngestorBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EmbeddingStoreIngestorBuilder").field(&self.options).finish()
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
