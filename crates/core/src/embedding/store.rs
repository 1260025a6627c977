//! The trait of embedding stores.

use super::{EmbeddingEntry, Filter, SearchMatch, TextSearch, VectorSearch};
use crate::document::MetadataValue;
use crate::error::{Error, ErrorKind, Result};
use crate::forward::forward_through_arc;
use async_trait::async_trait;

/// The entries that [`EmbeddingStore::replace`] removes.
///
/// An enum instead of an optional filter, because `None` could be read as "no entries" or as "all entries". It
/// is exhaustive, because a store must support every variant.
///
/// # Examples
///
/// ```
/// use ai_services::embedding::{Filter, Replace};
///
/// let of_file = Filter::key("file").is("fruit.md");
/// assert!(Replace::Matching(&of_file).check().is_ok());
/// assert!(Replace::Nothing.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Replace<'a> {
    /// No entries: the new entries are only added. Equal to [`add`](EmbeddingStore::add).
    Nothing,
    /// The entries that match the filter.
    Matching(&'a Filter),
}

impl Replace<'_> {
    /// Checks the filter against the rules of every store. Stores call this method before they write.
    ///
    /// # Errors
    ///
    /// [`InvalidRequest`](ErrorKind::InvalidRequest) if the filter is [rejected](Filter::check).
    pub fn check(self) -> Result<()> {
        match self {
            Self::Nothing => Ok(()),
            Self::Matching(filter) => filter.check(),
        }
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
/// Implementations carry `#[ai_services::async_trait]`. Without it, the compiler reports that "lifetime
/// parameters or bounds on method … do not match the trait declaration".
///
/// # Filters
///
/// An operation on all entries and the same operation on matching entries are two methods:
/// [`clear`](Self::clear) and [`remove_matching`](Self::remove_matching), [`count`](Self::count) and
/// [`count_matching`](Self::count_matching). A missing filter is therefore a compile error and cannot empty a
/// store. Only [`values`](Self::values) and the searches take an optional filter: they do not write, and
/// without a filter they read all entries.
///
/// # Examples
///
/// Replaces the texts of a file atomically, so that no search sees the file without texts:
///
/// ```
/// use ai_services::document::{Metadata, TextSegment};
/// use ai_services::embedding::{
///     EmbeddingEntry, EmbeddingModel, EmbeddingPurpose, EmbeddingStore, Filter, Replace,
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
///     store.replace(Replace::Matching(&Filter::key("file").is(file)), entries.collect()).await
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
/// # assert_eq!(store.count_matching(&Filter::key("file").is("a.md")).await?, 2);
/// # assert_eq!(store.count().await?, 3);
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
        self.replace(Replace::Nothing, entries).await
    }

    /// Removes existing entries and adds new ones, in one atomic step. The new entries are added whether or
    /// not they match the filter of the removed ones.
    ///
    /// # Errors
    ///
    /// See [`add`](Self::add).
    async fn replace(&self, removed: Replace<'_>, added: Vec<EmbeddingEntry>) -> Result<()>;

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

    /// Removes the entries that match the filter.
    ///
    /// # Errors
    ///
    /// Fails if the filter is invalid or if the store cannot be written. The store is then unchanged.
    async fn remove_matching(&self, filter: &Filter) -> Result<()>;

    /// Removes **all** entries.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written. The store is then unchanged.
    #[doc(alias = "remove_all")]
    async fn clear(&self) -> Result<()>;

    /// Returns the number of all entries.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    async fn count(&self) -> Result<u64>;

    /// Returns the number of entries that match the filter.
    ///
    /// # Errors
    ///
    /// Fails if the filter is invalid or if the store cannot be read.
    async fn count_matching(&self, filter: &Filter) -> Result<u64>;

    /// Returns the distinct values of a key in the entries that match the filter, in any order. Without a
    /// filter, returns the values in all entries. The integer 1, the float 1 and the text `1` are distinct
    /// values.
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
            removed: Replace<'b>,
            added: Vec<EmbeddingEntry>,
        ) -> Result<()>;
        async fn search<'a, 'b, 'c>(&'a self, search: &'b VectorSearch<'c>) -> Result<Vec<SearchMatch>>;
        async fn search_text<'a, 'b, 'c>(
            &'a self,
            search: &'b TextSearch<'c>,
        ) -> Result<Vec<SearchMatch>>;
        async fn remove<'a, 'b, 'c>(&'a self, ids: &'b [&'c str]) -> Result<()>;
        async fn remove_matching<'a, 'b>(&'a self, filter: &'b Filter) -> Result<()>;
        async fn clear<'a>(&'a self) -> Result<()>;
        async fn count<'a>(&'a self) -> Result<u64>;
        async fn count_matching<'a, 'b>(&'a self, filter: &'b Filter) -> Result<u64>;
        async fn values<'a, 'b, 'c>(
            &'a self,
            key: &'b str,
            filter: Option<&'c Filter>,
        ) -> Result<Vec<MetadataValue>>;
    }
}
