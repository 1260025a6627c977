//! What an ingestor is made of.

use super::EmbeddingStoreIngestor;
use super::progress::{Callback, IngestionProgress};
use crate::{DocumentSplitter, RecursiveSplitter};
use ai_services_core::document::{Document, TextSegment};
use ai_services_core::embedding::{EmbeddingModel, EmbeddingStore};
use ai_services_core::{Error, Result};
use std::fmt;
use std::sync::Arc;

type Transformer<T> = dyn Fn(T) -> Option<T> + Send + Sync;

/// All that does not change while an ingestor runs.
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

/// What becomes of sources that are in the store and no longer come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissingSources {
    /// They stay.
    #[default]
    Keep,
    /// They are removed, once all documents have come. One that could not be loaded is not missing, nor
    /// is anything in a folder that could not be read.
    ///
    /// A stream without documents removes everything, so set a
    /// [`collection`](EmbeddingStoreIngestorBuilder::collection) if the store has other documents too.
    Remove,
}

/// What happens when a source cannot be loaded, embedded or stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum IngestionErrorPolicy {
    /// The ingestion ends with its error. What is stored stays.
    #[default]
    Stop,
    /// The others go on, and the report names it.
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

    /// Sets the model that embeds. Required. Its name is part of what a source is known by, and so are the
    /// dimensions that it is set to: with another model everything is embedded again. If that makes
    /// vectors of another length, the store has to be [emptied](EmbeddingStore::remove_all) first.
    #[doc(alias = "embeddingModel")]
    pub fn model(mut self, model: impl EmbeddingModel + 'static) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// Sets how documents are cut; a [`RecursiveSplitter`] with its defaults if it is not set.
    #[doc(alias = "documentSplitter")]
    pub fn splitter(mut self, splitter: impl DocumentSplitter + 'static) -> Self {
        self.splitter = Some(Arc::new(splitter));
        self
    }

    /// Changes each document before it is cut, or leaves it out. Its `source` stays what it was.
    ///
    /// It runs in a thread that may block.
    pub fn document_transformer(
        mut self,
        transformer: impl Fn(Document) -> Option<Document> + Send + Sync + 'static,
    ) -> Self {
        self.options.document_transformer = Some(Arc::new(transformer));
        self
    }

    /// Changes each segment before it is embedded, or leaves it out.
    ///
    /// For example to put the title before the text. It runs in a thread that may block, at every run and
    /// for every segment, because only then it is known whether anything has changed.
    #[doc(alias = "textSegmentTransformer")]
    pub fn segment_transformer(
        mut self,
        transformer: impl Fn(TextSegment) -> Option<TextSegment> + Send + Sync + 'static,
    ) -> Self {
        self.options.segment_transformer = Some(Arc::new(transformer));
        self
    }

    /// Names the documents, if the store has others too: their segments have it in their metadata as
    /// `collection`, and nothing else in the store is replaced or removed. Without it, a source is the same
    /// whoever stored it.
    pub fn collection(mut self, name: impl Into<Arc<str>>) -> Self {
        self.options.collection = Some(name.into());
        self
    }

    /// Sets how many texts a request to the model has at most; 64 by default. Small sources share a
    /// request.
    pub fn batch_size(mut self, texts: usize) -> Self {
        self.options.batch_size = texts;
        self
    }

    /// Sets how many requests to the model are under way at once, and about how many sources are in
    /// memory; 4 by default.
    pub fn max_concurrency(mut self, requests: usize) -> Self {
        self.options.max_concurrency = requests;
        self
    }

    /// Sets what becomes of sources that no longer come; by default they stay.
    pub fn missing_sources(mut self, missing: MissingSources) -> Self {
        self.options.missing = missing;
        self
    }

    /// Sets what happens when a source fails; by default the ingestion ends.
    pub fn on_error(mut self, policy: IngestionErrorPolicy) -> Self {
        self.options.on_error = policy;
        self
    }

    /// Is told how far it is: after every request to the model and every source. It must not block.
    pub fn progress(
        mut self,
        callback: impl Fn(&IngestionProgress) + Send + Sync + 'static,
    ) -> Self {
        self.options.progress = Some(Arc::new(callback));
        self
    }

    /// The ingestor.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) without a store or a model, and if
    /// `batch_size` or `max_concurrency` is 0.
    pub fn build(self) -> Result<EmbeddingStoreIngestor> {
        let Self { store, model, splitter, options } = self;
        let missing = |what| Error::configuration(format!("an ingestor needs {what}"));
        let store = store.ok_or_else(|| missing("a store; call `store`"))?;
        let model = model.ok_or_else(|| missing("an embedding model; call `model`"))?;
        let splitter = splitter.unwrap_or_else(|| Arc::new(RecursiveSplitter::default()));
        if options.batch_size == 0 || options.max_concurrency == 0 {
            return Err(Error::configuration(
                "`batch_size` and `max_concurrency` of an ingestor are at least 1",
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
