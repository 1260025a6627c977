//! The SQLite store.

use super::crash::{self, Remaining};
use super::samples::{described, entry, ids, nearest, with_words};
use super::{filters, words};
use ai_services::ErrorKind;
use ai_services::document::Metadata;
use ai_services::embedding::{EmbeddingStore, Filter, VectorSearch};
use ai_services::memory::{ChatMemoryStore, MemoryId};
use ai_services::message::ChatMessage;
use ai_services::store::sqlite::{SqliteChatMemoryStore, SqliteEmbeddingStore};
use ai_services::testing::embedding_stores::EmbeddingStoreSuite;
use futures_util::FutureExt;
use rusqlite::Connection;
use std::path::PathBuf;
use tempfile::TempDir;

/// A temporary directory, and the path of a file in it.
fn temp_file() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("embeddings.db");
    (directory, path)
}

async fn in_memory() -> SqliteEmbeddingStore {
    SqliteEmbeddingStore::in_memory().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_store_in_a_file_passes() {
    let (directory, _) = temp_file();
    let root = directory.path().to_owned();
    let count = std::sync::atomic::AtomicU32::new(0);
    let suite = EmbeddingStoreSuite::new(move || {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = root.join(format!("{number}.db"));
        async move { Ok(SqliteEmbeddingStore::open(path).await?) }
    });
    let report = suite.run().await;
    assert!(report.is_passed(), "{report}");
    assert_eq!(report.skipped().count(), 0, "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_store_in_memory_passes() {
    let suite = EmbeddingStoreSuite::new(|| async { Ok(SqliteEmbeddingStore::in_memory().await?) });
    let report = suite.run().await;
    assert!(report.is_passed(), "{report}");
}

#[test]
fn filters_match_the_same_entries_as_in_rust() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = runtime.block_on(in_memory());
    filters::check_random_filters(&runtime, &store);
}

#[tokio::test]
async fn large_filters_work() {
    filters::check_large_filters(&in_memory().await).await;
}

#[tokio::test]
async fn rare_words_have_a_higher_weight() {
    words::check_weights(&in_memory().await).await;
}

#[tokio::test]
async fn both_searches_find_the_same_entries() {
    words::check_both_searches(&in_memory().await).await;
}

#[tokio::test]
async fn file_is_shared_by_several_stores() {
    let (_directory, path) = temp_file();
    let memories = SqliteChatMemoryStore::open(&path).await.unwrap();
    let klaus = MemoryId::from("klaus");
    memories.update_messages(&klaus, &[ChatMessage::user("Hello!")]).await.unwrap();
    let open = |table: &str| SqliteEmbeddingStore::builder().path(&path).table(table).open();
    let (one, other) = (open("one").await.unwrap(), open("other").await.unwrap());
    one.add(vec![entry("a", &[1.0, 0.0], "a")]).await.unwrap();
    other.add(vec![entry("b", &[1.0], "b")]).await.unwrap();
    let again = open("one").await.unwrap();
    again.add(vec![entry("c", &[0.0, 1.0], "c")]).await.unwrap();
    assert_eq!(ids(&nearest(&one, &[1.0, 0.0], None).await), ["a", "c"]);
    assert_eq!(ids(&nearest(&other, &[1.0], None).await), ["b"]);
    for store in [one, other, again] {
        store.close().await;
    }
    assert_eq!(memories.get_messages(&klaus).await.unwrap(), [ChatMessage::user("Hello!")]);
    memories.close().await;

    let store = open("one").await.unwrap();
    assert_eq!(ids(&nearest(&store, &[1.0, 0.0], None).await), ["a", "c"]);
    let clone = store.clone();
    store.close().await;
    let error = clone.count().await.unwrap_err();
    assert!(error.to_string().contains("cannot count embeddings: the SQLite store is closed"));
}

#[tokio::test]
async fn dimensions_come_from_first_entry_or_settings() {
    let (_directory, path) = temp_file();
    let store = SqliteEmbeddingStore::open(&path).await.unwrap();
    store.add(vec![entry("a", &[1.0, 0.0], "a")]).await.unwrap();
    store.close().await;
    let with =
        |dimensions| SqliteEmbeddingStore::builder().path(&path).dimensions(dimensions).open();
    let error = with(3).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("`dimensions(3)`"), "{error}");
    let store = with(2).await.unwrap();
    store.clear().await.unwrap();
    for error in [
        store.add(vec![entry("a", &[1.0], "a")]).await.unwrap_err(),
        store.search(&VectorSearch::new(&[1.0])).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    }
    store.close().await;
    assert!(with(3).await.is_ok(), "the store is empty");
}

#[tokio::test]
async fn invalid_settings_are_rejected() {
    for table in ["", "Äpfel", "a;b", "1a", "a\"b", "sqlite", "sqlite_x", &"x".repeat(49)] {
        let error = SqliteEmbeddingStore::builder().in_memory().table(table).open().await;
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Configuration, "{table}");
    }
    let builder = SqliteEmbeddingStore::builder;
    assert!(builder().open().await.is_err());
    for dimensions in [0, 16_001] {
        assert!(builder().in_memory().dimensions(dimensions).open().await.is_err());
    }
}

