//! A process that is killed while it replaces entries leaves the old ones or the new ones.

use super::samples::{described, ids, nearest};
use ai_services::document::Metadata;
use ai_services::embedding::{EmbeddingStore, Filter};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

/// Where the child finds the store.
const PLACE: &str = "AI_SERVICES_TEST_PLACE";

/// More than one statement adds.
const ADDED: usize = 700;

/// Which entries there are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Old,
    New,
}

fn of_document() -> Filter {
    Filter::key("source").is("a.md")
}

fn entries(name: &str, count: usize) -> Vec<ai_services::embedding::EmbeddingEntry> {
    let metadata = Metadata::new().with("source", "a.md");
    (0..count).map(|number| described(&format!("{name}{number}"), metadata.clone())).collect()
}

/// Fills an empty store.
pub(crate) async fn begin(store: &dyn EmbeddingStore) {
    let other = described("other", Metadata::new().with("source", "b.md"));
    store.add([entries("old", 3), vec![other]].concat()).await.unwrap();
}

/// Has another process replace the entries and end at a point of the store.
pub(crate) fn killed_at(point: &str, place: &str) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "crash::child", "--ignored"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    child.env("AI_SERVICES_FAILPOINT", point).env(PLACE, place);
    let ended = child.status().unwrap();
    // `abort` ends it by this signal.
    assert_eq!(ended.signal(), Some(6), "{point}: {ended}");
}

/// Which entries there are, all of them or the test fails.
pub(crate) async fn left(store: &dyn EmbeddingStore) -> Left {
    let found = nearest(store, &[0.6, 0.8], None).await;
    let found = ids(&found);
    let is = |expected: Vec<ai_services::embedding::EmbeddingEntry>| {
        let mut expected: Vec<_> = expected.iter().map(|entry| &*entry.id).collect();
        expected.push("other");
        expected.sort_unstable();
        expected == found
    };
    assert_eq!(store.count(None).await.unwrap(), found.len() as u64);
    assert_eq!(super::samples::with_words(store, "text").await.len(), found.len());
    match (is(entries("old", 3)), is(entries("new", ADDED))) {
        (true, false) => Left::Old,
        (false, true) => Left::New,
        _ => panic!("{found:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "what the other process does"]
async fn child() {
    let place = std::env::var(PLACE).unwrap();
    let store: Box<dyn EmbeddingStore> = match place.split_once('|') {
        #[cfg(feature = "postgres")]
        Some((url, table)) => {
            use ai_services::store::postgres::PostgresEmbeddingStore;
            Box::new(PostgresEmbeddingStore::builder().url(url).table(table).build().unwrap())
        }
        #[cfg(feature = "sqlite")]
        None => {
            Box::new(ai_services::store::sqlite::SqliteEmbeddingStore::open(place).await.unwrap())
        }
        #[allow(unreachable_patterns, reason = "one of the features may be off")]
        _ => panic!("{place}"),
    };
    store.replace(Some(&of_document()), entries("new", ADDED)).await.unwrap();
}
