//! Several collections in one store.

use super::fixture::{Fixture, documents};
use ai_services::ingestion::{EmbeddingStoreIngestor, MissingSources};

fn collection(fixture: &Fixture, name: &str) -> EmbeddingStoreIngestor {
    let builder = fixture.builder().collection(name).missing_sources(MissingSources::Remove);
    builder.build().unwrap()
}

#[tokio::test]
async fn collections_are_independent() {
    let fixture = Fixture::new();
    let (tea, coffee) = (collection(&fixture, "tea"), collection(&fixture, "coffee"));
    tea.ingest(documents([("a", "green"), ("b", "black")])).await.unwrap();
    coffee.ingest(documents([("a", "arabica")])).await.unwrap();
    assert_eq!(fixture.store.texts()["a"], ["arabica", "green"]);
    let report = coffee.ingest(documents([("a", "robusta")])).await.unwrap();
    assert_eq!(fixture.store.texts()["a"], ["green", "robusta"]);
    assert_eq!(report.totals.sources_removed, 0);
    tea.ingest(documents([])).await.unwrap();
    assert_eq!(
        fixture.store.texts().into_iter().collect::<Vec<_>>(),
        [("a".into(), vec!["robusta".into()])]
    );
}

#[tokio::test]
async fn same_text_in_two_collections_is_stored_twice() {
    let fixture = Fixture::new();
    for name in ["tea", "coffee"] {
        collection(&fixture, name).ingest(documents([("a", "water")])).await.unwrap();
    }
    assert_eq!(fixture.store.texts()["a"], ["water", "water"]);
}
