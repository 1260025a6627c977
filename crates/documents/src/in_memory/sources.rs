//! Index from a source to the ids of its entries.

use super::block::Row;
use ai_services_core::document::{MetadataValue, key};
use ai_services_core::embedding::{Comparison, Filter};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The ids of the entries of each source, so that the entries of one document are found, counted and replaced
/// without a scan of all entries.
#[derive(Debug, Default)]
pub(super) struct Sources(HashMap<Arc<str>, BTreeSet<Arc<str>>>);

impl Sources {
    pub(super) fn insert(&mut self, row: &Row) {
        if let Some(source) = source(row) {
            self.0.entry(Arc::clone(source)).or_default().insert(Arc::clone(&row.id));
        }
    }

    pub(super) fn remove(&mut self, row: &Row) {
        let Some(source) = source(row) else { return };
        let Some(ids) = self.0.get_mut(source) else { return };
        ids.remove(&row.id);
        if ids.is_empty() {
            self.0.remove(source);
        }
    }

    /// Returns the ids of a source in ascending order.
    pub(super) fn ids(&self, source: &str) -> impl Iterator<Item = &Arc<str>> {
        self.0.get(source).into_iter().flatten()
    }
}

fn source(row: &Row) -> Option<&Arc<str>> {
    match row.segment.metadata().get(key::SOURCE)? {
        MetadataValue::Text(source) => Some(source),
        _ => None,
    }
}

/// Returns the source of all entries that a filter accepts, if the filter requires a single source.
pub(super) fn only_source(filter: &Filter) -> Option<&str> {
    match filter {
        Filter::Compare { key, comparison: Comparison::Equal, value } if **key == *key::SOURCE => {
            value.as_text()
        }
        Filter::All(all) => all.iter().find_map(only_source),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_required_comparison_names_the_source() {
        let of = |source: &str| Filter::key(key::SOURCE).is(source);
        let other = || Filter::key("year").is(2026);
        assert_eq!(only_source(&of("a")), Some("a"));
        assert_eq!(only_source(&other().and(other().and(of("a")))), Some("a"));
        for filter in [
            other(),
            !of("a"),
            of("a").or(other()),
            Filter::key(key::SOURCE).is(1),
            Filter::key(key::SOURCE).at_least("a"),
            Filter::key(key::SOURCE).is_in(["a"]),
            Filter::key("sources").is("a"),
        ] {
            assert_eq!(only_source(&filter), None, "{filter:?}");
        }
    }
}
