//! The ingestor.

use super::builder::{EmbeddingStoreIngestorBuilder, Plan};
use super::progress::IngestionReport;
use super::run::Run;
use crate::LoadError;
use ai_services_core::Result;
use ai_services_core::document::Document;
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
        EmbeddingStoreIngestorBuilder::new()
    }

    pub(super) fn new(plan: Plan) -> Self {
        Self(Arc::new(plan))
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
