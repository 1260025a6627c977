//! The builder of [`PostgresEmbeddingStore`].

use super::super::connection_options::{ConnectionOptions, connection_setters};
use super::sql::{Sql, TableNames};
use super::{Inner, PostgresEmbeddingStore, VectorIndex};
use ai_services_core::store_kit::embeddings::checked_dimensions;
use ai_services_core::store_kit::limits::check_name;
use ai_services_core::{Error, Result};
use std::sync::Arc;

/// Builds a [`PostgresEmbeddingStore`].
///
/// One of [`url`](Self::url), [`config`](Self::config) and [`pool`](Self::pool) is required; the last call
/// takes precedence.
///
/// # Examples
///
/// ```
/// use ai_services::store::postgres::PostgresEmbeddingStore;
///
/// let store = PostgresEmbeddingStore::builder()
///     .url("postgres://assistant:secret@localhost/assistant")
///     .table("manuals")
///     .text_search("english")
///     .build()?;
/// assert!(!format!("{store:?}").contains("secret"));
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct PostgresEmbeddingStoreBuilder {
    connection: ConnectionOptions,
    schema: Option<String>,
    table: String,
    dimensions: Option<usize>,
    index: VectorIndex,
    text_search: String,
}

impl Default for PostgresEmbeddingStoreBuilder {
    fn default() -> Self {
        Self {
            connection: ConnectionOptions::default(),
            schema: None,
            table: "ai_services_embeddings".to_owned(),
            dimensions: None,
            index: VectorIndex::default(),
            text_search: "simple".to_owned(),
        }
    }
}

impl PostgresEmbeddingStoreBuilder {
    connection_setters!();

    /// Sets the name of the table. Default: `ai_services_embeddings`.
    ///
    /// At most 48 characters from `a` to `z`, `0` to `9` and `_`, not beginning with a digit. A second table
    /// has the suffix `_layout`.
    pub fn table(mut self, table: impl Into<String>) -> Self {
        self.table = table.into();
        self
    }

    /// Sets the number of dimensions of a vector, from 1 to 16,000. Default: that of the first entry.
    #[doc(alias = "dimension")]
    pub fn dimensions(mut self, dimensions: usize) -> Self {
        self.dimensions = Some(dimensions);
        self
    }

    /// Sets the index for vector searches. Default: [`VectorIndex::Exact`], no index.
    #[doc(alias = "useIndex")]
    pub fn index(mut self, index: VectorIndex) -> Self {
        self.index = index;
        self
    }

    /// Sets the text search configuration of the database that splits texts into words, for example
    /// `english`. Default: `simple`.
    ///
    /// The configuration of an existing table cannot be changed.
    #[doc(alias = "textSearchConfig")]
    pub fn text_search(mut self, configuration: impl Into<String>) -> Self {
        self.text_search = configuration.into();
        self
    }

    /// Builds the store. Does not connect.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if no server is set,
    /// for a malformed URL, for an invalid schema or table name, for a pool size or time limit of zero, for
    /// dimensions and index parameters that are out of range, and if TLS cannot be set up.
    pub fn build(self) -> Result<PostgresEmbeddingStore> {
        check_name("a table", &self.table)?;
        if let Some(schema) = &self.schema {
            check_name("a schema", schema)?;
        }
        if self.text_search.is_empty() || self.text_search.contains('\0') {
            return Err(Error::configuration(
                "`text_search` must be a text search configuration of the database, for example `simple`",
            ));
        }
        let dimensions = checked_dimensions(self.dimensions)?;
        self.index.check(dimensions)?;
        let names = TableNames { schema: self.schema, table: self.table };
        Ok(PostgresEmbeddingStore(Arc::new(Inner {
            server: self.connection.server()?,
            sql: Sql::new(&names),
            names,
            dimensions,
            index: self.index,
            text_search: self.text_search,
        })))
    }
}
