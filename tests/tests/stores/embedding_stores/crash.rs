//! Crashes of a process that replaces entries: either the old or the new entries remain.

use super::samples::{described, ids, nearest};
use ai_services::document::Metadata;
use ai_services::embedding::{EmbeddingStore, Filter, Replace};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

/// Environment variable with the location of the store, for the child process.
const LOCATION: &str = "AI_SERVICES_TEST_PLACE";

/// Number of new entries: more than one statement inserts.
const ADDED: usize = 700;

/// The entries that remain.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Remaining {
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

/// Adds the old entries to an empty store.
pub(crate) async fn begin(store: &dyn EmbeddingStore) {
    let other = described("other", Metadata::new().with("source", "b.md"));
    store.add([entries("old", 3), vec![other]].concat()).await.unwrap();
}

/// Replaces the entries in a child process that aborts at a failpoint of the store.
pub(crate) fn kill_at(point: &str, location: &str) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "embedding_stores::crash::child", "--ignored"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    child.env("AI_SERVICES_FAILPOINT", point).env(LOCATION, location);
    let ended = child.status().unwrap();
    // The signal of `abort`.
    assert_eq!(ended.signal(), Some(6), "{point}: {ended}");
}

/// Returns the remaining entries. Panics unless they are complete.
pub(crate) async fn remaining(store: &dyn EmbeddingStore) -> Remaining {
    let found = nearest(store, &[0.6, 0.8], None).await;
    let found = ids(&found);
    let is = |expected: Vec<ai_services::embedding::EmbeddingEntry>| {
        let mut expected: Vec<_> = expected.iter().map(|entry| &*entry.id).collect();
        expected.push("other");
        expected.sort_unstable();
        expected == found
    };
    assert_eq!(store.count().await.unwrap(), found.len() as u64);
    assert_eq!(super::samples::with_words(store, "text").await.len(), found.len());
    match (is(entries("old", 3)), is(entries("new", ADDED))) {
        (true, false) => Remaining::Old,
        (false, true) => Remaining::New,
        _ => panic!("{found:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "child process of other tests"]
async fn child() {
    let location = std::env::var(LOCATION).unwrap();
    let store: Box<dyn EmbeddingStore> = match location.split_once('|') {
        #[cfg(feature = "postgres")]
        Some((url, table)) => {
            use ai_services::store::postgres::PostgresEmbeddingStore;
            Box::new(PostgresEmbeddingStore::builder().url(url).table(table).build().unwrap())
        }
        #[cfg(feature = "sqlite")]
        None => Box::new(
            ai_services::store::sqlite::SqliteEmbeddingStore::open(location).await.unwrap(),
        ),
        #[allow(unreachable_patterns, reason = "one of the features may be off")]
        _ => panic!("{location}"),
    };
    store.replace(Replace::Matching(&of_document()), entries("new", ADDED)).await.unwrap();
}
