//! Searches by words.

use super::samples::{entry, ids, nearest, with_words};
use ai_services::document::Metadata;
use ai_services::embedding::{EmbeddingStore, Filter, TextSearch};

/// Words, not operators, whatever they look like.
pub(crate) async fn are_data(store: &dyn EmbeddingStore) {
    let texts = [("apple", "An apple a day"), ("pear", "A PEAR, not an Apple"), ("none", "Nothing")];
    store.add(texts.map(|(id, text)| entry(id, &[1.0, 0.0], text)).to_vec()).await.unwrap();
    for (words, expected) in [
        ("apple", &["apple", "pear"][..]),
        ("pear", &["pear"]),
        ("apple pear", &["pear", "apple"]),
        ("apple AND pear", &["pear", "apple"]),
        ("apple NOT pear", &["pear", "apple"]),
        ("\"apple\" OR \"", &["apple", "pear"]),
        ("appl*", &[]),
        ("text:apple", &[]),
        ("pear | !apple & (", &["pear", "apple"]),
        ("NEAR(day 5)", &[]),
        ("'; DROP TABLE embeddings; --", &[]),
        ("^pear", &["pear"]),
        ("pear\0apple", &["pear", "apple"]),
        ("pear:*", &["pear"]),
        ("$$ ' \" \\ % _ 🙂", &[]),
        ("", &[]),
        (" \n ", &[]),
    ] {
        let found = with_words(store, words).await;
        let mut found = ids(&found);
        let mut expected = expected.to_vec();
        if expected.len() < 2 || words.contains("apple\"") || words == "apple" {
            // Which of them has the better score is for the store to say.
            found.sort_unstable();
            expected.sort_unstable();
        }
        assert_eq!(found, expected, "{words}");
    }
    let many: String = (0..2_000).map(|number| format!("no{number} ")).collect();
    assert!(with_words(store, &many).await.is_empty());
}

/// A word that few entries have says more.
pub(crate) async fn are_weighed(store: &dyn EmbeddingStore) {
    let common = (0..20).map(|number| entry(&format!("{number:02}"), &[1.0], "a manual of a pump"));
    let rare = entry("rare", &[1.0], "a manual of a turbine");
    store.add(common.chain([rare]).collect()).await.unwrap();
    let found = with_words(store, "the turbine manual").await;
    assert_eq!(found[0].id, "rare".into());
    assert_eq!(found.len(), 21);
    let same: Vec<_> = ids(&found[1..]);
    assert!(same.is_sorted(), "{same:?}");
    assert!(found.is_sorted_by(|one, other| one.score >= other.score));

    let search = TextSearch::new("the turbine manual").max_results(3);
    assert_eq!(ids(&store.search_text(&search).await.unwrap()), ["rare", "00", "01"]);
}

/// What is replaced or removed is not found by its old words.
pub(crate) async fn are_those_of_the_entry(store: &dyn EmbeddingStore) {
    store.add(vec![entry("a", &[1.0], "old words"), entry("b", &[1.0], "old too")]).await.unwrap();
    store.add(vec![entry("a", &[1.0], "new words")]).await.unwrap();
    assert_eq!(ids(&with_words(store, "old").await), ["b"]);
    assert_eq!(ids(&with_words(store, "new").await), ["a"]);
    store.remove(&["b", "unknown"]).await.unwrap();
    assert!(with_words(store, "old").await.is_empty());
    store.remove_all(None).await.unwrap();
    assert!(with_words(store, "words").await.is_empty());
    store.add(vec![entry("c", &[1.0], "words")]).await.unwrap();
    assert_eq!(ids(&with_words(store, "words").await), ["c"]);
}

/// Both searches see the same entries, and filters mean the same in both.
pub(crate) async fn and_vectors_find_the_same_entries(store: &dyn EmbeddingStore) {
    let in_year = |id: &str, vector: &[f32], text: &str, year: i64| {
        let entry = entry(id, vector, text);
        let metadata = Metadata::new().with("year", year);
        let segment = entry.segment.clone().with_metadata(metadata);
        ai_services::embedding::EmbeddingEntry::new(entry.id, entry.vector, segment)
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
