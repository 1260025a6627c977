//! The in-memory store, saved to a file.

use super::{block_on, entries, step, vector};
use ai_services::ErrorKind;
use ai_services::embedding::{
    EmbeddingStore, Filter, InMemoryEmbeddingStore, TextSearch, UnreadableEmbeddings,
    UnreadableEmbeddingsProblem, VectorSearch,
};
use std::fs;
use std::io;
use std::path::Path;
use std::pin::pin;

fn names(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

async fn filled(count: usize) -> InMemoryEmbeddingStore {
    let store = InMemoryEmbeddingStore::new();
    store.add(entries(0..count)).await.unwrap();
    store
}

#[tokio::test]
async fn loaded_store_returns_the_same_results() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("entries.bin");
    let store = filled(2_000).await;
    store.save(&path).await.unwrap();
    let loaded = InMemoryEmbeddingStore::load(&path).await.unwrap();
    assert_eq!((loaded.len(), loaded.dimensions()), (2_000, Some(384)));
    let (query, filter) = (vector(77), Filter::key("rest").is_in([1, 2]));
    let search = VectorSearch::new(&query).max_results(50).filter(&filter);
    assert_eq!(loaded.search(&search).await.unwrap(), store.search(&search).await.unwrap());
    let search = TextSearch::new("number 1234");
    assert_eq!(
        loaded.search_text(&search).await.unwrap(),
        store.search_text(&search).await.unwrap()
    );
    loaded.add(entries(1_999..2_001)).await.unwrap();
    assert_eq!(loaded.len(), 2_001);
    assert_eq!(names(directory.path()), ["entries.bin"]);
}

#[tokio::test]
async fn empty_store_can_be_saved() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("entries");
    filled(10).await.save(&path).await.unwrap();
    InMemoryEmbeddingStore::new().save(&path).await.unwrap();
    let loaded = InMemoryEmbeddingStore::load(&path).await.unwrap();
    assert_eq!((loaded.len(), loaded.dimensions()), (0, None));
}

#[cfg(unix)]
#[tokio::test]
async fn permissions_of_an_existing_file_are_kept() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("entries");
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    filled(1).await.save(&path).await.unwrap();
    assert_eq!(mode(), 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    filled(2).await.save(&path).await.unwrap();
    assert_eq!(mode(), 0o640);
}

#[tokio::test]
async fn damaged_file_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("entries");
    filled(1_000).await.save(&path).await.unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    let error = InMemoryEmbeddingStore::load(&path).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store);
    let file = error.detail::<UnreadableEmbeddings>().unwrap();
    let reason = "the checksum of block 1 does not match".into();
    assert_eq!(file.problem, UnreadableEmbeddingsProblem::Corrupt(reason));
    assert_eq!(file.path, path);
    let text = error.to_string();
    assert!(text.contains(&*path.to_string_lossy()) && text.contains("block 1"), "{text}");
}

#[tokio::test]
async fn newer_file_needs_an_update() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("entries");
    filled(1).await.save(&path).await.unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[8] = 9;
    fs::write(&path, bytes).unwrap();
    let error = InMemoryEmbeddingStore::load(&path).await.unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("has format version 9; this build reads up to 1, update ai-services")
    );
}

#[tokio::test]
async fn unusable_file_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    let error = InMemoryEmbeddingStore::load(&missing).await.unwrap_err();
    let kind = error.detail::<io::Error>().map(io::Error::kind);
    assert_eq!((error.kind(), kind), (ErrorKind::Store, Some(io::ErrorKind::NotFound)));
    let store = filled(3).await;
    for path in [missing.join("file"), directory.path().join("..")] {
        let error = store.save(&path).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Store);
        assert!(error.detail::<io::Error>().is_some());
    }
    assert!(names(directory.path()).is_empty());
    let path = directory.path().join("entries");
    store.save(&path).await.unwrap();
    let small = InMemoryEmbeddingStore::builder().max_entries(2);
    assert_eq!(small.load(&path).await.unwrap_err().kind(), ErrorKind::LimitExceeded);
}

/// A directory at the path makes the rename fail; the temporary file is removed.
#[tokio::test]
async fn failed_save_leaves_no_temporary_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("entries");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("kept"), "kept").unwrap();
    assert!(filled(3).await.save(&path).await.is_err());
    assert_eq!(names(directory.path()), ["entries"]);
    assert_eq!(fs::read_to_string(path.join("kept")).unwrap(), "kept");
}

#[test]
fn dropped_save_leaves_a_complete_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("entries");
    let (old, new) = (block_on(filled(10)), block_on(filled(3_000)));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        old.save(&path).await.unwrap();
        let mut save = pin!(new.save(&path));
        let _ = step(save.as_mut()).await;
    });
    // Waits for the writing thread.
    drop(runtime);
    assert_eq!(names(directory.path()), ["entries"]);
    let kept = block_on(InMemoryEmbeddingStore::load(&path)).unwrap().len();
    assert!([10, 3_000].contains(&kept), "{kept}");
}
