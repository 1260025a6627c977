//! Models that turn texts into vectors.

use super::TokenUsage;
use crate::error::{Error, ErrorKind, Result};
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// A model that turns texts into vectors whose distance says how much the texts have in common.
///
/// # Cancellation
///
/// Dropping the future of [`embed`](Self::embed) cancels what is still to be asked.
///
/// # Examples
///
/// ```
/// use ai_services::model::{EmbeddingModel, EmbeddingPurpose, Embeddings};
///
/// /// Counts vowels: close to nothing, but of a fixed length.
/// struct Vowels;
///
/// #[ai_services::async_trait]
/// impl EmbeddingModel for Vowels {
///     async fn embed(
///         &self,
///         texts: &[&str],
///         _: EmbeddingPurpose,
///     ) -> ai_services::Result<Embeddings> {
///         let count = |text: &str, vowel| text.chars().filter(|c| *c == vowel).count() as f32;
///         let vector = |text: &&str| "aeiou".chars().map(|vowel| count(text, vowel)).collect();
///         Ok(Embeddings::new(texts.iter().map(vector)))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// assert_eq!(Vowels.embed_query("a tree").await?, [1.0, 2.0, 0.0, 0.0, 0.0]);
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait EmbeddingModel: Send + Sync {
    /// One vector for each text, in the same order. Clients ask in batches if the provider limits how
    /// many texts a request may have.
    ///
    /// # Errors
    ///
    /// Whatever keeps the model from answering, for all texts or for some of them.
    async fn embed(&self, texts: &[&str], purpose: EmbeddingPurpose) -> Result<Embeddings>;

    /// The vector of a text that is searched for.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed).
    async fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        let embeddings = self.embed(&[text], EmbeddingPurpose::Query).await?;
        embeddings.vectors.into_iter().next().ok_or_else(|| {
            Error::new(ErrorKind::InvalidResponse, "the embedding model returned no vector")
        })
    }

    /// How many numbers a vector has, if that is known before the first one comes.
    fn dimensions(&self) -> Option<usize> {
        None
    }

    /// The name of the model for traces, for example `text-embedding-3-small`.
    fn name(&self) -> &str {
        "unknown"
    }
}

// The inner future is handed on as it is: an async function would put it into a second box.
impl<M: EmbeddingModel + ?Sized> EmbeddingModel for Arc<M> {
    fn embed<'a, 'b, 'c, 'z>(
        &'a self,
        texts: &'b [&'c str],
        purpose: EmbeddingPurpose,
    ) -> BoxFuture<'z, Result<Embeddings>>
    where
        'a: 'z,
        'b: 'z,
        'c: 'z,
        Self: 'z,
    {
        M::embed(self, texts, purpose)
    }

    fn embed_query<'a, 'b, 'z>(&'a self, text: &'b str) -> BoxFuture<'z, Result<Vec<f32>>>
    where
        'a: 'z,
        'b: 'z,
        Self: 'z,
    {
        M::embed_query(self, text)
    }

    fn dimensions(&self) -> Option<usize> {
        M::dimensions(self)
    }

    fn name(&self) -> &str {
        M::name(self)
    }
}

/// What vectors are for. Some models embed a question otherwise than its answer; others ignore it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmbeddingPurpose {
    /// To be found.
    #[default]
    Document,
    /// To find documents.
    Query,
    /// To be sorted into classes.
    Classification,
    /// To be grouped.
    Clustering,
    /// To be compared with each other.
    Similarity,
}

/// The vectors of some texts.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Embeddings {
    /// One vector a text, in the order of the texts.
    pub vectors: Vec<Vec<f32>>,
    /// The tokens they cost, over all batches.
    pub usage: TokenUsage,
    /// The model that answered, as the provider names it.
    pub model: Option<Box<str>>,
}

impl Embeddings {
    /// Vectors of which nothing else is known.
    #[must_use]
    pub fn new(vectors: impl IntoIterator<Item = Vec<f32>>) -> Self {
        Self { vectors: vectors.into_iter().collect(), ..Self::default() }
    }

    /// The same vectors with their cost.
    #[must_use]
    pub fn with_usage(mut self, usage: TokenUsage) -> Self {
        self.usage = usage;
        self
    }

    /// The same vectors with the name of the model that answered.
    #[must_use]
    pub fn with_model(mut self, model: Option<Box<str>>) -> Self {
        self.model = model;
        self
    }
}
