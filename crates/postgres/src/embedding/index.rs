//! Options of the vector index.

use ai_services_core::{Error, Result};
use std::ops::RangeInclusive;

/// Maximum number of dimensions that pgvector can index.
pub(super) const MAX_DIMENSIONS: usize = 2_000;

/// Maximum number of results of a search that uses the index.
pub(super) const MAX_RESULTS: usize = 1_000;

/// pgvector's default of `hnsw.ef_search`.
pub(super) const DEFAULT_EF_SEARCH: u32 = 40;

/// The index that a [`PostgresEmbeddingStore`](super::PostgresEmbeddingStore) uses for vector searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum VectorIndex {
    /// No index: a search compares all vectors. Suitable for about 100,000 entries, and for selective
    /// filters.
    #[default]
    Exact,
    /// An HNSW index, a graph of near neighbours. Suitable for millions of entries. Requires
    /// [`dimensions`](super::PostgresEmbeddingStoreBuilder::dimensions), at most 2,000.
    ///
    /// The result is approximate: it may lack entries, and depends on the order in which they were added. A
    /// search with a filter, or for more than 1,000 entries, does not use the index and is exact. The index
    /// would find the nearest entries first, and the filter might reject all of them.
    Hnsw(HnswOptions),
}

/// Parameters of an HNSW index. The defaults are those of pgvector.
///
/// # Examples
///
/// ```
/// use ai_services::store::postgres::{HnswOptions, PostgresEmbeddingStore, VectorIndex};
///
/// let store = PostgresEmbeddingStore::builder()
///     .url("postgres://assistant:secret@localhost/assistant")
///     .dimensions(384)
///     .index(VectorIndex::Hnsw(HnswOptions::new().ef_search(100)))
///     .build()?;
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct HnswOptions {
    /// Number of neighbours of a vector in each layer of the graph, from 2 to 100. Default: 16.
    pub m: u32,
    /// Number of candidate neighbours that are examined while the index is built, from 4 to 1,000 and at
    /// least twice `m`. Default: 64.
    pub ef_construction: u32,
    /// Number of candidates that a search examines, from 1 to 1,000. Default: 40.
    ///
    /// A larger number makes searches slower and more exact. A search for more results than this examines as
    /// many candidates as it returns results.
    pub ef_search: u32,
}

impl Default for HnswOptions {
    fn default() -> Self {
        Self { m: 16, ef_construction: 64, ef_search: DEFAULT_EF_SEARCH }
    }
}

impl HnswOptions {
    /// Creates options with the default values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of neighbours of a vector, from 2 to 100. Default: 16.
    pub fn m(mut self, m: u32) -> Self {
        self.m = m;
        self
    }

    /// Sets the number of candidate neighbours that are examined while the index is built, from 4 to 1,000
    /// and at least twice `m`. Default: 64.
    pub fn ef_construction(mut self, candidates: u32) -> Self {
        self.ef_construction = candidates;
        self
    }

    /// Sets the number of candidates that a search examines, from 1 to 1,000. Default: 40.
    pub fn ef_search(mut self, candidates: u32) -> Self {
        self.ef_search = candidates;
        self
    }
}

impl VectorIndex {
    /// Validates the parameters against pgvector's limits.
    pub(super) fn check(self, dimensions: Option<usize>) -> Result<()> {
        let Self::Hnsw(HnswOptions { m, ef_construction, ef_search }) = self else { return Ok(()) };
        check_range("m", m, 2..=100)?;
        check_range("ef_construction", ef_construction, 4.max(2 * m)..=1_000)?;
        check_range("ef_search", ef_search, 1..=1_000)?;
        match dimensions {
            Some(..=MAX_DIMENSIONS) => Ok(()),
            Some(more) => Err(Error::configuration(format!(
                "an HNSW index supports at most {MAX_DIMENSIONS} dimensions, but `dimensions` is {more}"
            ))),
            None => Err(Error::configuration("an HNSW index requires `dimensions`")),
        }
    }
}

fn check_range(name: &str, value: u32, range: RangeInclusive<u32>) -> Result<()> {
    if range.contains(&value) {
        return Ok(());
    }
    let (least, most) = range.into_inner();
    Err(Error::configuration(format!("`{name}` must be from {least} to {most}, but is {value}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_validated() {
        let check = |options, dimensions| VectorIndex::Hnsw(options).check(dimensions);
        let options = HnswOptions::new();
        assert!(check(options, Some(2_000)).is_ok());
        assert!(VectorIndex::Exact.check(None).is_ok());
        for (options, dimensions) in [
            (options, None),
            (options, Some(2_001)),
            (options.m(1), Some(3)),
            (options.m(101), Some(3)),
            (options.ef_construction(31), Some(3)),
            (options.ef_construction(1_001), Some(3)),
            (options.ef_search(0), Some(3)),
        ] {
            assert!(check(options, dimensions).is_err(), "{options:?} {dimensions:?}");
        }
    }
}
