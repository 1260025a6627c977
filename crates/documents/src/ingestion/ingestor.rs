//! What users call.

use super::builder::{EmbeddingStoreIngestorBuilder, Plan};
use super::progress::IngestionReport;
use super::run::Run;
use crate::LoadError;
use ai_services_core::Result;
use ai_services_core::document::Document;
use futures_util::Stream;
use std::fmt;
use std::sync::Arc;

/// Cuts documents, embeds their segments and stores them, and does again only what has changed.
///
/// Documents with the same `source` in their metadata are one unit, for example the pages of a file; they
/// have to come one after another. A source is known by a digest (SHA-256, cut to 128 bits) of its segments
/// with their metadata, of the name of the model, and of its dimensions if it is set to some. So:
///
/// * a source that has not changed is cut, but neither embedded nor stored;
/// * one that is new, or has changed, or is cut otherwise, takes the place of what the store had of it, in
///   one step;
/// * one that no longer comes stays, or is removed: [`MissingSources`](super::MissingSources).
///
/// Segments have in their metadata what the splitter gave them, and `digest` and `segments`, the number
/// of segments of the source. Their ids are made of the source, the digest and their number, so the same
/// documents give the same store.
///
/// Documents are read as they are needed: in memory are about as many sources as
/// [`max_concurrency`](EmbeddingStoreIngestorBuilder::max_concurrency) allows, each with all its vectors.
///
/// The [module](super) has an example.
///
/// # Differences from LangChain4j
///
/// It knows what is in the store. There every run adds everything anew.
#[derive(Clone)]
pub struct EmbeddingStoreIngestor(Arc<Plan>);

impl EmbeddingStoreIngestor {
    /// Starts an ingestor.
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
    /// The first failure, unless it [skips](super::IngestionErrorPolicy::Skip) those. The error's detail is
    /// [`IngestionStopped`](super::IngestionStopped), with what was done before.
    ///
    /// # Cancellation
    ///
    /// If the future is dropped, each source is in the store as it was or as it is now. Another run goes on
    /// from there, and embeds nothing again that is stored.
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
