//! Building a [`SqliteEmbeddingStore`].

use super::super::database::{Opening, opening_setters};
use super::sql::Sql;
use super::{Shared, SqliteEmbeddingStore, schema};
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
    opening: Opening,
    table: Box<str>,
    dimensions: Option<usize>,
}

impl Default for SqliteEmbeddingStoreBuilder {
    fn default() -> Self {
        Self { opening: Opening::default(), table: "embeddings".into(), dimensions: None }
    }
}

impl SqliteEmbeddingStoreBuilder {
    opening_setters!();

    /// Sets what the names of the tables begin with: at most 48 of `a` to `z`, `0` to `9` and `_`;
    /// `embeddings` by default. A file holds any number of them, each a store of its own.
    pub fn table(mut self, table: impl Into<Box<str>>) -> Self {
        self.table = table.into();
        self
    }

    /// Sets how many dimensions a vector has, from 1 to 16,000. By default the first entry says it.
    pub fn dimensions(mut self, dimensions: usize) -> Self {
        self.dimensions = Some(dimensions);
        self
    }

    /// Opens the store; creates the tables.
    ///
    /// Several processes may open a new file at the same time.
    ///
    /// # Errors
    ///
    /// As [`SqliteChatMemoryStoreBuilder::open`](super::super::SqliteChatMemoryStoreBuilder::open), and
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) for a name that tables cannot have,
    /// and if the store has vectors of other dimensions.
    pub async fn open(self) -> Result<SqliteEmbeddingStore> {
        let Self { opening, table, dimensions } = self;
        let dimensions = checked_dimensions(dimensions)?;
        check_name("the beginning of the tables' names", &table)?;
        if table.starts_with("sqlite_") || &*table == "sqlite" {
            let message = format!("SQLite keeps `{table}_…` for itself; choose another name");
            return Err(Error::configuration(message));
        }
        let database = opening.open().await?;
        let sql = Arc::new(Sql::new(&table));
        let known = sql.clone();
        let ensured =
            database.write(move |connection| schema::ensure(connection, &known, dimensions)).await;
        ensured.map_err(|fault| fault.explain("open embeddings"))?;
        Ok(SqliteEmbeddingStore(Arc::new(Shared { database, table, sql, dimensions })))
    }
}
