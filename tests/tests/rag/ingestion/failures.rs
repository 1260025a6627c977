//! Sources that cannot be loaded, embedded or stored.

use super::fixture::{Fixture, Loaded, documents};
use ai_services::ErrorKind;
use ai_services::document::{Document, LoadError, LoadErrorKind, Metadata, TextSegment};
use ai_services::ingestion::{EmbeddingStoreIngestor, IngestionErrorPolicy, IngestionStopped};
use futures_util::{StreamExt, stream};

fn skipping(fixture: &Fixture) -> EmbeddingStoreIngestor {
    fixture.builder().on_error(IngestionErrorPolicy::Skip).build().unwrap()
}

fn broken(name: &str) -> Loaded {
    Err(LoadError::new(name, LoadErrorKind::Damaged, "is damaged"))
}

#[tokio::test]
async fn first_failure_stops_the_run() {
    let fixture = Fixture::new();
    let ingestor = fixture.builder().batch_size(1).max_concurrency(1).build().unwrap();
    let all = documents([("a", "1"), ("b", "poison"), ("c", "3"), ("d", "4"), ("e", "5")]);
    let error = ingestor.ingest(all).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert_eq!(error.to_string(), "the ingestion stopped at `b`: refused");
    assert_eq!(error.usage().unwrap().input, Some(11));
    let stopped = error.detail::<IngestionStopped>().unwrap();
    assert_eq!(stopped.report.totals.sources_done, 1);
    assert_eq!(&*stopped.report.failures[0].source, "b");
    assert_eq!(fixture.store.texts().into_keys().collect::<Vec<_>>(), ["a"]);
}

#[tokio::test]
async fn failures_are_skipped_and_reported() {
    let fixture = Fixture::new();
    let nameless = Ok(Document::new("x", Metadata::new()));
    let all = documents([("a", "1")])
        .chain(stream::iter([broken("b"), nameless]))
        .chain(documents([("c", "poison"), ("d", "4"), ("a", "again")]));
    let report = skipping(&fixture).ingest(all).await.unwrap();
    assert_eq!(fixture.store.texts().into_keys().collect::<Vec<_>>(), ["a", "d"]);
    assert_eq!(fixture.store.texts()["a"], ["1"]);
    let mut failures: Vec<_> = report
        .failures
        .iter()
        .map(|failure| format!("{}: {}", failure.source, failure.error))
        .collect();
    failures.sort();
    assert_eq!(
        failures,
        [
            ": a document has no `source`; set it in its metadata",
            "a: the source `a` appears twice; its documents must be consecutive in the stream",
            "b: `b` is damaged",
            "c: refused"
        ]
    );
    assert!(report.failures.iter().any(|failure| failure.error.detail::<LoadError>().is_some()));
    assert_eq!((report.totals.sources_failed, report.totals.sources_done), (4, 2));
}

#[tokio::test]
async fn rejected_text_fails_only_its_source() {
    let fixture = Fixture::new();
    let all = documents([("a", "1"), ("b", "2\npoison"), ("c", "3")]);
    skipping(&fixture).ingest(all).await.unwrap();
    let expected: [&[&str]; 4] = [&["1"], &["1", "2", "poison", "3"], &["2", "poison"], &["3"]];
    assert_eq!(fixture.model.take(), expected);
    assert_eq!(fixture.store.texts().into_keys().collect::<Vec<_>>(), ["a", "c"]);
}

#[tokio::test]
async fn unavailable_model_is_called_once() {
    for failure in [ErrorKind::Unavailable, ErrorKind::Authentication, ErrorKind::Configuration] {
        let fixture = Fixture::new();
        *fixture.model.failure.lock().unwrap() = failure;
        let all = documents([("a", "1"), ("b", "poison"), ("c", "3")]);
        let report = skipping(&fixture).ingest(all).await.unwrap();
        assert_eq!(fixture.model.take().len(), 1, "{failure:?}");
        assert_eq!(report.totals.sources_failed, 3);
    }
}

#[tokio::test]
async fn every_document_is_counted_once() {
    let fixture = Fixture::new();
    fixture.ingestor().ingest(documents([("same", "1")])).await.unwrap();
    let mut all: Vec<Loaded> =
        documents([("same", "1"), ("new", "2"), ("new", "3")]).collect().await;
    all.extend(documents([("half", "4"), ("half", "5")]).collect::<Vec<_>>().await);
    all.extend([broken("half"), Ok(Document::new("6", Metadata::new()))]);
    all.extend(
        documents([("same", "7"), ("same", "8"), ("bad", "poison")]).collect::<Vec<_>>().await,
    );
    let count = all.len() as u64;
    let totals = skipping(&fixture).ingest(stream::iter(all)).await.unwrap().totals;
    assert_eq!(totals.documents_total, Some(count));
    assert_eq!((totals.documents_done, totals.documents_unchanged), (2, 1));
    assert_eq!(totals.documents_failed, count - 3);
}

#[tokio::test]
async fn failed_source_is_not_embedded_further() {
    let fixture = Fixture::new();
    let ingestor = fixture.builder().on_error(IngestionErrorPolicy::Skip).batch_size(1);
    let ingestor = ingestor.max_concurrency(1).build().unwrap();
    let report = ingestor.ingest(documents([("a", "poison\n2\n3\n4")])).await.unwrap();
    assert_eq!(fixture.model.take(), [["poison"]]);
    assert_eq!(report.failures.len(), 1);
}

#[tokio::test]
async fn failed_write_keeps_the_old_source() {
    let fixture = Fixture::new();
    fixture.ingestor().ingest(documents([("a", "old"), ("b", "old")])).await.unwrap();
    *fixture.store.refused.lock().unwrap() = Some("new");
    let all = documents([("a", "new"), ("b", "fine")]);
    let report = skipping(&fixture).ingest(all).await.unwrap();
    assert_eq!(fixture.store.texts()["a"], ["old"]);
    assert_eq!(fixture.store.texts()["b"], ["fine"]);
    assert_eq!(report.failures[0].error.to_string(), "the disk is full");
}

#[tokio::test]
async fn panic_of_a_transformer_is_a_failure() {
    let fixture = Fixture::new();
    let panics = |segment: TextSegment| {
        assert!(segment.text() != "odd", "deliberate panic");
        Some(segment)
    };
    let builder = fixture.builder().segment_transformer(panics);
    let ingestor = builder.on_error(IngestionErrorPolicy::Skip).build().unwrap();
    let report = ingestor.ingest(documents([("a", "odd"), ("b", "2")])).await.unwrap();
    assert_eq!(report.failures[0].error.kind(), ErrorKind::Configuration);
    assert_eq!(fixture.store.texts().into_keys().collect::<Vec<_>>(), ["b"]);
}
