//! The table of all entries: blocks, and the position of each id.

use super::block::{Block, Row};
use super::sources::{Sources, only_source};
use ai_services_core::embedding::{
    EmbeddingEntry, Filter, Replace, check_dimensions, normalize, wrong,
};
use ai_services_core::{Error, ErrorKind, Result};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tokio::task::yield_now;

/// Number of vector components after which the preparation of entries yields to other tasks.
const COMPONENTS_BETWEEN_YIELDS: usize = 256 * 1024;

/// An immutable view of the entries for one search. Cloning copies a pointer.
#[derive(Clone, Debug, Default)]
pub(super) struct Snapshot {
    dimensions: usize,
    /// The blocks; all but the last are full.
    blocks: Arc<Vec<Arc<Block>>>,
}

/// The entries and their indexes, for writes.
#[derive(Debug, Default)]
pub(super) struct Table {
    now: Snapshot,
    /// The position of each id, counted over all blocks.
    places: HashMap<Arc<str>, usize>,
    sources: Sources,
}

/// Checked entries that are ready to be inserted: unique ids, normalized vectors of equal dimensions.
#[derive(Debug, Default)]
pub(super) struct Addition {
    dimensions: usize,
    entries: Vec<(Vec<f32>, Row)>,
}

impl Snapshot {
    pub(super) fn blocks(&self) -> &[Arc<Block>] {
        &self.blocks
    }

    pub(super) fn len(&self) -> usize {
        let last = self.blocks.last().map_or(0, |block| block.rows().len());
        self.blocks.len().saturating_sub(1) * Block::capacity(self.dimensions) + last
    }

    /// Returns the number of dimensions of the vectors, if there are any.
    pub(super) fn dimensions(&self) -> Option<usize> {
        (!self.blocks.is_empty()).then_some(self.dimensions)
    }

    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.blocks.iter().flat_map(|block| block.rows())
    }
}

