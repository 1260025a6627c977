//! Incremental ingestion of documents into an embedding store.
//!
//! An [`EmbeddingStoreIngestor`] splits documents into segments, embeds them, and stores vectors and
//! segments together. Run it again when documents have changed, or when a run was interrupted.
//!
//! # Examples
//!
//! ```
//! use ai_services::document::{Document, Metadata, key};
//! use ai_services::ingestion::EmbeddingStoreIngestor;
//! use futures_util::stream;
//! # use ai_services::embedding::{
//! #     EmbeddingModel, EmbeddingPurpose, Embeddings, InMemoryEmbeddingStore,
//! # };
//! # struct Model;
//! # #[ai_services::async_trait]
//! # impl EmbeddingModel for Model {
//! #     async fn embed(&self, texts: &[&str], _: EmbeddingPurpose) -> ai_services::Result<Embeddings> {
//! #         Ok(Embeddings::new(texts.iter().map(|text| vec![1.0, text.len() as f32])))
//! #     }
//! # }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> ai_services::Result<()> {
//! # let (model, store) = (Model, InMemoryEmbeddingStore::new());
//! let ingestor = EmbeddingStoreIngestor::builder().store(store).model(model).build()?;
//! // Usually `DirectoryLoader::new("handbook").documents()`.
//! let documents = || {
//!     let berries = Metadata::new().with(key::SOURCE, "berries.txt");
//!     stream::iter([Ok(Document::new("Bananas are berries.", berries))])
//! };
//! let report = ingestor.ingest(documents()).await?;
//! assert_eq!((report.totals.sources_done, report.totals.stored), (1, 1));
//!
//! let report = ingestor.ingest(documents()).await?;
//! assert_eq!((report.totals.sources_unchanged, report.totals.embedded), (1, 0));
//! # Ok(())
//! # }
//! ```

mod ingestor;
mod plan;
mod progress;
mod run;
mod source;
mod tasks;

pub use ingestor::{EmbeddingStoreIngestor, EmbeddingStoreIngestorBuilder};
pub use plan::{IngestionErrorPolicy, MissingSources};
pub use progress::{IngestionFailure, IngestionProgress, IngestionReport, IngestionStopped};
