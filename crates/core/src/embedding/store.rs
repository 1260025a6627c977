//! The trait of embedding stores.

use super::Filter;
use crate::document::{MetadataValue, TextSegment};
use crate::error::{Error, ErrorKind, Result};
use crate::forward::forward_through_arc;
use async_trait::async_trait;

/// A vector with its text.
///
/// # Examples
///
/// ```
/// use ai_services::document::{Metadata, TextSegment};
/// use ai_services::embedding::EmbeddingEntry;
///
/// let text = TextSegment::new("Bananas are berries.");
/// let text = text.with_metadata(Metadata::new().with("source", "fruit.md"));
/// // With a stable id, adding the text again replaces the entry.
/// let entry = EmbeddingEntry::new("fruit.md#0", vec![0.1, 0.7], text);
/// assert!(entry.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EmbeddingEntry {
    /// The unique id of the entry in its store. At most [`MAX_ID_BYTES`](Self::MAX_ID_BYTES).
    pub id: Box<str>,
    /// The vector. All vectors of a store have the same length.
    pub vector: Vec<f32>,
    /// The text with its metadata.
    pub segment: TextSegment,
}

impl EmbeddingEntry {
    /// Creates an entry.
    #[must_use]
    pub fn new(id: impl Into<Box<str>>, vector: Vec<f32>, segment: TextSegment) -> Self {
        Self { id: id.into(), vector, segment }
    }
}

/// A search by vector.
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
    /// Maximum number of results. Default: 3.
    pub max_results: usize,
    /// Minimum score, between 0 and 1. Default: 0. See [`SearchMatch::score`].
    pub min_score: f64,
    /// The filter of entries. Default: `None`, which searches all entries.
    pub filter: Option<&'a Filter>,
}

impl<'a> VectorSearch<'a> {
    /// Creates a search for the entries nearest to this vector.
    pub fn new(vector: &'a [f32]) -> Self {
        Self { vector, max_results: 3, min_score: 0.0, filter: None }
    }

    /// Sets the maximum number of results. Default: 3.
    pub fn max_results(mut self, max: usize) -> Self {
        self.max_results = max;
        self
    }

    /// Sets the minimum score, between 0 and 1. Default: 0.
    pub fn min_score(mut self, score: f64) -> Self {
        self.min_score = score;
        self
    }

    /// Searches only entries that match the filter.
    pub fn filter(mut self, filter: &'a Filter) -> Self {
        self.filter = Some(filter);
        self
    }
}

/// A full-text search.
///
/// # Examples
///
/// ```
/// use ai_services::embedding::TextSearch;
///
/// // Finds texts with some of the words; the minus sign has no meaning.
/// let search = TextSearch::new("refund of a booking -insurance").max_results(5);
/// assert!(search.check().is_ok());
/// ```
#[derive(Clone, Debug)]
#[must_use]
#[non_exhaustive]
pub struct TextSearch<'a> {
    /// The words to search for. They are data: operators are not interpreted. The search ignores case.
    /// Word boundaries and stemming depend on the store.
    pub text: &'a str,
    /// Maximum number of results. Default: 3.
    pub max_results: usize,
    /// The filter of entries. Default: `None`, which searches all entries.
    pub filter: Option<&'a Filter>,
}

impl<'a> TextSearch<'a> {
    /// Creates a search for entries with some of these words.
    pub fn new(text: &'a str) -> Self {
        Self { text, max_results: 3, filter: None }
    }

    /// Sets the maximum number of results. Default: 3.
    pub fn max_results(mut self, max: usize) -> Self {
        self.max_results = max;
        self
    }

    /// Searches only entries that match the filter.
    pub fn filter(mut self, filter: &'a Filter) -> Self {
        self.filter = Some(filter);
        self
    }
}

/// A search result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SearchMatch {
    /// The id of the entry.
    pub id: Box<str>,
    /// The score; higher is better. A search by vector returns `(1 + cosine) / 2`, a number between 0
    /// and 1. The scores of a full-text search depend on the store.
    pub score: f64,
    /// The text.
    pub segment: TextSegment,
}

impl SearchMatch {
    /// Creates a search result.
    #[must_use]
    pub fn new(id: impl Into<Box<str>>, score: f64, segment: TextSegment) -> Self {
        Self { id: id.into(), score, segment }
    }
}

