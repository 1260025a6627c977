//! A store with a limit of its own.

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
    /// How many entries a store holds by default: ten million.
    pub const DEFAULT_MAX_ENTRIES: usize = 10_000_000;

    /// Sets how many entries the store holds. Adding more is an error of kind
    /// [`LimitExceeded`](ai_services_core::ErrorKind::LimitExceeded) and adds none.
    pub fn max_entries(mut self, max: usize) -> Self {
        self.max_entries = max;
        self
    }

    /// The empty store.
    ///
    /// # Errors
    ///
    /// [`Configuration`](ai_services_core::ErrorKind::Configuration) if it may hold no entries.
    pub fn build(self) -> Result<InMemoryEmbeddingStore> {
        self.check()?;
        Ok(InMemoryEmbeddingStore::with(Table::default(), self.max_entries))
    }

    /// The store with the entries of a file.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build) and [`InMemoryEmbeddingStore::load`].
    pub async fn load(self, path: impl AsRef<Path>) -> Result<InMemoryEmbeddingStore> {
        self.check()?;
        let table = file::load(path.as_ref().to_owned(), self.max_entries).await?;
        Ok(InMemoryEmbeddingStore::with(table, self.max_entries))
    }

    fn check(&self) -> Result<()> {
        match self.max_entries {
            0 => Err(Error::configuration("`max_entries` is 0; set it to 1 or more")),
            _ => Ok(()),
        }
    }
}

impl Default for InMemoryEmbeddingStoreBuilder {
    fn default() -> Self {
        Self { max_entries: Self::DEFAULT_MAX_ENTRIES }
    }
}
