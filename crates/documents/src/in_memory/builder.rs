//! The builder of the in-memory store.

use super::{InMemoryEmbeddingStore, Table, file};
use ai_services_core::{Error, Result};
use std::path::Path;

/// Builds an [`InMemoryEmbeddingStore`].
///
/// # Examples
///
/// ```
/// use ai_services::embedding::InMemoryEmbeddingStore;
///
/// let store = InMemoryEmbeddingStore::builder().max_entries(10_000).build()?;
/// assert!(store.is_empty());
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct InMemoryEmbeddingStoreBuilder {
    max_entries: usize,
}

impl InMemoryEmbeddingStoreBuilder {
    /// Default maximum number of entries: ten million.
    pub const DEFAULT_MAX_ENTRIES: usize = 10_000_000;

    /// Sets the maximum number of entries. Default: ten million
    /// ([`DEFAULT_MAX_ENTRIES`](Self::DEFAULT_MAX_ENTRIES)).
    ///
    /// A call that would exceed the limit fails with
    /// [`LimitExceeded`](ai_services_core::ErrorKind::LimitExceeded) and changes nothing.
    pub fn max_entries(mut self, max: usize) -> Self {
        self.max_entries = max;
        self
    }

    /// Builds an empty store.
    ///
    /// # Errors
    ///
    /// Returns [`Configuration`](ai_services_core::ErrorKind::Configuration) if `max_entries` is 0.
    pub fn build(self) -> Result<InMemoryEmbeddingStore> {
        self.check()?;
        Ok(InMemoryEmbeddingStore::with(Table::default(), self.max_entries))
    }

    /// Builds a store and loads the entries of a file into it.
    ///
    /// # Errors
    ///
    /// Same as [`build`](Self::build) and [`InMemoryEmbeddingStore::load`].
    pub async fn load(self, path: impl AsRef<Path>) -> Result<InMemoryEmbeddingStore> {
        self.check()?;
        let table = file::load(path.as_ref().to_owned(), self.max_entries).await?;
        Ok(InMemoryEmbeddingStore::with(table, self.max_entries))
    }

    fn check(&self) -> Result<()> {
        if self.max_entries == 0 {
            return Err(Error::configuration("`max_entries` is 0; set it to 1 or more"));
        }
        Ok(())
    }
}

impl Default for InMemoryEmbeddingStoreBuilder {
    fn default() -> Self {
        Self { max_entries: Self::DEFAULT_MAX_ENTRIES }
    }
}
