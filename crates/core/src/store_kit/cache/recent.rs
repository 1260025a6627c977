//! The most recently used conversations, up to a size.

use super::entry::Entry;
use crate::memory::MemoryId;
use std::collections::{BTreeMap, HashMap};

/// Conversations by id, and by their last use.
#[derive(Debug, Default)]
pub(super) struct Recent {
    entries: HashMap<MemoryId, (Entry, u64)>,
    by_use: BTreeMap<u64, MemoryId>,
    uses: u64,
    bytes: usize,
}

impl Recent {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn take(&mut self, id: &MemoryId) -> Option<Entry> {
        let (entry, used) = self.entries.remove(id)?;
        self.by_use.remove(&used);
        self.bytes -= entry.bytes();
        Some(entry)
    }

    /// Inserts or replaces an entry as the most recently used one. Removes the least recently used ones while
    /// their size exceeds `limit`, and returns all removed entries: dropping them takes a while.
    pub(super) fn put(&mut self, id: &MemoryId, entry: Entry, limit: usize) -> Vec<Entry> {
        let mut removed = Vec::from_iter(self.take(id));
        if entry.bytes() > limit {
            removed.push(entry);
            return removed;
        }
        self.uses += 1;
        self.bytes += entry.bytes();
        self.by_use.insert(self.uses, id.clone());
        self.entries.insert(id.clone(), (entry, self.uses));
        while self.bytes > limit {
            let Some(oldest) = self.by_use.first_entry().map(|oldest| oldest.get().clone()) else {
                break;
            };
            removed.extend(self.take(&oldest));
        }
        removed
    }
}
