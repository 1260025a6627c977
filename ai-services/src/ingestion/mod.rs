//! From documents to an embedding store, and only what has changed.
//!
//! An [`EmbeddingStoreIngestor`] cuts documents into segments, embeds them, and stores vectors and
//! segments together. It is made to be run again: whenever documents have changed, and whenever it was
//! interrupted.
//!
//! # Examples
//!
//! ```
//! use ai_services::document::{Document, Metadata, key};
//! use ai_services::ingestion::EmbeddingStoreIngestor;
//! use futures_util::stream;
//! # use ai_services::embedding::{
//! #     EmbeddingEntry, EmbeddingModel, EmbeddingPurpose, EmbeddingStore, Embeddings, Filter,
//! #     SearchMatch, VectorSearch,
//! # };
//! # use ai_services::document::MetadataValue;
//! # use std::sync::{Arc, Mutex};
//! # struct Model;
//! # #[ai_services::async_trait]
//! # impl EmbeddingModel for Model {
//! #     async fn embed(&self, texts: &[&str], _: EmbeddingPurpose) -> ai_services::Result<Embeddings> {
//! #         Ok(Embeddings::new(texts.iter().map(|text| vec![1.0, text.len() as f32])))
//! #     }
//! # }
//! # #[derive(Default)]
//! # struct Store(Mutex<Vec<EmbeddingEntry>>);
//! # impl Store {
//! #     fn all(&self, filter: Option<&Filter>) -> Vec<EmbeddingEntry> {
//! #         let accepts = |entry: &EmbeddingEntry| {
//! #             filter.is_none_or(|filter| filter.accepts(entry.segment.metadata()))
//! #         };
//! #         self.0.lock().unwrap().iter().filter(|entry| accepts(entry)).cloned().collect()
//! #     }
//! # }
//! # #[ai_services::async_trait]
//! # impl EmbeddingStore for Store {
//! #     async fn replace(
//! #         &self,
//! #         removed: Option<&Filter>,
//! #         added: Vec<EmbeddingEntry>,
//! #     ) -> ai_services::Result<()> {
//! #         let gone = removed.map(|filter| self.all(Some(filter))).unwrap_or_default();
//! #         let mut entries = self.0.lock().unwrap();
//! #         entries.retain(|entry| !gone.contains(entry));
//! #         entries.extend(added);
//! #         Ok(())
//! #     }
//! #     async fn search(&self, _: &VectorSearch<'_>) -> ai_services::Result<Vec<SearchMatch>> {
//! #         Ok(Vec::new())
//! #     }
//! #     async fn remove(&self, _: &[&str]) -> ai_services::Result<()> {
//! #         Ok(())
//! #     }
//! #     async fn remove_all(&self, filter: Option<&Filter>) -> ai_services::Result<()> {
//! #         self.replace(filter, Vec::new()).await
//! #     }
//! #     async fn count(&self, filter: Option<&Filter>) -> ai_services::Result<u64> {
//! #         Ok(self.all(filter).len() as u64)
//! #     }
//! #     async fn values(&self, _: &str, _: Option<&Filter>) -> ai_services::Result<Vec<MetadataValue>> {
//! #         Ok(Vec::new())
//! #     }
//! # }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> ai_services::Result<()> {
//! # let (model, store) = (Model, Arc::new(Store::default()));
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

mod builder;
mod ingestor;
mod progress;
mod run;
mod source;
mod tasks;

pub use builder::{EmbeddingStoreIngestorBuilder, IngestionErrorPolicy, MissingSources};
pub use ingestor::EmbeddingStoreIngestor;
pub use progress::{IngestionFailure, IngestionProgress, IngestionReport, IngestionStopped};
