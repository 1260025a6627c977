//! The PostgreSQL store.

use super::crash::{self, Remaining};
use super::samples::{described, entry, ids, nearest};
use super::{filters, words};
use ai_services::ErrorKind;
use ai_services::document::Metadata;
use ai_services::embedding::{EmbeddingStore, Filter, Replace, VectorSearch};
use ai_services::store::postgres::{
    HnswOptions, PostgresEmbeddingStore, PostgresEmbeddingStoreBuilder, VectorIndex,
};
use ai_services::testing::embedding_stores::EmbeddingStoreSuite;
use ai_services_tests::servers::postgres::{self as server, Postgres};
use futures_util::future::join_all;
use std::sync::atomic::{AtomicU32, Ordering};

/// A table name that no other test uses.
fn table() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("vectors_{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

fn builder(server: &Postgres, table: &str) -> PostgresEmbeddingStoreBuilder {
    PostgresEmbeddingStore::builder().url(server.url()).pool_size(4).table(table)
}

async fn ready(builder: PostgresEmbeddingStoreBuilder) -> PostgresEmbeddingStore {
    let store = builder.build().unwrap();
    store.ensure_schema().await.unwrap();
    store
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_store_passes() {
    let Some(server) = server::with_vectors() else { return };
    let suite = EmbeddingStoreSuite::new(move || async move {
        let store = builder(server, &table()).build()?;
        store.ensure_schema().await?;
        Ok(store)
    });
    let report = suite.run().await;
    assert!(report.is_passed(), "{report}");
    assert_eq!(report.skipped().count(), 0, "{report}");
}

/// A store with an index does not use it for searches that it cannot answer well.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_store_with_an_index_passes() {
    let Some(server) = server::with_vectors() else { return };
    let suite = EmbeddingStoreSuite::new(move || async move {
        let index = VectorIndex::Hnsw(HnswOptions::new().ef_search(1_000));
        let store = builder(server, &table())
            .dimensions(EmbeddingStoreSuite::DIMENSIONS)
            .index(index)
            .build()?;
        store.ensure_schema().await?;
        Ok(store)
    });
    let report = suite.run().await;
    assert!(report.is_passed(), "{report}");
}

#[test]
fn filters_match_the_same_entries_as_in_rust() {
    let Some(server) = server::with_vectors() else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = runtime.block_on(ready(builder(server, &table())));
    filters::check_random_filters(&runtime, &store);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_filters_work() {
    let Some(server) = server::with_vectors() else { return };
    filters::check_large_filters(&ready(builder(server, &table())).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rare_words_have_a_higher_weight() {
    let Some(server) = server::with_vectors() else { return };
    words::check_weights(&ready(builder(server, &table())).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_searches_find_the_same_entries() {
    let Some(server) = server::with_vectors() else { return };
    words::check_both_searches(&ready(builder(server, &table())).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_search_uses_the_configuration() {
    let Some(server) = server::with_vectors() else { return };
    let table = table();
    let store = ready(builder(server, &table).text_search("english")).await;
    let long = format!("{} pumps", "x ".repeat(60_000));
    let texts = [("a", "the pumps were running"), ("b", "it\0runs"), ("c", &long)];
    store.add(texts.map(|(id, text)| entry(id, &[1.0], text)).to_vec()).await.unwrap();
    let found = super::samples::with_words(&store, "run").await;
    let mut found = ids(&found);
    found.sort_unstable();
    assert_eq!(found, ["a", "b"]);
    assert_eq!(ids(&super::samples::with_words(&store, "the pump").await), ["a"]);
    assert!(super::samples::with_words(&store, "the").await.is_empty(), "a stop word");

    let error = builder(server, &table).build().unwrap().ensure_schema().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("text_search(\"english\")"), "{error}");
    let unknown = builder(server, &self::table()).text_search("klingon").build().unwrap();
    let error = unknown.ensure_schema().await.unwrap_err();
    assert!(error.to_string().contains("no text search configuration `klingon`"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_can_be_created_concurrently() {
    let Some(server) = server::with_vectors() else { return };
    let table = table();
    let stores: Vec<_> = (0..6)
        .map(|_| {
            let builder = builder(server, &table).schema(format!("s_{table}")).dimensions(2);
            builder.index(VectorIndex::Hnsw(HnswOptions::new())).build().unwrap()
        })
        .collect();
    for outcome in join_all(stores.iter().map(PostgresEmbeddingStore::ensure_schema)).await {
        outcome.unwrap();
    }
    stores[0].add(vec![entry("a", &[1.0, 0.0], "a")]).await.unwrap();
    assert_eq!(ids(&nearest(&stores[1], &[1.0, 0.0], None).await), ["a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_tables_and_extension_are_reported() {
    let Some(server) = server::with_vectors() else { return };
    let store = builder(server, &table()).build().unwrap();
    let error = store.count().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("call `ensure_schema`"), "{error}");

    drop(server.psql("postgres", "CREATE DATABASE plain"));
    let url = server.url();
    let url = format!("{}/plain", url.strip_suffix("/postgres").unwrap());
    let store = PostgresEmbeddingStore::builder().url(url).build().unwrap();
    let error = store.ensure_schema().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("run `CREATE EXTENSION vector`"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn newer_tables_and_other_dimensions_are_rejected() {
    let Some(server) = server::with_vectors() else { return };
    let table = table();
    let store = ready(builder(server, &table)).await;
    store.add(vec![entry("a", &[1.0, 0.0], "a")]).await.unwrap();
    let error = builder(server, &table).dimensions(3).build().unwrap().ensure_schema().await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("`dimensions(3)`"), "{error}");
    for error in [
        store.add(vec![entry("b", &[1.0], "b")]).await.unwrap_err(),
        store.search(&VectorSearch::new(&[1.0])).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{error}");
    }
    drop(server.psql("postgres", &format!("UPDATE {table}_layout SET version = 2")));
    let error = store.ensure_schema().await.unwrap_err();
    assert!(error.to_string().contains("has layout 2"), "{error}");
}

#[tokio::test]
async fn invalid_settings_are_rejected() {
    let url = "postgres://localhost/x";
    let builder = || PostgresEmbeddingStore::builder().url(url);
    for table in ["", "Äpfel", "a;b", "1a", "a\"b", &"x".repeat(49)] {
        let error = builder().table(table).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{table}");
    }
    assert!(PostgresEmbeddingStore::builder().build().is_err());
    assert!(builder().schema("a b").build().is_err());
    assert!(builder().dimensions(0).build().is_err());
    assert!(builder().text_search("").build().is_err());
    assert!(builder().index(VectorIndex::Hnsw(HnswOptions::new())).build().is_err());
}

/// Several writers replace the same document; the entries of exactly one of them remain.
#[tokio::test(flavor = "multi_thread")]
async fn replacements_are_serialized() {
    let Some(server) = server::with_vectors() else { return };
    let store = ready(builder(server, &table())).await;
    let of_document = Filter::key("source").is("a.md");
    let replaced = (0..8_usize).map(|writer| {
        let (store, of_document) = (&store, &of_document);
        async move {
            for _ in 0..5 {
                let metadata = Metadata::new().with("source", "a.md").with("writer", writer as i64);
                let segments = 0..=writer;
                let entries =
                    segments.map(|n| described(&format!("{writer}-{n}"), metadata.clone()));
                store.replace(Replace::Matching(of_document), entries.collect()).await.unwrap();
            }
        }
    });
    join_all(replaced).await;
    let writers = store.values("writer", None).await.unwrap();
    assert_eq!(writers.len(), 1, "{writers:?}");
    let writer = writers[0].as_integer().unwrap();
    assert_eq!(store.count().await.unwrap(), writer.unsigned_abs() + 1);
}

/// The first of several writers defines the number of dimensions.
#[tokio::test(flavor = "multi_thread")]
async fn first_entry_defines_the_dimensions() {
    let Some(server) = server::with_vectors() else { return };
    let store = ready(builder(server, &table())).await;
    let added = (1..=8_usize).map(|dimensions| {
        let store = &store;
        async move {
            let entry = entry(&format!("{dimensions}"), &vec![1.0; dimensions], "x");
            store.add(vec![entry]).await.map_err(|error| error.kind())
        }
    });
    let outcomes = join_all(added).await;
    let added: Vec<_> = (1..=8).filter(|at| outcomes[at - 1].is_ok()).collect();
    assert_eq!(added.len(), 1, "{outcomes:?}");
    let rejected = outcomes.iter().filter(|it| **it == Err(ErrorKind::InvalidRequest)).count();
    assert_eq!(rejected, 7, "{outcomes:?}");
    assert_eq!(nearest(&store, &vec![1.0; added[0]], None).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn index_is_used_and_finds_the_nearest() {
    let Some(server) = server::with_vectors() else { return };
    let table = table();
    let index = VectorIndex::Hnsw(HnswOptions::new());
    let store = ready(builder(server, &table).dimensions(2).index(index)).await;
    let angles = (0..3_000_u16).map(|number| (number, f32::from(number) / 2_000.0));
    let entries = angles
        .map(|(number, angle)| entry(&format!("{number:04}"), &[angle.cos(), angle.sin()], "x"));
    store.add(entries.collect()).await.unwrap();
    let scans =
        format!("SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = '{table}_nearest'");
    // The statistics make the server prefer the index.
    drop(server.psql("postgres", &format!("ANALYZE {table}")));
    let found = store.search(&VectorSearch::new(&[1.0, 0.0]).max_results(5)).await.unwrap();
    assert_eq!(ids(&found), ["0000", "0001", "0002", "0003", "0004"]);
    let found = store.search(&VectorSearch::new(&[1.0, 0.0]).max_results(100)).await.unwrap();
    assert_eq!(found.len(), 100, "more candidates than pgvector examines by default");
    // The server updates the statistics when the session ends.
    drop(store);
    let is_used = || server.psql("postgres", &scans).parse::<u32>().unwrap() > 0;
    assert!(ai_services_tests::servers::process::poll(std::time::Duration::from_secs(10), is_used));
}

#[tokio::test(flavor = "multi_thread")]
async fn crash_leaves_old_or_new_entries() {
    let Some(server) = server::with_vectors() else { return };
    for (point, expected) in [
        ("postgres.embedding.locked:1", Remaining::Old),
        ("postgres.embedding.removed:1", Remaining::Old),
        ("postgres.embedding.added:1", Remaining::Old),
        ("postgres.embedding.added:2", Remaining::Old),
        ("postgres.embedding.committed:1", Remaining::New),
    ] {
        let table = table();
        let store = ready(builder(server, &table)).await;
        crash::begin(&store).await;
        crash::kill_at(point, &format!("{}|{table}", server.url()));
        assert_eq!(crash::remaining(&store).await, expected, "{point}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn store_survives_a_server_restart() {
    if server::with_vectors().is_none() {
        return;
    }
    let mut server = server::start().unwrap();
    drop(server.psql("postgres", "CREATE EXTENSION vector"));
    let store = ready(builder(&server, "entries")).await;
    crash::begin(&store).await;
    server.kill9();
    server.restart();
    assert_eq!(crash::remaining(&store).await, Remaining::Old);
}
