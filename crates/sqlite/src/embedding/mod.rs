//! Embeddings in a SQLite file.

mod builder;
mod filter;
mod schema;
mod search;
mod sql;
mod wanted;
mod write;

pub use builder::SqliteEmbeddingStoreBuilder;

use super::database::Database;
use super::fault::Fault;
use ai_services_core::Result;
use ai_services_core::document::MetadataValue;
use ai_services_core::embedding::{
    EmbeddingEntry, EmbeddingStore, Filter, SearchMatch, TextSearch, VectorSearch, check_dimensions,
};
use ai_services_core::store_kit::embeddings::{Entries, Words, normalized};
use async_trait::async_trait;
use rusqlite::Connection;
use sql::Sql;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use wanted::{Wanted, Watch};

/// A store that keeps embeddings in a SQLite file, and finds them by vectors and by words.
///
/// For one machine and up to some 100,000 entries: a search by vector reads the vectors of all
/// entries that its filter accepts and compares each, so its result is exact and its time grows with
/// their number. A filter on few entries makes a search faster. Clones share one store, which owns one thread
/// that writes and a few that read; the future of an operation may run on any executor. The file may
/// be the one of a [`SqliteChatMemoryStore`](super::SqliteChatMemoryStore), and may hold several
/// [tables](SqliteEmbeddingStoreBuilder::table) of embeddings; what is said there of files and
/// durability holds here too. There are no checksums.
///
/// Vectors are kept with length 1, so only their direction matters. The first entry says how
/// many dimensions a vector has, unless the [builder](SqliteEmbeddingStoreBuilder::dimensions) does;
/// an empty store may be given others.
///
/// # Search by words
///
/// By FTS5: words are runs of letters and digits, regardless of case and diacritics. An entry needs one
/// of the words. Scores are those of BM25 as SQLite computes it; a word that more than half of all entries have
/// counts next to nothing. Languages without spaces between words need another search. Of a search the first
/// 256 different words are looked for.
///
/// # Limits
///
/// Beside those of [every entry](EmbeddingEntry::check), a text has at most 4 MiB, metadata have
/// 256 KiB, and a vector has 16,000 dimensions.
///
/// # Cancellation
///
/// Dropping the future of a search by vector ends it within some hundred entries, and dropping that of a
/// change that is not yet complete takes it back.
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
/// LangChain4j has no store in SQLite.
#[derive(Clone)]
pub struct SqliteEmbeddingStore(Arc<Shared>);

struct Shared {
    database: Database,
    table: Box<str>,
    sql: Arc<Sql>,
    dimensions: Option<usize>,
}

impl SqliteEmbeddingStore {
    /// Opens a file with the defaults of the [builder](Self::builder). Creates it if need be.
    ///
    /// # Errors
    ///
    /// As [`SqliteEmbeddingStoreBuilder::open`].
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self> {
        Self::builder().path(path).open().await
    }

    /// A store that forgets everything when its last clone is dropped, for tests.
    ///
    /// # Errors
    ///
    /// As [`SqliteEmbeddingStoreBuilder::open`].
    pub async fn in_memory() -> Result<Self> {
        Self::builder().in_memory().open().await
    }

    /// Starts a store.
    pub fn builder() -> SqliteEmbeddingStoreBuilder {
        SqliteEmbeddingStoreBuilder::default()
    }

    /// Finishes what was begun, ends the threads, and waits until the file is closed. Calls on other
    /// clones fail from then on.
    pub async fn close(self) {
        self.0.database.close().await;
    }

    /// Has the thread that writes do something as long as the caller waits.
    async fn write<T: Send + 'static>(
        &self,
        verb: &str,
        mut work: impl FnMut(&Connection, &Sql, &Watch) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T> {
        let (wanted, sql) = (Wanted::default(), self.0.sql.clone());
        let watch = wanted.watch();
        let outcome = self.0.database.write(move |connection| work(connection, &sql, &watch)).await;
        outcome.map_err(|fault| fault.explain(&format!("{verb} embeddings")))
    }

    /// Has a thread that reads do something as long as the caller waits.
    async fn read<T: Send + 'static>(
        &self,
        verb: &str,
        mut work: impl FnMut(&Connection, &Sql, &Watch) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T> {
        let (wanted, sql) = (Wanted::default(), self.0.sql.clone());
        let watch = wanted.watch();
        let outcome = self.0.database.read(move |connection| work(connection, &sql, &watch)).await;
        outcome.map_err(|fault| fault.explain(&format!("{verb} embeddings")))
    }
}

#[async_trait]
impl EmbeddingStore for SqliteEmbeddingStore {
    async fn replace(&self, removed: Option<&Filter>, added: Vec<EmbeddingEntry>) -> Result<()> {
        removed.map_or(Ok(()), Filter::check)?;
        let added = Entries::new(added, self.0.dimensions)?;
        let removed = removed.cloned();
        self.write("change", move |connection, sql, watch| {
            write::replace(connection, sql, removed.as_ref(), &added, watch)
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
        self.read("search", move |connection, sql, watch| {
            let nearest = search::Nearest { vector: &vector, max_results, min_score };
            nearest.find(connection, sql, filter.as_ref(), watch)
        })
        .await
    }

    async fn search_text(&self, search: &TextSearch<'_>) -> Result<Vec<SearchMatch>> {
        search.check()?;
        let Some(words) = Words::of(search.text) else { return Ok(Vec::new()) };
        let expression = search::expression(&words.words);
        let (filter, max_results) = (search.filter.cloned(), search.max_results);
        self.read("search", move |connection, sql, watch| {
            let by_words = search::ByWords { expression: &expression, max_results };
            by_words.find(connection, sql, filter.as_ref(), watch)
        })
        .await
    }

    async fn remove(&self, ids: &[&str]) -> Result<()> {
        let ids: Vec<Box<str>> = ids.iter().map(|id| Box::from(*id)).collect();
        self.write("remove", move |connection, sql, watch| {
            write::remove(connection, sql, &ids, watch)
        })
        .await
    }

    async fn remove_all(&self, filter: Option<&Filter>) -> Result<()> {
        filter.map_or(Ok(()), Filter::check)?;
        let filter = filter.cloned();
        self.write("remove", move |connection, sql, watch| match &filter {
            Some(filter) => write::remove_accepted(connection, sql, filter, watch),
            None => write::clear(connection, sql),
        })
        .await
    }

    async fn count(&self, filter: Option<&Filter>) -> Result<u64> {
        filter.map_or(Ok(()), Filter::check)?;
        let filter = filter.cloned();
        self.read("count", move |connection, sql, _| {
            search::count(connection, sql, filter.as_ref())
        })
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
        let Shared { database, table, dimensions, sql: _ } = &*self.0;
        f.debug_struct("SqliteEmbeddingStore")
            .field("path", &database.path())
            .field("table", table)
            .field("dimensions", dimensions)
            .finish_non_exhaustive()
    }
}