/// Stores vectors with their texts and finds the nearest entries.
///
/// Results are sorted by descending score, ties by the bytes of the ids. They do not depend on the order
/// in which entries were added.
///
/// Stores fail with [`InvalidRequest`](ErrorKind::InvalidRequest) if
///
/// * a vector is empty, zero, or has a number that is not finite,
/// * a vector has another length than the vectors in the store,
/// * [`EmbeddingEntry::check`], [`VectorSearch::check`] or [`Filter::check`] fails.
///
/// Ids, keys, values and texts are stored exactly. A store whose database cannot store the character NUL
/// may reject entries that contain it, with the same error kind.
///
/// Writes are atomic: a search, a count or a list of values sees all changes of another call, or none.
/// If the future of a write is dropped, the write is either complete or not done.
///
/// `ai_services::testing::embedding_stores` (feature `testing`) tests a store for all these guarantees.
///
/// # Examples
///
/// Replaces the texts of a file atomically, so that no search sees the file without texts:
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
    /// Adds all entries or none. An entry replaces the existing one with the same id. If several new entries
    /// have the same id, the last one is stored.
    ///
    /// # Errors
    ///
    /// Fails if an entry is invalid or if the store cannot be written. The store is then unchanged.
    async fn add(&self, entries: Vec<EmbeddingEntry>) -> Result<()> {
        self.replace(None, entries).await
    }

    /// Removes the entries that match the filter and adds new entries, in one atomic step.
    ///
    /// With `None` no entry is removed. The new entries are added whether or not they match the filter.
    ///
    /// # Errors
    ///
    /// See [`add`](Self::add).
    async fn replace(&self, removed: Option<&Filter>, added: Vec<EmbeddingEntry>) -> Result<()>;

    /// Returns the entries nearest to a vector.
    ///
    /// # Errors
    ///
    /// Fails if the search is invalid or if the store cannot be read.
    async fn search(&self, search: &VectorSearch<'_>) -> Result<Vec<SearchMatch>>;

    /// Returns the entries that contain at least one of the words, entries with more of the words first. A
    /// search without words returns no entries.
    ///
    /// # Errors
    ///
    /// The default implementation returns [`Unsupported`](ErrorKind::Unsupported). Others fail if the filter
    /// is invalid or if the store cannot be read.
    async fn search_text(&self, _search: &TextSearch<'_>) -> Result<Vec<SearchMatch>> {
        Err(Error::new(ErrorKind::Unsupported, "the embedding store has no full-text search"))
    }

    /// Removes entries by id. Unknown ids are ignored.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written. The store is then unchanged.
    async fn remove(&self, ids: &[&str]) -> Result<()>;

    /// Removes all entries that match the filter. With `None`, **all** entries are removed.
    ///
    /// # Errors
    ///
    /// Fails if the filter is invalid or if the store cannot be written. The store is then unchanged.
    async fn remove_all(&self, filter: Option<&Filter>) -> Result<()>;

    /// Returns the number of entries that match the filter. With `None`, all entries are counted.
    ///
    /// # Errors
    ///
    /// Fails if the filter is invalid or if the store cannot be read.
    async fn count(&self, filter: Option<&Filter>) -> Result<u64>;

    /// Returns the distinct values of a key in the entries that match the filter, in any order. With `None`,
    /// all entries are searched. The integer 1, the float 1 and the text `1` are distinct values.
    ///
    /// # Errors
    ///
    /// Fails if the filter is invalid or if the store cannot be read.
    async fn values(&self, key: &str, filter: Option<&Filter>) -> Result<Vec<MetadataValue>>;
}

forward_through_arc! {
    EmbeddingStore {
        async fn add<'a>(&'a self, entries: Vec<EmbeddingEntry>) -> Result<()>;
        async fn replace<'a, 'b>(
            &'a self,
            removed: Option<&'b Filter>,
            added: Vec<EmbeddingEntry>,
        ) -> Result<()>;
        async fn search<'a, 'b, 'c>(&'a self, search: &'b VectorSearch<'c>) -> Result<Vec<SearchMatch>>;
        async fn search_text<'a, 'b, 'c>(
            &'a self,
            search: &'b TextSearch<'c>,
        ) -> Result<Vec<SearchMatch>>;
        async fn remove<'a, 'b, 'c>(&'a self, ids: &'b [&'c str]) -> Result<()>;
        async fn remove_all<'a, 'b>(&'a self, filter: Option<&'b Filter>) -> Result<()>;
        async fn count<'a, 'b>(&'a self, filter: Option<&'b Filter>) -> Result<u64>;
        async fn values<'a, 'b, 'c>(
            &'a self,
            key: &'b str,
            filter: Option<&'c Filter>,
        ) -> Result<Vec<MetadataValue>>;
    }
}
