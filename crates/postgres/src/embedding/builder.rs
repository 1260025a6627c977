//! Building a [`PostgresEmbeddingStore`].

use super::super::access::{Access, access_setters};
use super::sql::{Names, Sql};
use super::{Inner, PostgresEmbeddingStore, VectorIndex};
use ai_services_core::store_kit::embeddings::checked_dimensions;
use ai_services_core::store_kit::limits::check_name;
use ai_services_core::{Error, Result};
use std::sync::Arc;

/// Builds a [`PostgresEmbeddingStore`].
///
/// One of [`url`](Self::url), [`config`](Self::config) and [`pool`](Self::pool) is required; the last
/// one that is called counts.
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
    access: Access,
    schema: Option<String>,
    table: String,
    dimensions: Option<usize>,
    index: VectorIndex,
    text_search: String,
}

impl Default for PostgresEmbeddingStoreBuilder {
    fn default() -> Self {
        Self {
            access: Access::default(),
            schema: None,
            table: "ai_services_embeddings".to_owned(),
            dimensions: None,
            index: VectorIndex::default(),
            text_search: "simple".to_owned(),
        }
    }
}

impl PostgresEmbeddingStoreBuilder {
    access_setters!();

    /// Sets the name of the table: at most 48 of `a` to `z`, `0` to `9` and `_`;
    /// `ai_services_embeddings` by default. A second table has `_layout` behind it.
    pub fn table(mut self, table: impl Into<String>) -> Self {
        self.table = table.into();
        self
    }

    /// Sets how many dimensions a vector has, from 1 to 16,000. By default the first entry says it.
    #[doc(alias = "dimension")]
    pub fn dimensions(mut self, dimensions: usize) -> Self {
        self.dimensions = Some(dimensions);
        self
    }

    /// Sets how the nearest vectors are found; exactly by default.
    #[doc(alias = "useIndex")]
    pub fn index(mut self, index: VectorIndex) -> Self {
        self.index = index;
        self
    }

    /// Sets by which configuration of the database texts are cut into words, for example `english`;
    /// `simple` by default. It is that of the table for good.
    #[doc(alias = "textSearchConfig")]
    pub fn text_search(mut self, configuration: impl Into<String>) -> Self {
        self.text_search = configuration.into();
        self
    }

    /// Builds the store. Nothing is sent.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) without a server, for a URL that is
    /// not one, for names that tables cannot have, for a pool or time limits of zero, for dimensions and
    /// parameters of an index that are out of range, and if TLS cannot be set up.
    pub fn build(self) -> Result<PostgresEmbeddingStore> {
        check_name("a table", &self.table)?;
        if let Some(schema) = &self.schema {
            check_name("a schema", schema)?;
        }
        if self.text_search.is_empty() || self.text_search.contains('\0') {
            return Err(Error::configuration(
                "`text_search` must name a configuration of the database, for example `simple`",
            ));
        }
        let dimensions = checked_dimensions(self.dimensions)?;
        self.index.check(dimensions)?;
        let names = Names { schema: self.schema, table: self.table };
        Ok(PostgresEmbeddingStore(Arc::new(Inner {
            server: self.access.server()?,
            sql: Sql::new(&names),
            names,
            dimensions,
            index: self.index,
            text_search: self.text_search,
        })))
    }
}