#[tokio::test]
async fn newer_and_damaged_tables_are_errors() {
    let (_directory, path) = temp_file();
    let store = SqliteEmbeddingStore::open(&path).await.unwrap();
    let entries = ["a", "b"].map(|id| described(id, Metadata::new().with("n", 1)));
    store.add(entries.to_vec()).await.unwrap();
    let raw = Connection::open(&path).unwrap();
    raw.execute("UPDATE embeddings_entry SET vector = x'00' WHERE id = 'b'", []).unwrap();
    let error = store.search(&VectorSearch::new(&[1.0, 0.0])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store);
    assert!(error.to_string().contains("a vector of the embeddings `embeddings` is damaged"));
    raw.execute("UPDATE embeddings_metadata SET kind = 2, value = 'x'", []).unwrap();
    let error = store.values("n", None).await.unwrap_err();
    assert!(error.to_string().contains("a metadata value"), "{error}");
    raw.execute("UPDATE embedding_store SET version = 2", []).unwrap();
    let error = SqliteEmbeddingStore::open(&path).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("schema version 2"), "{error}");
}

#[tokio::test]
async fn dropped_change_is_atomic() {
    let store = in_memory().await;
    store.add(vec![described("a", Metadata::new())]).await.unwrap();
    for polls in 0..3 {
        let many = (0..500).map(|number| described(&format!("{number}"), Metadata::new()));
        let mut adding = store.add(many.collect()).boxed();
        for _ in 0..polls {
            // The thread that writes may already have finished.
            if (&mut adding).now_or_never().is_some() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(adding);
        // Waits for the dropped change.
        let count = store.count().await.unwrap();
        assert!([1, 501].contains(&count), "{count}");
    }
}

#[tokio::test]
async fn crash_leaves_old_or_new_entries() {
    for (point, expected) in [
        ("sqlite.embedding.removed:1", Remaining::Old),
        ("sqlite.embedding.added:1", Remaining::Old),
        ("sqlite.embedding.added:700", Remaining::Old),
        // The first transaction opens the store.
        ("sqlite.before_commit:2", Remaining::Old),
        ("sqlite.after_commit:2", Remaining::New),
    ] {
        let (_directory, path) = temp_file();
        let store = SqliteEmbeddingStore::open(&path).await.unwrap();
        crash::begin(&store).await;
        store.close().await;
        crash::kill_at(point, path.to_str().unwrap());
        let store = SqliteEmbeddingStore::open(&path).await.unwrap();
        assert_eq!(crash::remaining(&store).await, expected, "{point}");
    }
}

#[tokio::test]
async fn removed_entry_leaves_no_rows() {
    let (_directory, path) = temp_file();
    let store = SqliteEmbeddingStore::open(&path).await.unwrap();
    let many = (0..10).map(|n| described(&format!("{n}"), Metadata::new().with("n", n)));
    store.add(many.collect()).await.unwrap();
    store.remove(&["0", "1"]).await.unwrap();
    store.remove_matching(&Filter::key("n").less_than(5)).await.unwrap();
    let raw = Connection::open(&path).unwrap();
    let rows = |table: &str| -> i64 {
        let count = format!("SELECT count(*) FROM embeddings_{table}");
        raw.query_row(&count, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(["entry", "segment", "metadata", "words_docsize"].map(rows), [5; 4]);
    store.clear().await.unwrap();
    assert_eq!(["entry", "segment", "metadata", "words_docsize"].map(rows), [0; 4]);
}

#[tokio::test]
async fn text_search_ignores_removed_entries() {
    let text = |number: usize| match number % 4 {
        0 => "cat ".repeat(number / 4 + 1),
        _ => "dog ".repeat(number),
    };
    let some =
        || (0..12).map(|number| entry(&format!("{number}"), &[1.0], &text(number))).collect();
    let (fresh, changed) = (in_memory().await, in_memory().await);
    fresh.add(some()).await.unwrap();
    changed.add(some()).await.unwrap();
    let others = (0..50).map(|number| entry(&format!("x{number}"), &[1.0], &"bird ".repeat(40)));
    changed.add(others.collect()).await.unwrap();
    changed.add(some()).await.unwrap();
    let ids: Vec<_> = (0..50).map(|number| format!("x{number}")).collect();
    changed.remove(&ids.iter().map(String::as_str).collect::<Vec<_>>()).await.unwrap();
    for store in [&fresh, &changed] {
        assert_eq!(store.count().await.unwrap(), 12);
    }
    let found = with_words(&changed, "cat").await;
    assert!(!found.is_empty());
    assert_eq!(found, with_words(&fresh, "cat").await);
    assert!(with_words(&changed, "bird").await.is_empty());
}
