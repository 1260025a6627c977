//! The in-memory embedding store.

mod block;
mod builder;
mod file;
mod search;
mod sources;
mod table;
mod word_index;

pub use builder::InMemoryEmbeddingStoreBuilder;
pub use file::{UnreadableEmbeddings, UnreadableEmbeddingsProblem};

use ai_services_core::Result;
use ai_services_core::document::MetadataValue;
use ai_services_core::embedding::{
    EmbeddingEntry, EmbeddingStore, Filter, Replace, SearchMatch, TextSearch, VectorSearch,
    check_dimensions, normalize,
};
use async_trait::async_trait;
use sources::only_source;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use table::{Addition, Snapshot, Table};

/// An embedding store in the memory of the process, with exact brute-force search.
///
/// Clones share one store. A search is exact and takes time proportional to the number of entries: it reads
/// all vectors once, at memory bandwidth. A search works on a snapshot and yields to other tasks after every
/// megabyte, so searches run concurrently with each other and with writes. One search uses one thread. The
/// error of a score is below 1/100,000 (`f32` arithmetic, vectors of at most 4,096 dimensions).
/// Vectors are normalized to length 1; the original vectors are not kept.
///
/// A write never waits for a search. If a search is running, the changed blocks of about one megabyte are
/// copied. Entries are checked and prepared before the lock is taken; a search that starts afterwards waits
/// until all of them are inserted, some milliseconds for 10,000 entries. The first entry determines the
/// number of dimensions, until the store is empty again.
///
/// As soon as a search has `max_results` matches, the filter is evaluated only for entries with a sufficient
/// score. A filter that accepts fewer entries than `max_results` is evaluated for every entry. Counting,
/// replacing or removing the entries of one [source](ai_services_core::document::key::SOURCE) takes time
/// proportional to the entries of that source.
///
/// # Words
///
/// [`search_text`](EmbeddingStore::search_text) ranks by Okapi BM25 with `k1` = 1.2 and `b` = 0.75 (Robertson
/// and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009; defaults and the non-negative
/// logarithm as in Lucene), over the texts of all entries. A word is a run of letters and digits in lower
/// case; each Chinese character and each character of the Japanese syllabaries is a word. The first 256
/// distinct words of a query are used. The index is built by the first text search and rebuilt for blocks
/// that changed since then; without text searches it costs nothing.
///
/// # Examples
///
/// ```
/// use ai_services::document::{Metadata, TextSegment};
/// use ai_services::embedding::{
///     EmbeddingEntry, EmbeddingStore, Filter, InMemoryEmbeddingStore, TextSearch, VectorSearch,
/// };
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let store = InMemoryEmbeddingStore::new();
/// let terms = TextSegment::new("A booking can be cancelled until the day before.");
/// let fees = TextSegment::new("Cancelling costs five euros.");
/// let fees = fees.with_metadata(Metadata::new().with("year", 2026));
/// store
///     .add(vec![
///         EmbeddingEntry::new("terms", vec![0.9, 0.1], terms),
///         EmbeddingEntry::new("fees", vec![0.2, 0.8], fees),
///     ])
///     .await?;
///
/// let found = store.search(&VectorSearch::new(&[1.0, 0.0]).max_results(1)).await?;
/// assert_eq!(&*found[0].id, "terms");
/// let recent = Filter::key("year").at_least(2025);
/// let found = store.search(&VectorSearch::new(&[1.0, 0.0]).filter(&recent)).await?;
/// assert_eq!(found[0].segment.text(), "Cancelling costs five euros.");
/// let found = store.search_text(&TextSearch::new("When can a BOOKING be cancelled?")).await?;
/// assert_eq!(&*found[0].id, "terms");
/// # Ok(())
/// # }
/// ```
///
/// # Differences from LangChain4j
///
/// An entry replaces the entry with the same id. Invalid vectors are errors, the order of equal scores is
/// defined, text search is supported, and a file is verified when it is loaded.
#[derive(Clone)]
pub struct InMemoryEmbeddingStore(Arc<StoreState>);

struct StoreState {
    table: RwLock<Table>,
    max_entries: usize,
}

impl InMemoryEmbeddingStore {
    /// Creates an empty store for at most ten million entries.
    #[must_use]
    pub fn new() -> Self {
        Self::with(Table::default(), InMemoryEmbeddingStoreBuilder::DEFAULT_MAX_ENTRIES)
    }

    /// Returns a builder, for a store with another limit.
    pub fn builder() -> InMemoryEmbeddingStoreBuilder {
        InMemoryEmbeddingStoreBuilder::default()
    }

    fn with(table: Table, max_entries: usize) -> Self {
        Self(Arc::new(StoreState { table: RwLock::new(table), max_entries }))
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.snapshot().len()
    }

    /// Returns `true` if the store has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of dimensions of the vectors; `None` if the store has no entries.
    #[must_use]
    pub fn dimensions(&self) -> Option<usize> {
        self.snapshot().dimensions()
    }

