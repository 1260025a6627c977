//! Dropped runs.

use super::fixture::{Fixture, documents};
use ai_services::embedding::EmbeddingStore;
use futures_util::{FutureExt, poll};
use std::pin::pin;
use tokio::sync::Semaphore;

/// After an interruption at every possible request, each source is old or new, and a second run
/// embeds only the missing segments.
#[tokio::test]
async fn dropped_run_leaves_each_source_old_or_new() {
    for answered in 0..7 {
        let mut fixture = Fixture::new();
        let old = documents([("a", "old a"), ("b", "old b\nold b2")]);
        fixture.ingestor().ingest(old).await.unwrap();
        fixture.model = super::fixture::Model::new("lengths-1");
        let model = std::sync::Arc::get_mut(&mut fixture.model).unwrap();
        model.gate = Semaphore::new(answered);
        let new = || documents([("a", "a1\na2"), ("b", "b1\nb2\nb3"), ("c", "c1")]);
        let ingestor = fixture.builder().batch_size(1).max_concurrency(2).build().unwrap();
        {
            let mut run = pin!(ingestor.ingest(new()).fuse());
            // Until the run waits for an answer that never arrives.
            while fixture.model.requests.lock().unwrap().len() <= answered {
                if poll!(&mut run).is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        for (source, texts) in fixture.store.texts() {
            let whole: &[&[&str]] = match source.as_str() {
                "a" => &[&["old a"], &["a1", "a2"]],
                "b" => &[&["old b", "old b2"], &["b1", "b2", "b3"]],
                _ => &[&["c1"]],
            };
            assert!(
                whole.iter().any(|whole| **whole == texts[..]),
                "{answered}: {source} {texts:?}"
            );
        }
        let stored = fixture.store.texts();
        let is_new = |text: &String| !text.starts_with("old");
        let done = stored.values().flatten().filter(|text| is_new(text)).count();
        fixture.model.take();
        fixture.model.gate.add_permits(1000);
        ingestor.ingest(new()).await.unwrap();
        assert_eq!(fixture.model.take().len(), 6 - done, "after {answered}");
        assert_eq!(fixture.store.count().await.unwrap(), 6);
    }
}
