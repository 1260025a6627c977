//! Where vectors are kept and searched.

use super::Filter;
use crate::document::{MetadataValue, TextSegment};
use crate::error::{Error, ErrorKind, Result};
use async_trait::async_trait;
use std::sync::Arc;

/// A vector with the text that it was made from.
///
/// # Examples
///
/// ```
/// use ai_services::document::{Metadata, TextSegment};
/// use ai_services::embedding::EmbeddingEntry;
///
/// let text = TextSegment::new("Bananas are berries.");
/// let text = text.with_metadata(Metadata::new().with("source", "fruit.md"));
/// // An id that the same text gets again replaces the entry instead of adding another one.
/// let entry = EmbeddingEntry::new("fruit.md#0", vec![0.1, 0.7], text);
/// assert!(entry.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EmbeddingEntry {
    /// Names the entry in its store, in at most [`MAX_ID_BYTES`](Self::MAX_ID_BYTES).
    pub id: Box<str>,
    /// The vector. All vectors of a store have the same length.
    pub vector: Vec<f32>,
    /// The text, with what is known about it.
    pub segment: TextSegment,
}

impl EmbeddingEntry {
    /// An entry.
    #[must_use]
    pub fn new(id: impl Into<Box<str>>, vector: Vec<f32>, segment: TextSegment) -> Self {
        Self { id: id.into(), vector, segment }
    }
}

/// What is searched for by a vector.
///
/// # Examples
///
/// ```
/// use ai_services::embedding::{Filter, VectorSearch};
///
/// let (question, recent) = ([0.3, 0.4], Filter::key("year").at_least(2025));
/// let search = VectorSearch::new(&question).max_results(5).min_score(0.7).filter(&recent);
/// assert!(search.check().is_ok());
/// ```
#[derive(Clone, Debug)]
#[must_use]
#[non_exhaustive]
pub struct VectorSearch<'a> {
    /// The vector that entries are compared with.
    pub vector: &'a [f32],
    /// How many entries are wanted; 3 by default.
    pub max_results: usize,
    /// How well an entry has to fit, between 0 and 1; 0 by default. See [`SearchMatch::score`].
    pub min_score: f64,
    /// Which entries are considered; all by default.
    pub filter: Option<&'a Filter>,
}

impl<'a> VectorSearch<'a> {
    /// A search for the entries nearest to this vector.
    pub fn new(vector: &'a [f32]) -> Self {
        Self { vector, max_results: 3, min_score: 0.0, filter: None }
    }

    /// Sets how many entries are wanted.
    pub fn max_results(mut self, max: usize) -> Self {
        self.max_results = max;
        self
    }

    /// Sets how well an entry has to fit, between 0 and 1.
    pub fn min_score(mut self, score: f64) -> Self {
        self.min_score = score;
        self
    }

    /// Considers only entries that the filter accepts.
    pub fn filter(mut self, filter: &'a Filter) -> Self {
        self.filter = Some(filter);
        self
    }
}

/// What is searched for by words.
///
/// # Examples
///
/// ```
/// use ai_services::embedding::TextSearch;
///
/// // Finds texts with some of the words; the sign before the last one means nothing.
/// let search = TextSearch::new("refund of a booking -insurance").max_results(5);
/// assert!(search.check().is_ok());
/// ```
#[derive(Clone, Debug)]
#[must_use]
#[non_exhaustive]
pub struct TextSearch<'a> {
    /// The words. They are data: nothing in them is read as an operator. Case makes no difference; what
    /// else is a word, and whether its forms are the same, is up to the store.
    pub text: &'a str,
    /// How many entries are wanted; 3 by default.
    pub max_results: usize,
    /// Which entries are considered; all by default.
    pub filter: Option<&'a Filter>,
}

impl<'a> TextSearch<'a> {
    /// A search for entries with some of these words.
    pub fn new(text: &'a str) -> Self {
        Self { text, max_results: 3, filter: None }
    }

    /// Sets how many entries are wanted.
    pub fn max_results(mut self, max: usize) -> Self {
        self.max_results = max;
        self
    }

    /// Considers only entries that the filter accepts.
    pub fn filter(mut self, filter: &'a Filter) -> Self {
        self.filter = Some(filter);
        self
    }
}

/// An entry that was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SearchMatch {
    /// The name of the entry.
    pub id: Box<str>,
    /// How well it fits, the higher the better. Of a search by vector `(1 + cosine) / 2`, so between 0
    /// and 1; of a search by words a number of the store's own.
    pub score: f64,
    /// The text.
    pub segment: TextSegment,
}

impl SearchMatch {
    /// An entry that was found.
    #[must_use]
    pub fn new(id: impl Into<Box<str>>, score: f64, segment: TextSegment) -> Self {
        Self { id: id.into(), score, segment }
    }
}

