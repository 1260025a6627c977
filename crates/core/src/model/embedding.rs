//! Models that turn texts into vectors.

use super::{ModelEndpoint, TokenUsage};
use crate::error::{Error, ErrorKind, Result};
use crate::forward::forward_through_arc;
use async_trait::async_trait;

/// A model that turns texts into vectors. The distance between two vectors measures how similar the
/// texts are.
///
/// Implementations carry `#[ai_services::async_trait]`. Without it, the compiler reports that "lifetime
/// parameters or bounds on method … do not match the trait declaration".
///
/// # Cancellation
///
/// Dropping the future of [`embed`](Self::embed) cancels the remaining requests.
///
/// # Examples
///
/// ```
/// use ai_services::model::{EmbeddingModel, EmbeddingPurpose, Embeddings};
///
/// /// Counts vowels: a meaningless vector, but of a fixed length.
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
    /// Returns one vector for each text, in the same order. Clients send batches if the provider
    /// limits the number of texts in a request.
    ///
    /// # Errors
    ///
    /// Fails if the model does not answer for all of the texts.
    async fn embed(&self, texts: &[&str], purpose: EmbeddingPurpose) -> Result<Embeddings>;

    /// Returns the vector of a search query.
    ///
    /// # Errors
    ///
    /// Same as [`embed`](Self::embed).
    async fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        let embeddings = self.embed(&[text], EmbeddingPurpose::Query).await?;
        embeddings.vectors.into_iter().next().ok_or_else(|| {
            Error::new(ErrorKind::InvalidResponse, "the embedding model returned no vector")
        })
    }

    /// Returns the length of the vectors, if it is known before the first request.
    fn dimensions(&self) -> Option<usize> {
        None
    }

    /// Returns the name of the model for traces, for example `text-embedding-3-small`.
    fn name(&self) -> &str {
        "unknown"
    }

    /// Returns the provider of the model, for traces and metrics. A model that wraps another one returns the
    /// endpoint of that model. Default: the provider `unknown`.
    fn endpoint(&self) -> ModelEndpoint<'_> {
        ModelEndpoint::default()
    }
}

forward_through_arc! {
    EmbeddingModel {
        async fn embed<'a, 'b, 'c>(
            &'a self,
            texts: &'b [&'c str],
            purpose: EmbeddingPurpose,
        ) -> Result<Embeddings>;
        async fn embed_query<'a, 'b>(&'a self, text: &'b str) -> Result<Vec<f32>>;
        fn dimensions(&self) -> Option<usize>;
        fn name(&self) -> &str;
        fn endpoint(&self) -> ModelEndpoint<'_>;
    }
}

/// The purpose of a vector. Some models embed questions and documents differently; others ignore
/// the purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmbeddingPurpose {
    /// The text is a document that searches should find.
    #[default]
    Document,
    /// The text is a query that searches for documents.
    Query,
    /// The vector is input of a classifier.
    Classification,
    /// The vector is input of a clustering algorithm.
    Clustering,
    /// The vectors are compared with each other.
    Similarity,
}

/// The vectors of some texts.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Embeddings {
    /// The vectors, in the order of the texts.
    pub vectors: Vec<Vec<f32>>,
    /// The tokens used, over all batches.
    pub usage: TokenUsage,
    /// The name of the model that answered, as reported by the provider.
    pub model: Option<Box<str>>,
}

impl Embeddings {
    /// Creates a result with only the vectors.
    #[must_use]
    pub fn new(vectors: impl IntoIterator<Item = Vec<f32>>) -> Self {
        Self { vectors: vectors.into_iter().collect(), ..Self::default() }
    }

    /// Sets the token usage.
    #[must_use]
    pub fn with_usage(mut self, usage: TokenUsage) -> Self {
        self.usage = usage;
        self
    }

    /// Sets the name of the model that answered.
    #[must_use]
    pub fn with_model(mut self, model: Option<Box<str>>) -> Self {
        self.model = model;
        self
    }
}
