//! Search by the distance of embeddings.

use super::texts;
use crate::embedding::{cosine, normalize};
use crate::error::Result;
use crate::model::{EmbeddingModel, EmbeddingPurpose, ToolSpecification, UsageMeter};
use crate::trace;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// The vectors of tools. Created at the first search.
pub(super) struct EmbeddingIndex {
    model: Arc<dyn EmbeddingModel>,
    vectors: OnceCell<Vec<Vec<f32>>>,
}

impl EmbeddingIndex {
    pub(super) fn new(model: Arc<dyn EmbeddingModel>) -> Self {
        Self { model, vectors: OnceCell::new() }
    }

    /// Returns all tools, the closest first.
    pub(super) async fn ranked<'a, I: Iterator<Item = &'a ToolSpecification>>(
        &self,
        query: &str,
        tools: impl FnOnce() -> I,
        meter: &UsageMeter,
    ) -> Result<Vec<usize>> {
        let vectors = self
            .vectors
            .get_or_try_init(|| {
                let texts: Vec<String> = tools().map(text).collect();
                async move {
                    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                    self.embed(&texts, EmbeddingPurpose::Document, meter).await
                }
            })
            .await?;
        let query = self.embed(&[query], EmbeddingPurpose::Query, meter).await?;
        let query = query.first().map(Vec::as_slice).unwrap_or_default();
        let mut ranked: Vec<(usize, f32)> =
            vectors.iter().map(|vector| cosine(query, vector)).enumerate().collect();
        ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        Ok(ranked.into_iter().map(|(index, _)| index).collect())
    }

    async fn embed(
        &self,
        texts: &[&str],
        purpose: EmbeddingPurpose,
        meter: &UsageMeter,
    ) -> Result<Vec<Vec<f32>>> {
        let embeddings = trace::embed(&*self.model, texts, purpose).await?;
        meter.add(embeddings.model.as_deref().unwrap_or(self.model.name()), embeddings.usage);
        let mut vectors = embeddings.vectors;
        vectors.iter_mut().for_each(|vector| normalize(vector));
        Ok(vectors)
    }
}

/// Returns the text of a tool that is embedded.
fn text(tool: &ToolSpecification) -> String {
    let (name, description, parameters) = texts(tool);
    format!("{}\n{description}\n{}", name.replace(['_', '-'], " "), parameters.join(" "))
}
