//! The store in the memory of the process.

mod block;
mod builder;
mod file;
mod search;
mod sources;
mod table;
mod words;

pub use builder::InMemoryEmbeddingStoreBuilder;
pub use file::{UnreadableEmbeddings, UnreadableEmbeddingsProblem};

use ai_services_core::Result;
use ai_services_core::document::MetadataValue;
use ai_services_core::embedding::{
    EmbeddingEntry, EmbeddingStore, Filter, SearchMatch, TextSearch, VectorSearch,
    check_dimensions, normalize,
};
use async_trait::async_trait;
use sources::only_source;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use table::{Addition, Snapshot, Table};

/// A store that keeps vectors in the memory of the process and compares a search with all of them.
///
/// Clones share one store. A search is exact, in time proportional to the entries: it reads the vectors
/// once, as fast as the memory delivers them. It works on a snapshot and gives way to other tasks every
/// megabyte, so searches run beside each other and beside changes; one alone runs on one thread.
/// Scores are off by less than one in 100,000 (`f32` arithmetic, at up to 4,096 numbers a vector).
/// Vectors are kept with the length 1; those that were added are not given back.
///
/// A change waits for no search. Where one is under way, the blocks of about a megabyte that change are
/// copied. Entries are checked and prepared first; then a search that begins waits until all of them are in
/// place, some milliseconds for 10,000. The length of vectors is that of the first entry, until the store is empty again.
///
/// A filter is asked of an entry only if its score is good enough to be found, as soon as there are
/// as many matches as are wanted. A filter that accepts less than that has to be asked of every entry. To count,
/// replace or remove what comes from one [source](ai_services_core::document::key::SOURCE) takes time for its entries only.
///
/// # Words
///
/// [`search_text`](EmbeddingStore::search_text) ranks by Okapi BM25 with `k1` = 1.2 and `b` = 0.75 (Robertson
/// and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009; defaults and the
/// logarithm that is never negative as in Lucene), over the texts of all entries. A word is a run of letters
/// and digits in lower case; each Chinese character and each of the Japanese syllabaries is a word of its own.
/// The first 256 different words of a search count. The index is made at the first search, and made anew for
/// the blocks that changed since; without such searches it costs nothing.
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
/// Entries with one id replace each other. Wrong vectors are errors, equal scores have an order, words can
/// be searched for, and a file is checked when it is loaded.
#[derive(Clone)]
pub struct InMemoryEmbeddingStore(Arc<Shared>);

struct Shared {
    table: RwLock<Table>,
    max_entries: usize,
}

impl InMemoryEmbeddingStore {
    /// An empty store for at most ten million entries.
    #[must_use]
    pub fn new() -> Self {
        Self::with(Table::default(), InMemoryEmbeddingStoreBuilder::DEFAULT_MAX_ENTRIES)
    }

    /// Starts a store with another limit.
    pub fn builder() -> InMemoryEmbeddingStoreBuilder {
        InMemoryEmbeddingStoreBuilder::default()
    }

    fn with(table: Table, max_entries: usize) -> Self {
        Self(Arc::new(Shared { table: RwLock::new(table), max_entries }))
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.snapshot().len()
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many numbers a vector has; `None` if there are no entries.
    #[must_use]
    pub fn dimensions(&self) -> Option<usize> {
        self.snapshot().dimensions()
    }

    /// Writes all entries to a file, as they are at the moment of the call.
    ///
    /// A file of this name is replaced in one step, when the new one is safe on the disk: after a crash
    /// there is the old one or the new one. A first file can be read and written by its owner only, a later
    /// one by whoever could the one before. Files are little-endian and hold a checksum for every block.
    /// Beside the entries it needs memory for one block.
    ///
    /// # Errors
    ///
    /// [`Memory`](ai_services_core::ErrorKind::Store) with the [`std::io::Error`] as its source if the file cannot
    /// be written. The old one is as it was then.
    ///
    /// # Cancellation
    ///
    /// Dropping the future stops within a block; the old file stays.
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
    /// assert_eq!(again.count(None).await?, store.count(None).await?);
    /// # std::fs::remove_file(path).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub async fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        file::save(self.snapshot(), path.as_ref().to_owned()).await
    }

    /// Reads the entries of a file that [`save`](Self::save) has written.
    ///
    /// # Errors
    ///
    /// [`Memory`](ai_services_core::ErrorKind::Store), with an [`UnreadableEmbeddings`] as its detail if the file is
    /// damaged, of a newer format, or none of embeddings, and with a [`std::io::Error`] if it cannot
    /// be read; [`LimitExceeded`](ai_services_core::ErrorKind::LimitExceeded) if it has too many entries.
    pub async fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().load(path).await
    }

    fn snapshot(&self) -> Snapshot {
        self.table().snapshot()
    }

    fn table(&self) -> RwLockReadGuard<'_, Table> {
        // No code that can panic runs while the lock is held, so a poisoned one is as good as any.
        self.0.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the table. What is given back is freed after the lock is released.
    fn change<T>(&self, change: impl FnOnce(&mut Table) -> T) -> T {
        change(&mut self.0.table.write().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl EmbeddingStore for InMemoryEmbeddingStore {
    async fn replace(&self, removed: Option<&Filter>, added: Vec<EmbeddingEntry>) -> Result<()> {
        removed.map_or(Ok(()), Filter::check)?;
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

    async fn remove_all(&self, filter: Option<&Filter>) -> Result<()> {
        filter.map_or(Ok(()), Filter::check)?;
        match filter {
            Some(filter) => drop(self.change(|table| table.remove_accepted(filter))),
            None => drop(self.change(std::mem::take)),
        }
        Ok(())
    }

    async fn count(&self, filter: Option<&Filter>) -> Result<u64> {
        let Some(filter) = filter else { return Ok(self.len() as u64) };
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
