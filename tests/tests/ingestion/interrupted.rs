//! A run that is dropped.

use super::desk::{Desk, documents};
use ai_services::embedding::EmbeddingStore;
use futures_util::{FutureExt, poll};
use std::pin::pin;
use tokio::sync::Semaphore;

/// Interrupted after every possible number of requests, each source is old or new, and a second run
/// embeds only what is not stored.
#[tokio::test]
async fn dropped_run_leaves_each_source_old_or_new() {
    for answered in 0..7 {
        let mut desk = Desk::new();
        let old = documents([("a", "old a"), ("b", "old b\nold b2")]);
        desk.ingestor().ingest(old).await.unwrap();
        desk.model = super::desk::Model::new("lengths-1");
        let model = std::sync::Arc::get_mut(&mut desk.model).unwrap();
        model.gate = Semaphore::new(answered);
        let new = || documents([("a", "a1\na2"), ("b", "b1\nb2\nb3"), ("c", "c1")]);
        let ingestor = desk.builder().batch_size(1).max_concurrency(2).build().unwrap();
        {
            let mut run = pin!(ingestor.ingest(new()).fuse());
            // Until it waits for an answer that does not come.
            while desk.model.requests.lock().unwrap().len() <= answered {
                if poll!(&mut run).is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        for (source, texts) in desk.store.texts() {
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
        let stored = desk.store.texts();
        let is_new = |text: &String| !text.starts_with("old");
        let done = stored.values().flatten().filter(|text| is_new(text)).count();
        desk.model.take();
        desk.model.gate.add_permits(1000);
        ingestor.ingest(new()).await.unwrap();
        assert_eq!(desk.model.take().len(), 6 - done, "after {answered}");
        assert_eq!(desk.store.count(None).await.unwrap(), 6);
    }
}
