//! Several collections in one store.

use super::desk::{Desk, documents};
use ai_services::ingestion::{EmbeddingStoreIngestor, MissingSources};

fn collection(desk: &Desk, name: &str) -> EmbeddingStoreIngestor {
    let builder = desk.builder().collection(name).missing_sources(MissingSources::Remove);
    builder.build().unwrap()
}

#[tokio::test]
async fn collections_do_not_touch_each_other() {
    let desk = Desk::new();
    let (tea, coffee) = (collection(&desk, "tea"), collection(&desk, "coffee"));
    tea.ingest(documents([("a", "green"), ("b", "black")])).await.unwrap();
    coffee.ingest(documents([("a", "arabica")])).await.unwrap();
    assert_eq!(desk.store.texts()["a"], ["arabica", "green"]);
    let report = coffee.ingest(documents([("a", "robusta")])).await.unwrap();
    assert_eq!(desk.store.texts()["a"], ["green", "robusta"]);
    assert_eq!(report.totals.sources_removed, 0);
    tea.ingest(documents([])).await.unwrap();
    assert_eq!(
        desk.store.texts().into_iter().collect::<Vec<_>>(),
        [("a".into(), vec!["robusta".into()])]
    );
}

#[tokio::test]
async fn same_text_in_two_collections_is_stored_twice() {
    let desk = Desk::new();
    for name in ["tea", "coffee"] {
        collection(&desk, name).ingest(documents([("a", "water")])).await.unwrap();
    }
    assert_eq!(desk.store.texts()["a"], ["water", "water"]);
}