impl Table {
    pub(super) fn snapshot(&self) -> Snapshot {
        self.now.clone()
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Removes entries and inserts others, or fails without a change. Returns the removed entries.
    pub(super) fn replace(
        &mut self,
        removed: Replace<'_>,
        added: Addition,
        max_entries: usize,
    ) -> Result<Vec<Row>> {
        let gone = match removed {
            Replace::Nothing => Vec::new(),
            Replace::Matching(filter) => self.matching(filter),
        };
        let kept = self.len() - gone.len();
        if kept > 0 && !added.entries.is_empty() {
            check_dimensions(added.dimensions, self.now.dimensions)?;
        }
        let removed_ids: HashSet<&str> = gone.iter().map(|id| &**id).collect();
        let is_new =
            |row: &Row| !self.places.contains_key(&row.id) || removed_ids.contains(&*row.id);
        let new = added.entries.iter().filter(|(_, row)| is_new(row)).count();
        if kept + new > max_entries {
            return Err(too_many(max_entries));
        }
        let mut freed: Vec<_> = gone.iter().filter_map(|id| self.take(id)).collect();
        freed.extend(added.entries.into_iter().filter_map(|(vector, row)| self.put(&vector, row)));
        Ok(freed)
    }

    /// Removes entries by id and returns them.
    pub(super) fn remove(&mut self, ids: &[&str]) -> Vec<Row> {
        ids.iter().filter_map(|id| self.take(id)).collect()
    }

    /// Removes the entries that match the filter and returns them.
    pub(super) fn remove_matching(&mut self, filter: &Filter) -> Vec<Row> {
        let gone = self.matching(filter);
        gone.iter().filter_map(|id| self.take(id)).collect()
    }

    /// Returns the ids of the entries that match the filter.
    fn matching(&self, filter: &Filter) -> Vec<Arc<str>> {
        let id = |row: &Row| Arc::clone(&row.id);
        if let Some(source) = only_source(filter) {
            return self.of_source(source, filter).map(id).collect();
        }
        let matches = |row: &&Row| filter.accepts(row.segment.metadata());
        self.now.rows().filter(matches).map(id).collect()
    }

    /// Returns the entries of one source that a filter accepts.
    pub(super) fn of_source(&self, source: &str, filter: &Filter) -> impl Iterator<Item = &Row> {
        let rows = self.sources.ids(source).filter_map(|id| self.row(id));
        rows.filter(|row| filter.accepts(row.segment.metadata()))
    }

    fn row(&self, id: &str) -> Option<&Row> {
        let place = *self.places.get(id)?;
        let capacity = Block::capacity(self.now.dimensions);
        self.now.blocks.get(place / capacity)?.rows().get(place % capacity)
    }

    /// Inserts an entry and returns the previous entry with the same id. The vector must be normalized and
    /// have the dimensions of the stored vectors.
    pub(super) fn put(&mut self, vector: &[f32], row: Row) -> Option<Row> {
        let blocks = Arc::make_mut(&mut self.now.blocks);
        if blocks.is_empty() {
            self.now.dimensions = vector.len();
        }
        let capacity = Block::capacity(vector.len());
        if let Some(place) = self.places.get(&row.id) {
            let block = Arc::make_mut(blocks.get_mut(place / capacity)?);
            let old = block.set(place % capacity, vector, row.clone())?;
            self.sources.remove(&old);
            self.sources.insert(&row);
            return Some(old);
        }
        self.sources.insert(&row);
        if blocks.last().is_none_or(|block| block.rows().len() >= capacity) {
            blocks.push(Arc::new(Block::new(vector.len())));
        }
        self.places.insert(Arc::clone(&row.id), self.places.len());
        Arc::make_mut(blocks.last_mut()?).push(vector, row);
        None
    }

    /// Removes and returns an entry. The last entry moves into its position, so that there are no gaps.
    fn take(&mut self, id: &str) -> Option<Row> {
        let row = self.row(id)?.clone();
        self.sources.remove(&row);
        let place = self.places.remove(id)?;
        let blocks = Arc::make_mut(&mut self.now.blocks);
        let block = Arc::make_mut(blocks.last_mut()?);
        let (vector, last) = block.pop()?;
        if block.rows().is_empty() {
            blocks.pop();
        }
        if *last.id == *id {
            return Some(last);
        }
        let capacity = Block::capacity(self.now.dimensions);
        self.places.insert(Arc::clone(&last.id), place);
        let block = Arc::make_mut(blocks.get_mut(place / capacity)?);
        block.set(place % capacity, &vector, last)
    }
}

pub(super) fn too_many(max: usize) -> Error {
    Error::new(
        ErrorKind::LimitExceeded,
        format!("the store holds at most {max} entries; remove some, or raise `max_entries`"),
    )
}

impl Addition {
    pub(super) async fn new(added: Vec<EmbeddingEntry>) -> Result<Self> {
        let dimensions = added.first().map_or(0, |entry| entry.vector.len());
        let mut entries: Vec<(Vec<f32>, Row)> = Vec::with_capacity(added.len());
        let mut places = HashMap::with_capacity(added.len());
        let mut numbers = 0;
        for entry in added {
            entry.check()?;
            let EmbeddingEntry { id, mut vector, segment, .. } = entry;
            if vector.len() != dimensions {
                return Err(wrong(format!(
                    "entry `{id}`: the vector has {} numbers, but the vector of the first entry has \
                     {dimensions}",
                    vector.len()
                )));
            }
            normalize(&mut vector);
            let id: Arc<str> = id.into();
            let place = *places.entry(Arc::clone(&id)).or_insert(entries.len());
            let entry = (vector, Row { id, segment });
            match entries.get_mut(place) {
                Some(earlier) => *earlier = entry,
                None => entries.push(entry),
            }
            numbers += dimensions;
            if numbers > COMPONENTS_BETWEEN_YIELDS {
                numbers = 0;
                yield_now().await;
            }
        }
        Ok(Self { dimensions, entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::document::{Metadata, TextSegment, key};
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Dimensions at which a block holds three entries in tests.
    const DIMENSIONS: usize = 20;

    /// An operation on a table and on a reference map.
    #[derive(Clone, Debug)]
    enum Step {
        Put(u8, u8),
        Remove(Vec<u8>),
        RemoveAccepted(u8),
        RemoveSource(u8),
        TakeSnapshot,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (0..12_u8, 0..4_u8).prop_map(|(id, value)| Step::Put(id, value)),
            2 => vec(0..12_u8, 0..4).prop_map(Step::Remove),
            1 => (0..4_u8).prop_map(Step::RemoveAccepted),
            1 => (0..3_u8).prop_map(Step::RemoveSource),
            1 => Just(Step::TakeSnapshot),
        ]
    }

    fn source(value: u8) -> String {
        (value % 2).to_string()
    }

    fn row(id: u8, value: u8) -> Row {
        let metadata = Metadata::new().with("value", value).with(key::SOURCE, source(value));
        let segment = TextSegment::new(value.to_string()).with_metadata(metadata);
        Row { id: id.to_string().into(), segment }
    }

    fn contents(snapshot: &Snapshot) -> BTreeMap<String, (f32, String)> {
        let entries = snapshot.blocks().iter().flat_map(|block| block.entries());
        entries
            .map(|(vector, row)| (row.id.to_string(), (vector[1], row.segment.text().to_owned())))
            .collect()
    }

    proptest! {
        #[test]
        fn table_behaves_like_a_map(steps in vec(step(), 0..30)) {
            let (mut table, mut map) = (Table::default(), BTreeMap::new());
            let mut snapshots = Vec::new();
            let mut vector = vec![0.0; DIMENSIONS];
            for step in steps {
                match step {
                    Step::Put(id, value) => {
                        vector[1] = f32::from(value);
                        let old = table.put(&vector, row(id, value));
                        let known = map.insert(id.to_string(), (f32::from(value), value.to_string()));
                        prop_assert_eq!(old.is_some(), known.is_some());
                    }
                    Step::Remove(ids) => {
                        let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
                        table.remove(&ids.iter().map(String::as_str).collect::<Vec<_>>());
                        map.retain(|id, _| !ids.contains(id));
                    }
                    Step::RemoveAccepted(value) => {
                        table.remove_matching(&Filter::key("value").is(value));
                        map.retain(|_, (own, _)| *own != f32::from(value));
                    }
                    Step::RemoveSource(number) => {
                        let filter = Filter::key(key::SOURCE).is(number.to_string());
                        let filter = filter.and(Filter::key("value").less_than(3));
                        table.remove_matching(&filter);
                        map.retain(|_, (own, _)| *own >= 3.0 || *own % 2.0 != f32::from(number));
                    }
                    Step::TakeSnapshot => snapshots.push((table.snapshot(), map.clone())),
                }
                let now = table.snapshot();
                prop_assert_eq!((table.len(), now.len()), (map.len(), map.len()));
                prop_assert_eq!(contents(&now), map.clone());
                for number in 0..2_u8 {
                    let filter = Filter::key(key::SOURCE).is(number.to_string());
                    let of_source = table.of_source(&number.to_string(), &filter).count();
                    let known = map.values().filter(|(own, _)| *own % 2.0 == f32::from(number));
                    prop_assert_eq!(of_source, known.count());
                }
            }
            for (snapshot, map) in snapshots {
                prop_assert_eq!(contents(&snapshot), map);
            }
        }
    }
}
