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

use super::access::Server;
use super::deadpool_postgres::Pool;
use super::fault::retried;
use ai_services_core::Result;
use ai_services_core::document::MetadataValue;
use ai_services_core::embedding::{
    EmbeddingEntry, EmbeddingStore, Filter, SearchMatch, TextSearch, VectorSearch, check_dimensions,
};
use ai_services_core::store_kit::embeddings::{Entries, Words, normalized};
use async_trait::async_trait;
use sql::{Names, Sql};
use std::fmt;
use std::sync::Arc;

/// A store that keeps embeddings in PostgreSQL, version 12 or newer, with the extension pgvector, 0.5
/// or newer.
///
/// Clones share one pool of connections. By default a search by vector compares it with all that its filter
/// accepts, so its result is exact; an [index](PostgresEmbeddingStoreBuilder::index) makes it fast for millions
/// of entries, and approximate. Filters, whatever they are made of, are parameters of a
/// statement; those that ask for equal values are answered by an index on the metadata. Vectors are kept
/// with length 1, so only their direction matters. The first entry says how many dimensions a vector has,
/// unless the [builder](PostgresEmbeddingStoreBuilder::dimensions) does; an empty store may be given others.
///
/// # Search by words
///
/// By `tsvector`, with a [configuration](PostgresEmbeddingStoreBuilder::text_search) that says what a word
/// is; by default words are what `simple` makes of a text: regardless of case, in no language. An entry needs one
/// of the words. Its score is the sum over its words of `ts_rank`, which grows with how often the word is in
/// the text and shrinks with the length of the text, divided by `1 + ln n`, where `n` entries have the word:
/// PostgreSQL's own rank knows nothing of rare words. Of a text the first 100,000 characters are
/// searched, of a search the first 256 different words are looked for.
///
/// # Changes
///
/// A change is a transaction, as durable as PostgreSQL makes it. Two replacements with a filter take turns,
/// so that of two that replace the same document the result is that of one. If the connection breaks, a
/// change is made again, three times at most. That it was made twice shows only if somebody else changed the
/// same entries between.
///
/// # Limits
///
/// Beside those of [every entry](EmbeddingEntry::check), a text has at most 4 MiB, metadata have
/// 256 KiB, and a vector has 16,000 dimensions.
///
/// # Cancellation
///
/// Dropping the future of a change that is not yet complete takes it back; the connection is given up, and
/// the server ends what it was doing for it when it notices, at the latest after the
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
/// LangChain4j keeps metadata as JSON and puts filters together as SQL text; there a number that is kept as
/// text compares as text. Here kinds are kept apart, and values are parameters.
#[derive(Clone)]
#[doc(alias = "PgVectorEmbeddingStore")]
pub struct PostgresEmbeddingStore(Arc<Inner>);

struct Inner {
    server: Server,
    names: Names,
    sql: Sql,
    dimensions: Option<usize>,
    index: VectorIndex,
    text_search: String,
}

impl PostgresEmbeddingStore {
    /// Starts a store.
    pub fn builder() -> PostgresEmbeddingStoreBuilder {
        PostgresEmbeddingStoreBuilder::default()
    }

    /// A store with the defaults on a pool of the application. For other settings use
    /// [`pool`](PostgresEmbeddingStoreBuilder::pool).
    ///
    /// # Errors
    ///
    /// None at present.
    pub fn from_pool(pool: Pool) -> Result<Self> {
        Self::builder().pool(pool).build()
    }

    /// Creates the tables and indexes in one transaction. If they are there, nothing is written and
    /// no right to create tables is needed.
    ///
    /// Several processes may call it at once. Meanwhile it holds the advisory lock 7019246443461506665. An
    /// index on vectors that is made of many entries takes long: raise the
    /// [time limit](PostgresEmbeddingStoreBuilder::operation_timeout) for that.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if the database has no extension
    /// `vector` or an old one, if the tables were made by a newer version of this crate, with another
    /// configuration of text search or for vectors of other dimensions, or if the database does not have the encoding
    /// UTF-8; [`ErrorKind::Authentication`](ai_services_core::ErrorKind::Authentication) if the user may not create
    /// tables; else if the server cannot be reached.
    pub async fn ensure_schema(&self) -> Result<()> {
        retried(|_| self.ensure_schema_once()).await
    }
}

#[async_trait]
impl EmbeddingStore for PostgresEmbeddingStore {
    async fn replace(&self, removed: Option<&Filter>, added: Vec<EmbeddingEntry>) -> Result<()> {
        removed.map_or(Ok(()), Filter::check)?;
        let added = &Entries::new(added, self.0.dimensions)?;
        if removed.is_none() && added.entries.is_empty() {
            return Ok(());
        }
        retried(|_| self.replace_once(removed, added)).await
    }

    async fn search(&self, search: &VectorSearch<'_>) -> Result<Vec<SearchMatch>> {
        search.check()?;
        if let Some(dimensions) = self.0.dimensions {
            check_dimensions(search.vector.len(), dimensions)?;
        }
        let vector = &normalized(search.vector);
        let mut found = retried(|_| self.search_once(search, vector)).await?;
        found.retain(|found| found.score >= search.min_score);
        Ok(found)
    }

    async fn search_text(&self, search: &TextSearch<'_>) -> Result<Vec<SearchMatch>> {
        search.check()?;
        let Some(words) = Words::of(search.text) else { return Ok(Vec::new()) };
        retried(|_| self.search_words_once(search, words.text)).await
    }

    async fn remove(&self, ids: &[&str]) -> Result<()> {
        retried(|_| self.remove_once(ids)).await
    }

    async fn remove_all(&self, filter: Option<&Filter>) -> Result<()> {
        filter.map_or(Ok(()), Filter::check)?;
        retried(|_| self.remove_accepted_once(filter)).await
    }

    async fn count(&self, filter: Option<&Filter>) -> Result<u64> {
        filter.map_or(Ok(()), Filter::check)?;
        retried(|_| self.count_once(filter)).await
    }

    async fn values(&self, key: &str, filter: Option<&Filter>) -> Result<Vec<MetadataValue>> {
        filter.map_or(Ok(()), Filter::check)?;
        retried(|_| self.values_once(key, filter)).await
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
