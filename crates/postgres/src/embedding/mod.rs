//! Embeddings in PostgreSQL.

mod builder;
mod filter;
mod index;
mod record;
mod schema;
mod search;
mod sql;
mod write;

pub use builder::PostgresEmbeddingStoreBuilder;
pub use index::{HnswOptions, VectorIndex};

use super::connection_options::Server;
use super::deadpool_postgres::Pool;
use super::error_mapping::retry;
use ai_services_core::Result;
use ai_services_core::document::MetadataValue;
use ai_services_core::embedding::{
    EmbeddingEntry, EmbeddingStore, Filter, Replace, SearchMatch, TextSearch, VectorSearch,
    check_dimensions,
};
use ai_services_core::store_kit::embeddings::{CheckedEntries, SearchWords, normalized};
use async_trait::async_trait;
use sql::{Sql, TableNames};
use std::fmt;
use std::sync::Arc;

/// A store that keeps embeddings in PostgreSQL, version 12 or newer, with the extension pgvector, version 0.5
/// or newer.
///
/// Clones share one connection pool. By default a vector search compares the vectors of all entries that
/// match the filter, so its result is exact. An [index](PostgresEmbeddingStoreBuilder::index) makes searches
/// fast for millions of entries, but approximate. All values of filters are parameters of the statement.
/// Conditions on equality use an index on the metadata.
///
/// Vectors are stored with length 1, so only their direction matters. The first entry defines the number of
/// dimensions, unless the [builder](PostgresEmbeddingStoreBuilder::dimensions) sets it. An empty store
/// accepts any number.
///
/// # Text search
///
/// Text search uses `tsvector` with a [configuration](PostgresEmbeddingStoreBuilder::text_search) that
/// defines the words. The default, `simple`, ignores case and is independent of the language. An entry
/// matches if it contains at least one of the words.
///
/// The score is the sum of `ts_rank / (1 + ln n)` over the words of the entry, where `n` is the number of
/// entries that contain the word. `ts_rank` grows with the frequency of the word in the text and shrinks with
/// the length of the text; it does not take the rarity of a word into account. At most the first 100,000
/// characters of a text are searched, and at most the first 256 different words of a search are used.
///
/// # Changes
///
/// A change is a transaction and as durable as any transaction of PostgreSQL. Two replacements with a filter
/// run one after the other, so that two replacements of the same document result in one of the two versions.
/// If the connection breaks, a change is repeated; it is attempted at most three times. A repetition has an
/// effect only if another writer changed the same entries in between.
///
/// # Limits
///
/// In addition to the limits of [every entry](EmbeddingEntry::check): at most 4 MiB of text, 256 KiB of
/// metadata, and 16,000 dimensions.
///
/// # Cancellation
///
/// Dropping the future of an incomplete change rolls it back. The connection is closed, and the server ends
/// the statement when it notices, at the latest after the
/// [time limit](PostgresEmbeddingStoreBuilder::operation_timeout).
///
/// # Examples
///
/// ```no_run
/// use ai_services::document::TextSegment;
/// use ai_services::embedding::{EmbeddingEntry, EmbeddingStore, VectorSearch};
/// use ai_services::store::postgres::PostgresEmbeddingStore;
///
/// # async fn example() -> ai_services::Result<()> {
/// let store = PostgresEmbeddingStore::builder()
///     .url("postgres://assistant:secret@db.example.com/assistant?sslmode=require")
///     .build()?;
/// store.ensure_schema().await?;
/// let segment = TextSegment::new("A booking can be cancelled.");
/// store.add(vec![EmbeddingEntry::new("a", vec![0.6, 0.8], segment)]).await?;
/// let found = store.search(&VectorSearch::new(&[0.0, 1.0])).await?;
/// assert_eq!(&*found[0].id, "a");
/// # Ok(())
/// # }
/// ```
///
/// # Differences from LangChain4j
///
/// LangChain4j stores metadata as JSON and builds filters as SQL text; there a number that is stored as text
/// is compared as text. Here the kinds of values are distinguished, and values are parameters.
#[derive(Clone)]
#[doc(alias = "PgVectorEmbeddingStore")]
pub struct PostgresEmbeddingStore(Arc<Inner>);

