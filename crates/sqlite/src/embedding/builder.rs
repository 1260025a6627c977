//! The builder of [`SqliteEmbeddingStore`].

use super::super::database::{DatabaseOptions, database_setters};
use super::sql::Sql;
use super::{Inner, SqliteEmbeddingStore, schema};
use ai_services_core::store_kit::embeddings::checked_dimensions;
use ai_services_core::store_kit::limits::check_name;
use ai_services_core::{Error, Result};
use std::sync::Arc;

/// Builds a [`SqliteEmbeddingStore`].
///
/// Either [`path`](Self::path) or [`in_memory`](Self::in_memory) is required.
///
/// # Examples
///
/// ```
/// use ai_services::store::sqlite::SqliteEmbeddingStore;
///
/// # async fn example() -> ai_services::Result<()> {
/// let store =
///     SqliteEmbeddingStore::builder().in_memory().table("manuals").dimensions(384).open().await?;
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct SqliteEmbeddingStoreBuilder {
    options: DatabaseOptions,
    table: Box<str>,
    dimensions: Option<usize>,
}

impl Default for SqliteEmbeddingStoreBuilder {
    fn default() -> Self {
        Self { options: DatabaseOptions::default(), table: "embeddings".into(), dimensions: None }
    }
}

impl SqliteEmbeddingStoreBuilder {
    database_setters!();

    /// Sets the prefix of the table names. Default: `embeddings`.
    ///
    /// At most 48 characters from `a` to `z`, `0` to `9` and `_`, not beginning with a digit. A file can
    /// contain any number of stores with different prefixes.
    pub fn table(mut self, table: impl Into<Box<str>>) -> Self {
        self.table = table.into();
        self
    }

    /// Sets the number of dimensions of a vector, from 1 to 16,000. Default: that of the first entry.
    pub fn dimensions(mut self, dimensions: usize) -> Self {
        self.dimensions = Some(dimensions);
        self
    }

    /// Opens the store, and creates the tables if they do not exist.
    ///
    /// Several processes may open a new file at the same time.
    ///
    /// # Errors
    ///
    /// As [`SqliteChatMemoryStoreBuilder::open`](super::super::SqliteChatMemoryStoreBuilder::open), and
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) for an invalid table prefix,
    /// and if the store contains vectors with a different number of dimensions.
    pub async fn open(self) -> Result<SqliteEmbeddingStore> {
        let Self { options, table, dimensions } = self;
        let dimensions = checked_dimensions(dimensions)?;
        check_name("a table prefix", &table)?;
        if table.starts_with("sqlite_") || &*table == "sqlite" {
            let message = format!("SQLite reserves the names `{table}_…`; choose another prefix");
            return Err(Error::configuration(message));
        }
        let database = options.open().await?;
        let sql = Arc::new(Sql::new(&table));
        let known = sql.clone();
        let ensured =
            database.write(move |connection| schema::ensure(connection, &known, dimensions)).await;
        ensured.map_err(|failure| failure.explain("open embeddings"))?;
        Ok(SqliteEmbeddingStore(Arc::new(Inner { database, table, sql, dimensions })))
    }
}