    /// Writes a snapshot of all entries to a file.
    ///
    /// An existing file is replaced atomically, after the new file was synced to disk: after a crash, the
    /// path holds either the old or the new file. A new file is readable and writable by its owner only; a
    /// replaced file keeps its permissions. Files are little-endian and have a checksum for every block.
    /// In addition to the entries, saving needs memory for one block.
    ///
    /// # Errors
    ///
    /// Returns [`Store`](ai_services_core::ErrorKind::Store) with the [`std::io::Error`] as its source if the
    /// file cannot be written. An existing file is unchanged then.
    ///
    /// # Cancellation
    ///
    /// Dropping the future stops the write within one block; an existing file is unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ai_services::document::TextSegment;
    /// # use ai_services::embedding::EmbeddingEntry;
    /// use ai_services::embedding::{EmbeddingStore, InMemoryEmbeddingStore};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> ai_services::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("embeddings-{}", std::process::id()));
    /// let store = InMemoryEmbeddingStore::new();
    /// # store.add(vec![EmbeddingEntry::new("a", vec![1.0], TextSegment::new("Hello!"))]).await?;
    /// store.save(&path).await?;
    /// let again = InMemoryEmbeddingStore::load(&path).await?;
    /// assert_eq!(again.count().await?, store.count().await?);
    /// # std::fs::remove_file(path).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub async fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        file::save(self.snapshot(), path.as_ref().to_owned()).await
    }

    /// Loads the entries of a file that was written by [`save`](Self::save).
    ///
    /// # Errors
    ///
    /// Returns [`Store`](ai_services_core::ErrorKind::Store), with an [`UnreadableEmbeddings`] as its detail
    /// if the file is damaged, has a newer format, or is not an embeddings file, and with a
    /// [`std::io::Error`] as its source if the file cannot be read. Returns
    /// [`LimitExceeded`](ai_services_core::ErrorKind::LimitExceeded) if the file has too many entries.
    pub async fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().load(path).await
    }

    fn snapshot(&self) -> Snapshot {
        self.table().snapshot()
    }

    fn table(&self) -> RwLockReadGuard<'_, Table> {
        // No code that can panic runs while the lock is held, so a poisoned lock can be used.
        self.0.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the table. The returned value is dropped by the caller, after the lock is released.
    fn change<T>(&self, change: impl FnOnce(&mut Table) -> T) -> T {
        change(&mut self.0.table.write().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl EmbeddingStore for InMemoryEmbeddingStore {
    async fn replace(&self, removed: Replace<'_>, added: Vec<EmbeddingEntry>) -> Result<()> {
        removed.check()?;
        let addition = Addition::new(added).await?;
        let max_entries = self.0.max_entries;
        self.change(|table| table.replace(removed, addition, max_entries)).map(drop)
    }

    async fn search(&self, search: &VectorSearch<'_>) -> Result<Vec<SearchMatch>> {
        search.check()?;
        let snapshot = self.snapshot();
        let Some(dimensions) = snapshot.dimensions() else { return Ok(Vec::new()) };
        check_dimensions(search.vector.len(), dimensions)?;
        let mut vector = search.vector.to_vec();
        normalize(&mut vector);
        Ok(search::nearest(&snapshot, &vector, search).await)
    }

    async fn search_text(&self, search: &TextSearch<'_>) -> Result<Vec<SearchMatch>> {
        search.check()?;
        Ok(search::with_words(&self.snapshot(), search).await)
    }

    async fn remove(&self, ids: &[&str]) -> Result<()> {
        drop(self.change(|table| table.remove(ids)));
        Ok(())
    }

    async fn remove_matching(&self, filter: &Filter) -> Result<()> {
        filter.check()?;
        drop(self.change(|table| table.remove_matching(filter)));
        Ok(())
    }

    async fn clear(&self) -> Result<()> {
        drop(self.change(std::mem::take));
        Ok(())
    }

    async fn count(&self) -> Result<u64> {
        Ok(self.len() as u64)
    }

    async fn count_matching(&self, filter: &Filter) -> Result<u64> {
        filter.check()?;
        if let Some(source) = only_source(filter) {
            return Ok(self.table().of_source(source, filter).count() as u64);
        }
        let mut count = 0;
        search::each(&self.snapshot(), Some(filter), |_| count += 1).await;
        Ok(count)
    }

    async fn values(&self, key: &str, filter: Option<&Filter>) -> Result<Vec<MetadataValue>> {
        filter.map_or(Ok(()), Filter::check)?;
        Ok(search::values(&self.snapshot(), key, filter).await)
    }
}

impl Default for InMemoryEmbeddingStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for InMemoryEmbeddingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let snapshot = self.snapshot();
        f.debug_struct("InMemoryEmbeddingStore")
            .field("len", &snapshot.len())
            .field("dimensions", &snapshot.dimensions())
            .field("max_entries", &self.0.max_entries)
            .finish_non_exhaustive()
    }
}