/// Keeps vectors with the texts that they were made from, and finds those nearest to another.
///
/// What is found is the same for the same entries and the same search, whatever the order in which
/// entries were added: best first, and equally good ones by their ids, in the order of their bytes.
///
/// A vector of another length than those in the store, an empty one, one with a number that is not
/// finite, or a zero vector is an error of kind [`InvalidRequest`](ErrorKind::InvalidRequest), and so is
/// what [`EmbeddingEntry::check`], [`VectorSearch::check`] and [`Filter::check`] refuse. Ids, keys, values
/// and texts are kept exactly. Only where a database has no way to keep the character NUL, it may refuse
/// entries with one, by the same kind of error.
///
/// A search, a count or a list of values sees all of another call's changes or none. Dropping the future
/// of a change before it is done leaves it done or not done, nothing between.
///
/// `ai_services::testing::embedding_stores` (feature `testing`) checks all that is promised here.
///
/// # Examples
///
/// New texts of a file take the place of the old ones, without a moment in which there are none:
///
/// ```
/// use ai_services::document::{Metadata, TextSegment};
/// use ai_services::embedding::{
///     EmbeddingEntry, EmbeddingModel, EmbeddingPurpose, EmbeddingStore, Filter,
/// };
///
/// async fn read_again(
///     store: &dyn EmbeddingStore,
///     model: &dyn EmbeddingModel,
///     file: &str,
///     text: &str,
/// ) -> ai_services::Result<()> {
///     let metadata = Metadata::new().with("file", file);
///     let paragraphs: Vec<_> = text.split("\n\n").collect();
///     let vectors = model.embed(&paragraphs, EmbeddingPurpose::Document).await?.vectors;
///     let entries = paragraphs.into_iter().zip(vectors).enumerate();
///     let entries = entries.map(|(number, (text, vector))| {
///         let segment = TextSegment::new(text).with_metadata(metadata.clone());
///         EmbeddingEntry::new(format!("{file}#{number}"), vector, segment)
///     });
///     store.replace(Some(&Filter::key("file").is(file)), entries.collect()).await
/// }
/// # struct Length;
/// # #[ai_services::async_trait]
/// # impl EmbeddingModel for Length {
/// #     async fn embed(
/// #         &self,
/// #         texts: &[&str],
/// #         _: EmbeddingPurpose,
/// #     ) -> ai_services::Result<ai_services::embedding::Embeddings> {
/// #         let vectors = texts.iter().map(|text| vec![1.0, text.len() as f32]);
/// #         Ok(ai_services::embedding::Embeddings::new(vectors))
/// #     }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// # let store = ai_services::embedding::InMemoryEmbeddingStore::new();
/// # read_again(&store, &Length, "a.md", "One.\n\nTwo.\n\nThree.").await?;
/// # read_again(&store, &Length, "b.md", "One.").await?;
/// # read_again(&store, &Length, "a.md", "Four.\n\nFive.").await?;
/// # assert_eq!(store.count(Some(&Filter::key("file").is("a.md"))).await?, 2);
/// # assert_eq!(store.count(None).await?, 3);
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait EmbeddingStore: Send + Sync {
    /// Adds entries, all or none. An entry whose id is there already replaces the other one; of several
    /// with one id the last is kept.
    ///
    /// # Errors
    ///
    /// If an entry is not valid, and if the store cannot be written. It is unchanged then.
    async fn add(&self, entries: Vec<EmbeddingEntry>) -> Result<()> {
        self.replace(None, entries).await
    }

    /// Removes the entries that the filter accepts and adds others, in one step. Without a filter it
    /// removes none. What is added is not asked whether the filter accepts it.
    ///
    /// # Errors
    ///
    /// As [`add`](Self::add).
    async fn replace(&self, removed: Option<&Filter>, added: Vec<EmbeddingEntry>) -> Result<()>;

    /// The entries nearest to a vector.
    ///
    /// # Errors
    ///
    /// If the vector is not valid, and if the store cannot be read.
    async fn search(&self, search: &VectorSearch<'_>) -> Result<Vec<SearchMatch>>;

    /// The entries that have at least one word of a text, those with more of them first. Of a text
    /// without words nothing is found.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) by default; if the store cannot be read.
    async fn search_text(&self, _search: &TextSearch<'_>) -> Result<Vec<SearchMatch>> {
        Err(Error::new(ErrorKind::Unsupported, "the embedding store has no full-text search"))
    }

    /// Removes entries. Unknown ids are not an error.
    ///
    /// # Errors
    ///
    /// If the store cannot be written. It is unchanged then.
    async fn remove(&self, ids: &[&str]) -> Result<()>;

    /// Removes all entries that the filter accepts; without a filter all.
    ///
    /// # Errors
    ///
    /// As [`remove`](Self::remove).
    async fn remove_all(&self, filter: Option<&Filter>) -> Result<()>;

    /// How many entries the filter accepts; without a filter, how many there are.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    async fn count(&self, filter: Option<&Filter>) -> Result<u64>;

    /// The different values that a key has in the entries that the filter accepts, in no order. The
    /// integer 1, the float 1 and the text `1` are different.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    async fn values(&self, key: &str, filter: Option<&Filter>) -> Result<Vec<MetadataValue>>;
}

#[async_trait]
impl<S: EmbeddingStore + ?Sized> EmbeddingStore for Arc<S> {
    async fn add(&self, entries: Vec<EmbeddingEntry>) -> Result<()> {
        S::add(self, entries).await
    }

    async fn replace(&self, removed: Option<&Filter>, added: Vec<EmbeddingEntry>) -> Result<()> {
        S::replace(self, removed, added).await
    }

    async fn search(&self, search: &VectorSearch<'_>) -> Result<Vec<SearchMatch>> {
        S::search(self, search).await
    }

    async fn search_text(&self, search: &TextSearch<'_>) -> Result<Vec<SearchMatch>> {
        S::search_text(self, search).await
    }

    async fn remove(&self, ids: &[&str]) -> Result<()> {
        S::remove(self, ids).await
    }

    async fn remove_all(&self, filter: Option<&Filter>) -> Result<()> {
        S::remove_all(self, filter).await
    }

    async fn count(&self, filter: Option<&Filter>) -> Result<u64> {
        S::count(self, filter).await
    }

    async fn values(&self, key: &str, filter: Option<&Filter>) -> Result<Vec<MetadataValue>> {
        S::values(self, key, filter).await
    }
}
