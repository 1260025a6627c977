//! How far it is.

use super::desk::{Desk, documents};
use ai_services::document::{DirectoryLoader, MarkdownSplitter};
use ai_services::ingestion::IngestionProgress;
use std::fs;
use std::sync::{Arc, Mutex};

#[tokio::test]
async fn every_step_is_told_and_the_last_one_is_the_report() {
    let desk = Desk::new();
    let seen: Arc<Mutex<Vec<IngestionProgress>>> = Arc::default();
    let note = Arc::clone(&seen);
    let builder = desk.builder().batch_size(2).max_concurrency(1);
    let ingestor = builder.progress(move |progress| note.lock().unwrap().push(progress.clone()));
    let ingestor = ingestor.build().unwrap();
    let report = ingestor.ingest(documents([("a", "1\n2\n3"), ("b", "4")])).await.unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(seen.last(), Some(&report.totals));
    assert!(seen.iter().all(|progress| progress.documents_total == Some(2)));
    for pair in seen.windows(2) {
        assert!(pair[0].embedded <= pair[1].embedded && pair[0].stored <= pair[1].stored);
        assert!(pair[1].stored <= pair[1].embedded);
    }
    // Within a source there is progress too.
    assert!(seen.iter().any(|progress| progress.embedded == 2 && progress.stored == 0));
}

#[tokio::test]
async fn folder_is_ingested_and_followed() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("x")).unwrap();
    fs::write(folder.path().join("a.md"), "# A\n\nOne.\n\n# B\n\nTwo.").unwrap();
    fs::write(folder.path().join("x/c.txt"), "Three.").unwrap();
    let desk = Desk::new();
    let ingestor = desk.builder().splitter(MarkdownSplitter::default()).build().unwrap();
    let loader = DirectoryLoader::new(folder.path());
    let report = ingestor.ingest(loader.documents()).await.unwrap();
    assert_eq!((report.totals.sources_done, report.totals.documents_total), (2, None));
    assert_eq!(desk.store.texts()["a.md"], ["# A\n\nOne.", "# B\n\nTwo."]);
    desk.model.take();
    fs::write(folder.path().join("x/c.txt"), "Four.").unwrap();
    ingestor.ingest(loader.documents()).await.unwrap();
    assert_eq!(desk.model.take(), [["Four."]]);
}
