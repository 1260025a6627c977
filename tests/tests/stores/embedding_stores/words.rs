//! Text searches.

use super::samples::{entry, ids, nearest, with_words};
use ai_services::document::Metadata;
use ai_services::embedding::{EmbeddingStore, Filter, TextSearch};

/// Checks that a rare word has a higher weight.
pub(crate) async fn check_weights(store: &dyn EmbeddingStore) {
    let common = (0..20).map(|number| entry(&format!("{number:02}"), &[1.0], "a manual of a pump"));
    let rare = entry("rare", &[1.0], "a manual of a turbine");
    store.add(common.chain([rare]).collect()).await.unwrap();
    let found = with_words(store, "the turbine manual").await;
    assert_eq!(found[0].id, Box::from("rare"));
    assert_eq!(found.len(), 21);
    let same: Vec<_> = ids(&found[1..]);
    assert!(same.is_sorted(), "{same:?}");
    assert!(found.is_sorted_by(|one, other| one.score >= other.score));

    let search = TextSearch::new("the turbine manual").max_results(3);
    assert_eq!(ids(&store.search_text(&search).await.unwrap()), ["rare", "00", "01"]);
}

/// Checks that both searches see the same entries, and that filters have the same meaning in both.
pub(crate) async fn check_both_searches(store: &dyn EmbeddingStore) {
    let in_year = |id, vector, text, year: i64| {
        let mut entry = entry(id, vector, text);
        entry.segment = entry.segment.with_metadata(Metadata::new().with("year", year));
        entry
    };
    store
        .add(vec![
            in_year("by-vector", &[1.0, 0.0], "cancelling a booking", 2024),
            in_year("by-words", &[0.0, 1.0], "error E4711 of the pump", 2024),
            in_year("old", &[1.0, 0.1], "error E4711 as it was", 2001),
        ])
        .await
        .unwrap();
    let recent = Filter::key("year").at_least(2020);
    let search = TextSearch::new("what is E4711?").filter(&recent);
    let words = store.search_text(&search).await.unwrap();
    let vectors = nearest(store, &[1.0, 0.0], Some(&recent)).await;
    assert_eq!(ids(&words), ["by-words"]);
    assert_eq!(ids(&vectors), ["by-vector", "by-words"]);
    assert_eq!(words[0].segment, vectors[1].segment);
}
