//! Requests to the model, and stored entries.

use super::fixture::{Fixture, documents};
use ai_services::ErrorKind;
use ai_services::document::{Document, MetadataValue, TextSegment, key};
use ai_services::ingestion::EmbeddingStoreIngestor;

#[tokio::test]
async fn segments_are_embedded_and_stored_with_their_origin() {
    let fixture = Fixture::new();
    let report = fixture.ingestor().ingest(documents([("a", "one\nthree")])).await.unwrap();
    assert_eq!(fixture.model.take(), [["one", "three"]]);
    let entries = fixture.store.entries.lock().unwrap();
    let mut found: Vec<_> = entries.values().collect();
    found.sort_by_key(|entry| entry.segment.text());
    assert_eq!([&found[0].vector, &found[1].vector], [&[1.0, 3.0], &[1.0, 5.0]]);
    let metadata = found[0].segment.metadata();
    let keys: Vec<_> = metadata.iter().map(|(key, _)| key).collect();
    assert_eq!(keys, [key::SOURCE, key::DIGEST, key::SEGMENTS]);
    assert_eq!(metadata.get(key::SEGMENTS), Some(&MetadataValue::Integer(2)));
    assert_eq!((report.totals.embedded, report.totals.stored, report.totals.bytes), (2, 2, 9));
    assert_eq!(report.totals.usage.input, Some(20));
}

#[tokio::test]
async fn small_sources_share_a_request() {
    let fixture = Fixture::new();
    let ingestor = fixture.builder().batch_size(3).build().unwrap();
    let large = "1\n2\n3\n4\n5\n6\n7";
    ingestor.ingest(documents([("a", "x"), ("b", "y"), ("c", "z"), ("d", large)])).await.unwrap();
    let expected: [&[&str]; 4] = [&["1", "2", "3"], &["4", "5", "6"], &["7"], &["x", "y", "z"]];
    assert_eq!(fixture.model.take(), expected);
    assert_eq!(fixture.store.texts()["d"].len(), 7);
    assert_eq!(fixture.store.writes(), 4);
}

#[tokio::test]
async fn concurrent_requests_are_limited() {
    let fixture = Fixture::new();
    let ingestor = fixture.builder().batch_size(2).max_concurrency(3).build().unwrap();
    let text = (0..40).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n");
    let all = documents([("a", text.as_str()), ("b", &text), ("c", &text), ("d", &text)]);
    ingestor.ingest(all).await.unwrap();
    assert_eq!(fixture.model.take().len(), 80);
    assert_eq!(fixture.model.busy.lock().unwrap().1, 3);
}

#[tokio::test]
async fn pages_of_a_source_are_one_unit() {
    let fixture = Fixture::new();
    let ingestor = fixture.ingestor();
    let report = ingestor.ingest(documents([("a", "1"), ("a", "2"), ("b", "3")])).await.unwrap();
    assert_eq!(fixture.store.texts()["a"], ["1", "2"]);
    let totals = &report.totals;
    assert_eq!((totals.documents_done, totals.sources_done, fixture.store.writes()), (3, 2, 2));
    // One page was removed.
    ingestor.ingest(documents([("a", "1"), ("b", "3")])).await.unwrap();
    assert_eq!(fixture.store.texts()["a"], ["1"]);
}

#[tokio::test]
async fn transformers_change_and_drop_segments() {
    let fixture = Fixture::new();
    let title = |segment: TextSegment| {
        let text = format!("{}: {}", segment.metadata().get(key::SOURCE)?, segment.text());
        (segment.text() != "-").then(|| TextSegment::new(text))
    };
    let not_b = |document: Document| (document.text() != "bad").then_some(document);
    let builder = fixture.builder().document_transformer(not_b).segment_transformer(title);
    let all = documents([("a", "one\n-"), ("b", "bad")]);
    let report = builder.build().unwrap().ingest(all).await.unwrap();
    assert_eq!(fixture.model.take(), [["a: one"]]);
    // The source is stored, although the transformer dropped the metadata.
    assert_eq!(fixture.store.texts()["a"], ["a: one"]);
    assert_eq!((report.totals.sources_done, report.totals.sources_unchanged), (1, 1));
}

#[tokio::test]
async fn blank_segments_are_not_embedded() {
    let fixture = Fixture::new();
    fixture.ingestor().ingest(documents([("a", "one\n \n\ntwo"), ("b", "")])).await.unwrap();
    assert_eq!(fixture.model.take(), [["one", "two"]]);
}

#[test]
fn incomplete_ingestor_is_rejected() {
    let fixture = Fixture::new();
    let builder = EmbeddingStoreIngestor::builder;
    let wrong = [
        builder().model(fixture.model.clone()).build(),
        builder().store(fixture.store.clone()).build(),
        fixture.builder().batch_size(0).build(),
        fixture.builder().max_concurrency(0).build(),
    ];
    let kinds = wrong.map(|wrong| wrong.unwrap_err().kind());
    assert_eq!(kinds, [ErrorKind::Configuration; 4]);
}
