//! The ingestor and its builder.

use super::plan::{IngestionErrorPolicy, MissingSources, Options, Plan};
use super::progress::{IngestionProgress, IngestionReport};
use super::run::Run;
use crate::{DocumentSplitter, LoadError, RecursiveSplitter};
use ai_services_core::document::{Document, TextSegment};
use ai_services_core::embedding::{EmbeddingModel, EmbeddingStore};
use ai_services_core::{Error, Result};
use futures_util::Stream;
use std::fmt;
use std::sync::Arc;

/// Splits documents, embeds their segments and stores them; repeats the work only for changed documents.
///
/// Documents with the same `source` in their metadata are one unit, for example the pages of a file. They
/// must be consecutive in the stream. The ingestor recognises a source by a digest (SHA-256, truncated to
/// 128 bits) of its segments with their metadata, the name of the model, the configured dimensions of the
/// model, and the collection. Therefore:
///
/// * an unchanged source is split, but neither embedded nor stored;
/// * a source that is new, has changed, or is split differently replaces its entries in the store in one step;
/// * a source that is missing from the stream is kept or removed: [`MissingSources`](super::MissingSources).
///
/// Segments keep the metadata that the splitter set, and get `digest` and `segments`, the number
/// of segments of the source. Their ids are derived from the collection, the source, the digest and their
/// number, so the same documents always give the same entries.
///
/// Documents are read on demand: about [`max_concurrency`](EmbeddingStoreIngestorBuilder::max_concurrency)
/// sources are in memory at a time, each with all its vectors.
///
/// The [module](super) has an example.
///
/// # Differences from LangChain4j
///
/// Unchanged documents are not embedded again. In LangChain4j, every run adds all documents again.
#[derive(Clone)]
pub struct EmbeddingStoreIngestor(Arc<Plan>);

impl EmbeddingStoreIngestor {
    /// Returns a builder.
    pub fn builder() -> EmbeddingStoreIngestorBuilder {
        EmbeddingStoreIngestorBuilder {
            store: None,
            model: None,
            splitter: None,
            options: Options::default(),
        }
    }

    /// Ingests documents, for example those of a
    /// [`DirectoryLoader`](crate::DirectoryLoader).
    ///
    /// # Errors
    ///
    /// Returns the first failure, unless the policy is [`Skip`](super::IngestionErrorPolicy::Skip). The
    /// detail of the error is [`IngestionStopped`](super::IngestionStopped), with a report of the work done
    /// before.
    ///
    /// # Cancellation
    ///
    /// If the future is dropped, the store has either the old or the new entries of each source. Another run
    /// continues from there and does not embed stored sources again.
    pub async fn ingest(
        &self,
        documents: impl Stream<Item = Result<Document, LoadError>> + Send,
    ) -> Result<IngestionReport> {
        Run::new(Arc::clone(&self.0), &documents).ingest(documents).await
    }
}

impl fmt::Debug for EmbeddingStoreIngestor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddingStoreIngestor")
            .field("model", &self.0.model.name())
            .field("options", &self.0.options)
            .finish_non_exhaustive()
    }
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
    /// Sets the store. Required.
    pub fn store(mut self, store: impl EmbeddingStore + 'static) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Sets the embedding model. Required.
    ///
    /// The name of the model and its configured dimensions are part of the digest of a source: with another
    /// model everything is embedded again. If the new vectors have another length,
    /// [clear](EmbeddingStore::clear) the store first.
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
        let plan = Plan { store, model, splitter, options };
        Ok(EmbeddingStoreIngestor(Arc::new(plan)))
    }
}

impl fmt::Debug for EmbeddingStoreIngestorBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EmbeddingStoreIngestorBuilder").field(&self.options).finish()
    }
}
