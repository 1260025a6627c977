//! Progress of an ingestion.

use super::fixture::{Fixture, documents};
use ai_services::document::{DirectoryLoader, MarkdownSplitter};
use ai_services::ingestion::IngestionProgress;
use std::fs;
use std::sync::{Arc, Mutex};

#[tokio::test]
async fn progress_ends_with_the_totals_of_the_report() {
    let fixture = Fixture::new();
    let seen: Arc<Mutex<Vec<IngestionProgress>>> = Arc::default();
    let recorder = Arc::clone(&seen);
    let builder = fixture.builder().batch_size(2).max_concurrency(1);
    let ingestor =
        builder.progress(move |progress| recorder.lock().unwrap().push(progress.clone()));
    let ingestor = ingestor.build().unwrap();
    let report = ingestor.ingest(documents([("a", "1\n2\n3"), ("b", "4")])).await.unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(seen.last(), Some(&report.totals));
    assert!(seen.iter().all(|progress| progress.documents_total == Some(2)));
    for pair in seen.windows(2) {
        assert!(pair[0].embedded <= pair[1].embedded && pair[0].stored <= pair[1].stored);
        assert!(pair[1].stored <= pair[1].embedded);
    }
    // Progress is reported within a source too.
    assert!(seen.iter().any(|progress| progress.embedded == 2 && progress.stored == 0));
}

#[tokio::test]
async fn changed_file_of_a_folder_is_ingested_again() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("x")).unwrap();
    fs::write(folder.path().join("a.md"), "# A\n\nOne.\n\n# B\n\nTwo.").unwrap();
    fs::write(folder.path().join("x/c.txt"), "Three.").unwrap();
    let fixture = Fixture::new();
    let ingestor = fixture.builder().splitter(MarkdownSplitter::default()).build().unwrap();
    let loader = DirectoryLoader::new(folder.path());
    let report = ingestor.ingest(loader.documents()).await.unwrap();
    assert_eq!((report.totals.sources_done, report.totals.documents_total), (2, None));
    assert_eq!(fixture.store.texts()["a.md"], ["# A\n\nOne.", "# B\n\nTwo."]);
    fixture.model.take();
    fs::write(folder.path().join("x/c.txt"), "Four.").unwrap();
    ingestor.ingest(loader.documents()).await.unwrap();
    assert_eq!(fixture.model.take(), [["Four."]]);
}
