//! A second run.

use super::desk::{Desk, Loaded, Model, documents};
use ai_services::document::{LoadError, LoadErrorKind, RecursiveSplitter};
use ai_services::embedding::EmbeddingStore;
use ai_services::ingestion::{IngestionErrorPolicy, MissingSources};
use futures_util::{StreamExt, stream};

#[tokio::test]
async fn unchanged_sources_are_left_alone() {
    let desk = Desk::new();
    let all = || documents([("a", "one\ntwo"), ("b", "three")]);
    desk.ingestor().ingest(all()).await.unwrap();
    let (before, writes) = (desk.store.dump(), desk.store.writes());
    desk.model.take();
    let report = desk.ingestor().ingest(all()).await.unwrap();
    assert!(desk.model.take().is_empty());
    assert_eq!((desk.store.dump(), desk.store.writes()), (before, writes));
    let totals = report.totals;
    assert_eq!((totals.sources_unchanged, totals.documents_unchanged), (2, 2));
    assert_eq!((totals.sources_done, totals.embedded), (0, 0));
}

#[tokio::test]
async fn changed_source_takes_the_place_of_the_old_one() {
    let desk = Desk::new();
    desk.ingestor().ingest(documents([("a", "one\ntwo"), ("b", "three")])).await.unwrap();
    desk.model.take();
    desk.ingestor().ingest(documents([("a", "one\nfour"), ("b", "three")])).await.unwrap();
    // The digest is of the whole source.
    assert_eq!(desk.model.take(), [["one", "four"]]);
    assert_eq!(desk.store.texts()["a"], ["four", "one"]);
    // Nothing is left of it.
    desk.ingestor().ingest(documents([("a", ""), ("b", "three")])).await.unwrap();
    assert_eq!(desk.store.texts().into_keys().collect::<Vec<_>>(), ["b"]);
}

#[tokio::test]
async fn ids_depend_on_what_is_stored_only() {
    let [first, second] = [Desk::new(), Desk::new()];
    first.ingestor().ingest(documents([("a", "one\none"), ("b", "two")])).await.unwrap();
    let ingestor = second.builder().batch_size(1).max_concurrency(1).build().unwrap();
    ingestor.ingest(documents([("b", "two"), ("a", "old")])).await.unwrap();
    ingestor.ingest(documents([("a", "one\none")])).await.unwrap();
    assert_eq!(first.store.dump(), second.store.dump());
    assert_eq!(first.store.texts()["a"], ["one", "one"]);
}

#[tokio::test]
async fn other_model_or_splitter_embeds_again() {
    let mut desk = Desk::new();
    let all = || documents([("a", "one\ntwo")]);
    desk.ingestor().ingest(all()).await.unwrap();
    let whole = desk.builder().splitter(RecursiveSplitter::default()).build().unwrap();
    whole.ingest(all()).await.unwrap();
    assert_eq!(desk.store.texts()["a"], ["one\ntwo"]);
    desk.model = Model::new("lengths-2");
    let whole = desk.builder().splitter(RecursiveSplitter::default()).build().unwrap();
    whole.ingest(all()).await.unwrap();
    assert_eq!(desk.model.take(), [["one\ntwo"]]);
}

#[tokio::test]
async fn lost_segment_is_noticed() {
    let desk = Desk::new();
    desk.ingestor().ingest(documents([("a", "one\ntwo")])).await.unwrap();
    desk.store.entries.lock().unwrap().pop_first();
    desk.model.take();
    desk.ingestor().ingest(documents([("a", "one\ntwo")])).await.unwrap();
    assert_eq!(desk.model.take(), [["one", "two"]]);
    assert_eq!(desk.store.texts()["a"], ["one", "two"]);
}

#[tokio::test]
async fn missing_sources_are_removed_if_asked() {
    let desk = Desk::new();
    desk.ingestor().ingest(documents([("a", "1"), ("b", "2"), ("c", "3")])).await.unwrap();
    desk.ingestor().ingest(documents([("b", "2")])).await.unwrap();
    assert_eq!(desk.store.texts().len(), 3);
    let removing = desk.builder().missing_sources(MissingSources::Remove).build().unwrap();
    let report = removing.ingest(documents([("b", "2")])).await.unwrap();
    assert_eq!(desk.store.texts().into_keys().collect::<Vec<_>>(), ["b"]);
    assert_eq!(report.totals.sources_removed, 2);
    removing.ingest(documents([])).await.unwrap();
    assert_eq!(desk.store.count(None).await.unwrap(), 0);
}

#[tokio::test]
async fn what_could_not_be_loaded_is_not_missing() {
    let desk = Desk::new();
    let all = documents([("a", "1"), ("b", "2"), ("x/c", "3"), ("y", "4"), ("z", "5")]);
    desk.ingestor().ingest(all).await.unwrap();
    let error =
        |name: &str| -> Loaded { Err(LoadError::new(name, LoadErrorKind::Read, "is locked")) };
    let removing = desk.builder().missing_sources(MissingSources::Remove);
    let removing = removing.on_error(IngestionErrorPolicy::Skip).build().unwrap();
    let broken = documents([("a", "1")]).chain(stream::iter([error("b"), error("x/")]));
    // A source that is refused by the model is not missing either.
    let report = removing.ingest(broken.chain(documents([("y", "poison")]))).await.unwrap();
    assert_eq!(desk.store.texts().into_keys().collect::<Vec<_>>(), ["a", "b", "x/c", "y"]);
    assert_eq!((report.totals.sources_removed, report.totals.sources_failed), (1, 3));
    assert_eq!(desk.store.texts()["y"], ["4"]);
}
