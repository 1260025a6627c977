//! Repeated runs of an ingestor.

use super::fixture::{Fixture, Loaded, Model, documents};
use ai_services::document::{LoadError, LoadErrorKind, RecursiveSplitter};
use ai_services::embedding::EmbeddingStore;
use ai_services::ingestion::{IngestionErrorPolicy, MissingSources};
use futures_util::{StreamExt, stream};

#[tokio::test]
async fn unchanged_sources_are_not_embedded_again() {
    let fixture = Fixture::new();
    let all = || documents([("a", "one\ntwo"), ("b", "three")]);
    fixture.ingestor().ingest(all()).await.unwrap();
    let (before, writes) = (fixture.store.dump(), fixture.store.writes());
    fixture.model.take();
    let report = fixture.ingestor().ingest(all()).await.unwrap();
    assert!(fixture.model.take().is_empty());
    assert_eq!((fixture.store.dump(), fixture.store.writes()), (before, writes));
    let totals = report.totals;
    assert_eq!((totals.sources_unchanged, totals.documents_unchanged), (2, 2));
    assert_eq!((totals.sources_done, totals.embedded), (0, 0));
}

#[tokio::test]
async fn changed_source_replaces_the_old_one() {
    let fixture = Fixture::new();
    fixture.ingestor().ingest(documents([("a", "one\ntwo"), ("b", "three")])).await.unwrap();
    fixture.model.take();
    fixture.ingestor().ingest(documents([("a", "one\nfour"), ("b", "three")])).await.unwrap();
    // The digest covers the whole source.
    assert_eq!(fixture.model.take(), [["one", "four"]]);
    assert_eq!(fixture.store.texts()["a"], ["four", "one"]);
    // An empty source removes its entries.
    fixture.ingestor().ingest(documents([("a", ""), ("b", "three")])).await.unwrap();
    assert_eq!(fixture.store.texts().into_keys().collect::<Vec<_>>(), ["b"]);
}

#[tokio::test]
async fn ids_depend_only_on_the_content() {
    let [first, second] = [Fixture::new(), Fixture::new()];
    first.ingestor().ingest(documents([("a", "one\none"), ("b", "two")])).await.unwrap();
    let ingestor = second.builder().batch_size(1).max_concurrency(1).build().unwrap();
    ingestor.ingest(documents([("b", "two"), ("a", "old")])).await.unwrap();
    ingestor.ingest(documents([("a", "one\none")])).await.unwrap();
    assert_eq!(first.store.dump(), second.store.dump());
    assert_eq!(first.store.texts()["a"], ["one", "one"]);
}

#[tokio::test]
async fn other_model_or_splitter_embeds_again() {
    let mut fixture = Fixture::new();
    let all = || documents([("a", "one\ntwo")]);
    fixture.ingestor().ingest(all()).await.unwrap();
    let whole = fixture.builder().splitter(RecursiveSplitter::default()).build().unwrap();
    whole.ingest(all()).await.unwrap();
    assert_eq!(fixture.store.texts()["a"], ["one\ntwo"]);
    fixture.model = Model::new("lengths-2");
    let whole = fixture.builder().splitter(RecursiveSplitter::default()).build().unwrap();
    whole.ingest(all()).await.unwrap();
    assert_eq!(fixture.model.take(), [["one\ntwo"]]);
}

#[tokio::test]
async fn lost_segment_is_detected() {
    let fixture = Fixture::new();
    fixture.ingestor().ingest(documents([("a", "one\ntwo")])).await.unwrap();
    fixture.store.entries.lock().unwrap().pop_first();
    fixture.model.take();
    fixture.ingestor().ingest(documents([("a", "one\ntwo")])).await.unwrap();
    assert_eq!(fixture.model.take(), [["one", "two"]]);
    assert_eq!(fixture.store.texts()["a"], ["one", "two"]);
}

#[tokio::test]
async fn missing_sources_are_removed_on_request() {
    let fixture = Fixture::new();
    fixture.ingestor().ingest(documents([("a", "1"), ("b", "2"), ("c", "3")])).await.unwrap();
    fixture.ingestor().ingest(documents([("b", "2")])).await.unwrap();
    assert_eq!(fixture.store.texts().len(), 3);
    let removing = fixture.builder().missing_sources(MissingSources::Remove).build().unwrap();
    let report = removing.ingest(documents([("b", "2")])).await.unwrap();
    assert_eq!(fixture.store.texts().into_keys().collect::<Vec<_>>(), ["b"]);
    assert_eq!(report.totals.sources_removed, 2);
    removing.ingest(documents([])).await.unwrap();
    assert_eq!(fixture.store.count().await.unwrap(), 0);
}

#[tokio::test]
async fn unloadable_sources_are_not_missing() {
    let fixture = Fixture::new();
    let all = documents([("a", "1"), ("b", "2"), ("x/c", "3"), ("y", "4"), ("z", "5")]);
    fixture.ingestor().ingest(all).await.unwrap();
    let error =
        |name: &str| -> Loaded { Err(LoadError::new(name, LoadErrorKind::Read, "is locked")) };
    let removing = fixture.builder().missing_sources(MissingSources::Remove);
    let removing = removing.on_error(IngestionErrorPolicy::Skip).build().unwrap();
    let broken = documents([("a", "1")]).chain(stream::iter([error("b"), error("x/")]));
    // A source that is rejected by the model is not missing either.
    let report = removing.ingest(broken.chain(documents([("y", "poison")]))).await.unwrap();
    assert_eq!(fixture.store.texts().into_keys().collect::<Vec<_>>(), ["a", "b", "x/c", "y"]);
    assert_eq!((report.totals.sources_removed, report.totals.sources_failed), (1, 3));
    assert_eq!(fixture.store.texts()["y"], ["4"]);
}
