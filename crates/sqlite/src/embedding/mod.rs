//! Embeddings in a SQLite file.

mod builder;
mod cancellation;
mod filter;
mod schema;
mod search;
mod sql;
mod write;

pub use builder::SqliteEmbeddingStoreBuilder;

use super::database::Database;
use super::error_mapping::TaskFailure;
use ai_services_core::Result;
use ai_services_core::document::MetadataValue;
use ai_services_core::embedding::{
    EmbeddingEntry, EmbeddingStore, Filter, Replace, SearchMatch, TextSearch, VectorSearch,
    check_dimensions,
};
use ai_services_core::store_kit::embeddings::{CheckedEntries, SearchWords, normalized};
use async_trait::async_trait;
use cancellation::{CallerGuard, Cancellation};
use rusqlite::Connection;
use sql::Sql;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A store that keeps embeddings in a SQLite file, with vector search and text search.
///
/// Suitable for one machine and up to about 100,000 entries: a vector search reads and compares the vectors
/// of all entries that match the filter, so its result is exact and its time is proportional to their number.
/// A selective filter makes a search faster.
///
/// Clones share one store, which owns one writer thread and a few reader threads; the future of an operation
/// may run on any executor. The file may also be used by a
/// [`SqliteChatMemoryStore`](super::SqliteChatMemoryStore), and may contain several
/// [stores of embeddings](SqliteEmbeddingStoreBuilder::table). The notes on files and durability of
/// [`SqliteChatMemoryStore`](super::SqliteChatMemoryStore) apply here, too. There are no checksums.
///
/// Vectors are stored with length 1, so only their direction matters. The first entry defines the number of
/// dimensions, unless the [builder](SqliteEmbeddingStoreBuilder::dimensions) sets it. An empty store accepts
/// any number.
///
/// # Text search
///
/// Text search uses FTS5. Words are runs of letters and digits, regardless of case and diacritics. An entry
/// matches if it contains at least one of the words. Scores are BM25 as SQLite computes it; a word that more
/// than half of all entries contain has almost no weight. Languages without spaces between words are not
/// supported. At most the first 256 different words of a search are used.
///
/// # Limits
///
/// In addition to the limits of [every entry](EmbeddingEntry::check): at most 4 MiB of text, 256 KiB of
/// metadata, and 16,000 dimensions.
///
/// # Cancellation
///
/// Dropping the future of a vector search ends it after at most a few hundred further entries. Dropping the
/// future of an incomplete change rolls it back.
///
/// # Examples
///
/// ```
/// use ai_services::document::{Metadata, TextSegment};
/// use ai_services::embedding::{EmbeddingEntry, EmbeddingStore, Filter, TextSearch, VectorSearch};
/// use ai_services::store::sqlite::SqliteEmbeddingStore;
///
/// # async fn example() -> ai_services::Result<()> {
/// let store = SqliteEmbeddingStore::in_memory().await?;
/// let segment = |text, page| TextSegment::new(text).with_metadata(Metadata::new().with("page", page));
/// store
///     .add(vec![
///         EmbeddingEntry::new("a", vec![1.0, 0.0], segment("A booking can be cancelled.", 1)),
///         EmbeddingEntry::new("b", vec![0.6, 0.8], segment("Bananas are berries.", 2)),
///     ])
///     .await?;
///
/// let found = store.search(&VectorSearch::new(&[0.0, 1.0]).max_results(1)).await?;
/// assert_eq!(&*found[0].id, "b");
/// let first_page = Filter::key("page").at_most(1);
/// let found = store.search(&VectorSearch::new(&[0.0, 1.0]).filter(&first_page)).await?;
/// assert_eq!(&*found[0].id, "a");
/// let found = store.search_text(&TextSearch::new("which bananas?")).await?;
/// assert_eq!(&*found[0].id, "b");
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
/// ```
///
/// # Differences from LangChain4j
///
/// LangChain4j does not have a SQLite store.
#[derive(Clone)]
pub struct SqliteEmbeddingStore(Arc<Inner>);

struct Inner {
    database: Database,
    table: Box<str>,
    sql: Arc<Sql>,
    dimensions: Option<usize>,
}

impl SqliteEmbeddingStore {
    /// Opens a file with the defaults of the [builder](Self::builder). Creates the file if it does not exist.
    ///
    /// # Errors
    ///
    /// As [`SqliteEmbeddingStoreBuilder::open`].
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self> {
        Self::builder().path(path).open().await
    }

    /// Opens a store in memory, for tests. Its content is lost when the last clone is dropped.
    ///
    /// # Errors
    ///
    /// As [`SqliteEmbeddingStoreBuilder::open`].
    pub async fn in_memory() -> Result<Self> {
        Self::builder().in_memory().open().await
    }

    /// Returns a builder with the default settings.
    pub fn builder() -> SqliteEmbeddingStoreBuilder {
        SqliteEmbeddingStoreBuilder::default()
    }

