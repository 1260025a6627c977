//! How the nearest vectors are found.

use ai_services_core::{Error, Result};
use std::ops::RangeInclusive;

/// The longest vector that pgvector makes an index of.
pub(super) const MAX_DIMENSIONS: usize = 2_000;

/// Up to how many entries a search by the index finds.
pub(super) const MAX_RESULTS: usize = 1_000;

/// What pgvector itself does if nobody says otherwise.
pub(super) const DEFAULT_EF_SEARCH: u32 = 40;

/// How a [`PostgresEmbeddingStore`](super::PostgresEmbeddingStore) finds the nearest vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum VectorIndex {
    /// By comparing all of them. Right for some 100,000 entries, and whenever a filter accepts few.
    #[default]
    Exact,
    /// By a graph of near neighbours. Right for millions of entries. Needs
    /// [`dimensions`](super::PostgresEmbeddingStoreBuilder::dimensions), 2,000 at most.
    ///
    /// Its result may lack entries, and depends on the order in which they were added. A search with a
    /// filter, or for more than 1,000 entries, is exact also with an index, because the index would
    /// find what is near first, and the filter might leave nothing of that.
    Hnsw(HnswOptions),
}

/// Parameters of an HNSW index; the defaults are those of pgvector.
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
    /// How many neighbours a vector has in each layer of the graph, from 2 to 100; 16 by default.
    pub m: u32,
    /// How many candidates for neighbours are looked at while the index is made, from 4 to 1,000 and at
    /// least twice `m`; 64 by default.
    pub ef_construction: u32,
    /// How many candidates a search looks at, from 1 to 1,000; 40 by default. The more, the slower and
    /// the more exact. A search for more entries looks at as many as it wants to find.
    pub ef_search: u32,
}

impl Default for HnswOptions {
    fn default() -> Self {
        Self { m: 16, ef_construction: 64, ef_search: DEFAULT_EF_SEARCH }
    }
}

impl HnswOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how many neighbours a vector has, from 2 to 100.
    pub fn m(mut self, m: u32) -> Self {
        self.m = m;
        self
    }

    /// Sets how many candidates for neighbours are looked at, from 4 to 1,000.
    pub fn ef_construction(mut self, candidates: u32) -> Self {
        self.ef_construction = candidates;
        self
    }

    /// Sets how many candidates a search looks at, from 1 to 1,000.
    pub fn ef_search(mut self, candidates: u32) -> Self {
        self.ef_search = candidates;
        self
    }
}

impl VectorIndex {
    /// Refuses what pgvector would refuse.
    pub(super) fn check(self, dimensions: Option<usize>) -> Result<()> {
        let Self::Hnsw(HnswOptions { m, ef_construction, ef_search }) = self else { return Ok(()) };
        within("m", m, 2..=100)?;
        within("ef_construction", ef_construction, 4.max(2 * m)..=1_000)?;
        within("ef_search", ef_search, 1..=1_000)?;
        match dimensions {
            Some(..=MAX_DIMENSIONS) => Ok(()),
            Some(more) => Err(Error::configuration(format!(
                "an HNSW index takes vectors of at most {MAX_DIMENSIONS} dimensions, but they have {more}"
            ))),
            None => Err(Error::configuration("an HNSW index needs `dimensions`")),
        }
    }
}

fn within(name: &str, value: u32, range: RangeInclusive<u32>) -> Result<()> {
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
    fn parameters_are_checked() {
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