struct Inner {
    server: Server,
    names: TableNames,
    sql: Sql,
    dimensions: Option<usize>,
    index: VectorIndex,
    text_search: String,
}

impl PostgresEmbeddingStore {
    /// Returns a builder with the default settings.
    pub fn builder() -> PostgresEmbeddingStoreBuilder {
        PostgresEmbeddingStoreBuilder::default()
    }

    /// Creates a store with the default settings that uses a connection pool of the application. For other
    /// settings use [`pool`](PostgresEmbeddingStoreBuilder::pool).
    ///
    /// # Errors
    ///
    /// Currently does not fail.
    pub fn from_pool(pool: Pool) -> Result<Self> {
        Self::builder().pool(pool).build()
    }

    /// Creates the tables and indexes in one transaction. If they exist, it does not write, and does not need
    /// the privilege to create tables.
    ///
    /// Several processes may call it at the same time. It holds the advisory lock 7019246443461506665 while
    /// it runs. Creating a vector index for many existing entries takes long: raise the
    /// [time limit](PostgresEmbeddingStoreBuilder::operation_timeout) for it.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if the database lacks
    /// the extension `vector` or has a version older than 0.5, if the tables were created by a newer version
    /// of this crate, with another text search configuration or for vectors with another number of
    /// dimensions, or if the encoding of the database is not UTF-8. Returns
    /// [`ErrorKind::Authentication`](ai_services_core::ErrorKind::Authentication) if the user may not create
    /// tables. Also fails if the server cannot be reached.
    pub async fn ensure_schema(&self) -> Result<()> {
        retry(|_| self.ensure_schema_once()).await
    }
}

#[async_trait]
impl EmbeddingStore for PostgresEmbeddingStore {
    async fn replace(&self, removed: Replace<'_>, added: Vec<EmbeddingEntry>) -> Result<()> {
        removed.check()?;
        let added = &CheckedEntries::new(added, self.0.dimensions)?;
        if removed == Replace::Nothing && added.entries.is_empty() {
            return Ok(());
        }
        retry(|_| self.replace_once(removed, added)).await
    }

    async fn search(&self, search: &VectorSearch<'_>) -> Result<Vec<SearchMatch>> {
        search.check()?;
        if let Some(dimensions) = self.0.dimensions {
            check_dimensions(search.vector.len(), dimensions)?;
        }
        let vector = &normalized(search.vector);
        let mut found = retry(|_| self.search_once(search, vector)).await?;
        found.retain(|found| found.score >= search.min_score);
        Ok(found)
    }

    async fn search_text(&self, search: &TextSearch<'_>) -> Result<Vec<SearchMatch>> {
        search.check()?;
        let Some(words) = SearchWords::parse(search.text) else { return Ok(Vec::new()) };
        retry(|_| self.search_words_once(search, words.text)).await
    }

    async fn remove(&self, ids: &[&str]) -> Result<()> {
        retry(|_| self.remove_once(ids)).await
    }

    async fn remove_matching(&self, filter: &Filter) -> Result<()> {
        filter.check()?;
        retry(|_| self.remove_matching_once(filter)).await
    }

    async fn clear(&self) -> Result<()> {
        retry(|_| self.clear_once()).await
    }

    async fn count(&self) -> Result<u64> {
        retry(|_| self.count_once(None)).await
    }

    async fn count_matching(&self, filter: &Filter) -> Result<u64> {
        filter.check()?;
        retry(|_| self.count_once(Some(filter))).await
    }

    async fn values(&self, key: &str, filter: Option<&Filter>) -> Result<Vec<MetadataValue>> {
        filter.map_or(Ok(()), Filter::check)?;
        retry(|_| self.values_once(key, filter)).await
    }
}

impl fmt::Debug for PostgresEmbeddingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { server, names, dimensions, index, text_search, sql: _ } = &*self.0;
        f.debug_struct("PostgresEmbeddingStore")
            .field("server", server)
            .field("names", names)
            .field("dimensions", dimensions)
            .field("index", index)
            .field("text_search", text_search)
            .finish_non_exhaustive()
    }
}