    /// Finishes the queued operations, ends the threads, and waits until the file is closed. Later calls on
    /// other clones fail.
    pub async fn close(self) {
        self.0.database.close().await;
    }

    /// Runs work on the writer thread, until the caller drops its future.
    async fn write<T: Send + 'static>(
        &self,
        verb: &str,
        mut work: impl FnMut(&Connection, &Sql, &Cancellation) -> Result<T, TaskFailure>
        + Send
        + 'static,
    ) -> Result<T> {
        let (caller, sql) = (CallerGuard::default(), self.0.sql.clone());
        let cancellation = caller.cancellation();
        let work = move |connection: &Connection| work(connection, &sql, &cancellation);
        let outcome = self.0.database.write(work).await;
        outcome.map_err(|failure| failure.explain(&format!("{verb} embeddings")))
    }

    /// Runs work on a reader thread, until the caller drops its future.
    async fn read<T: Send + 'static>(
        &self,
        verb: &str,
        mut work: impl FnMut(&Connection, &Sql, &Cancellation) -> Result<T, TaskFailure>
        + Send
        + 'static,
    ) -> Result<T> {
        let (caller, sql) = (CallerGuard::default(), self.0.sql.clone());
        let cancellation = caller.cancellation();
        let work = move |connection: &Connection| work(connection, &sql, &cancellation);
        let outcome = self.0.database.read(work).await;
        outcome.map_err(|failure| failure.explain(&format!("{verb} embeddings")))
    }
}

#[async_trait]
impl EmbeddingStore for SqliteEmbeddingStore {
    async fn replace(&self, removed: Replace<'_>, added: Vec<EmbeddingEntry>) -> Result<()> {
        removed.check()?;
        let added = CheckedEntries::new(added, self.0.dimensions)?;
        let filter = match removed {
            Replace::Nothing => None,
            Replace::Matching(filter) => Some(filter.clone()),
        };
        self.write("change", move |connection, sql, cancellation| {
            let removed = filter.as_ref().map_or(Replace::Nothing, Replace::Matching);
            write::replace(connection, sql, removed, &added, cancellation)
        })
        .await
    }

    async fn search(&self, search: &VectorSearch<'_>) -> Result<Vec<SearchMatch>> {
        search.check()?;
        let vector = normalized(search.vector);
        if let Some(dimensions) = self.0.dimensions {
            check_dimensions(vector.len(), dimensions)?;
        }
        let filter = search.filter.cloned();
        let (max_results, min_score) = (search.max_results, search.min_score);
        self.read("search", move |connection, sql, cancellation| {
            let nearest = search::NearestQuery { vector: &vector, max_results, min_score };
            nearest.find(connection, sql, filter.as_ref(), cancellation)
        })
        .await
    }

    async fn search_text(&self, search: &TextSearch<'_>) -> Result<Vec<SearchMatch>> {
        search.check()?;
        let Some(words) = SearchWords::parse(search.text) else { return Ok(Vec::new()) };
        let expression = search::expression(&words.words);
        let (filter, max_results) = (search.filter.cloned(), search.max_results);
        self.read("search", move |connection, sql, cancellation| {
            let words_query = search::WordsQuery { expression: &expression, max_results };
            words_query.find(connection, sql, filter.as_ref(), cancellation)
        })
        .await
    }

    async fn remove(&self, ids: &[&str]) -> Result<()> {
        let ids: Vec<Box<str>> = ids.iter().map(|id| Box::from(*id)).collect();
        self.write("remove", move |connection, sql, cancellation| {
            write::remove(connection, sql, &ids, cancellation)
        })
        .await
    }

    async fn remove_matching(&self, filter: &Filter) -> Result<()> {
        filter.check()?;
        let filter = filter.clone();
        self.write("remove", move |connection, sql, cancellation| {
            write::remove_matching(connection, sql, &filter, cancellation)
        })
        .await
    }

    async fn clear(&self) -> Result<()> {
        self.write("remove", |connection, sql, _| write::clear(connection, sql)).await
    }

    async fn count(&self) -> Result<u64> {
        self.read("count", |connection, sql, _| search::count(connection, sql, None)).await
    }

    async fn count_matching(&self, filter: &Filter) -> Result<u64> {
        filter.check()?;
        let filter = filter.clone();
        self.read("count", move |connection, sql, _| search::count(connection, sql, Some(&filter)))
            .await
    }

    async fn values(&self, key: &str, filter: Option<&Filter>) -> Result<Vec<MetadataValue>> {
        filter.map_or(Ok(()), Filter::check)?;
        let (key, filter) = (Box::<str>::from(key), filter.cloned());
        self.read("read", move |connection, sql, _| {
            search::values(connection, sql, &key, filter.as_ref())
        })
        .await
    }
}

impl fmt::Debug for SqliteEmbeddingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { database, table, dimensions, sql: _ } = &*self.0;
        f.debug_struct("SqliteEmbeddingStore")
            .field("path", &database.path())
            .field("table", table)
            .field("dimensions", dimensions)
            .finish_non_exhaustive()
    }
}
