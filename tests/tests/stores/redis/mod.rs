//! The Redis store.

mod commits;
mod connections;
mod damage;
mod expiry;
mod journals;
mod proxy;

use super::summaries;
use ai_services::memory::{
    Change, ChatMemoryStore, ConversationStore, EvictedMessages, HistoryPosition, LeaseOptions,
    MemoryId,
};
use ai_services::message::ChatMessage;
use ai_services::store::redis::{RedisChatMemoryStore, RedisChatMemoryStoreBuilder};
use ai_services::testing::stores::StoreSuite;
use ai_services::{Error, ErrorKind};
use ai_services_tests::servers::redis::{self as server, Redis};
use futures_util::future::join_all;
use redis::FromRedisValue;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

/// A builder of a store whose keys no other test uses, and their prefix.
fn builder(server: &Redis) -> (RedisChatMemoryStoreBuilder, String) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let prefix = format!("test-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    (RedisChatMemoryStore::builder().url(server.url()).key_prefix(&prefix), prefix)
}

fn dialogue(numbers: Range<usize>) -> Vec<ChatMessage> {
    numbers.map(|n| ChatMessage::user(format!("{n}"))).collect()
}

fn id() -> MemoryId {
    "klaus".into()
}

fn port(server: &Redis) -> u16 {
    let url = server.url();
    url.trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap()
}

/// A connection that bypasses the store.
struct Raw {
    connection: redis::Connection,
    prefix: String,
}

impl Raw {
    fn of(server: &Redis, prefix: &str) -> Self {
        let client = redis::Client::open(server.url()).unwrap();
        Self { connection: client.get_connection().unwrap(), prefix: prefix.to_owned() }
    }

    fn key(&self, kind: &str, id: &str) -> String {
        format!("{{{}}}:{kind}:{id}", self.prefix)
    }

    fn try_query<T: FromRedisValue>(&mut self, command: &[&[u8]]) -> redis::RedisResult<T> {
        let mut all = redis::Cmd::new();
        command.iter().for_each(|word| {
            all.arg(*word);
        });
        all.query(&mut self.connection)
    }

    fn query<T: FromRedisValue>(&mut self, command: &[&[u8]]) -> T {
        self.try_query(command).unwrap()
    }

    fn run(&mut self, command: &str) {
        let words: Vec<_> = command.split(' ').map(str::as_bytes).collect();
        let _: redis::Value = self.query(&words);
    }

    /// Dumps head, messages and history.
    fn dump(&mut self, id: &str) -> Vec<Vec<u8>> {
        let keys = ["head", "messages", "history"].map(|kind| self.key(kind, id));
        let dumped = keys.iter().map(|key| {
            let dump: Option<Vec<u8>> = self.query(&[b"DUMP", key.as_bytes()]);
            dump.unwrap_or_default()
        });
        dumped.collect()
    }

    fn restore(&mut self, id: &str, dump: &[Vec<u8>]) {
        for (kind, dump) in ["head", "messages", "history"].iter().zip(dump) {
            let key = self.key(kind, id);
            let _: () = self.query(&[b"RESTORE", key.as_bytes(), b"0", dump, b"REPLACE"]);
        }
    }
}

async fn run_suite(
    evicted_messages: EvictedMessages,
    leases: Option<LeaseOptions>,
    configure: impl Fn(RedisChatMemoryStoreBuilder, &Redis) -> RedisChatMemoryStoreBuilder,
) {
    let Some(server) = server::shared() else { return };
    let (builder, prefix) = builder(server);
    let mut builder = configure(builder.evicted_messages(evicted_messages), server);
    if let Some(options) = leases {
        builder = builder.leases(options);
    }
    let store = builder.clone().connect().await.unwrap();
    let second = builder.connect().await.unwrap();
    let suite = StoreSuite::for_conversation_store(store).second(second);
    let suite = suite.evicted_messages(evicted_messages).disposable();
    let (url, its) = (server.url(), prefix.clone());
    let suite = suite.damage(move |id| {
        damage_newest(url.clone(), its.clone(), id, "\"message\":", "\"messagf\":")
    });
    let url = server.url();
    let suite = suite.newer_format(move |id| {
        damage_newest(url.clone(), prefix.clone(), id, "\"v\":1", "\"v\":2")
    });
    let report = suite.run().await;
    assert!(report.is_passed(), "{report}");
    let skipped: Vec<_> = report.skipped().collect();
    assert!(leases.is_none() || skipped.is_empty(), "{skipped:?}");
}

/// Replaces a part of the newest row.
async fn damage_newest(
    url: String,
    prefix: String,
    id: MemoryId,
    part: &str,
    by: &str,
) -> Result<(), ai_services::BoxError> {
    let mut connection = redis::Client::open(url)?.get_connection()?;
    let key = format!("{{{prefix}}}:messages:{id}");
    let newest: Vec<(String, String)> =
        redis::cmd("ZRANGE").arg(&key).arg(-1).arg(-1).arg("WITHSCORES").query(&mut connection)?;
    let (member, score) = &newest[0];
    assert!(member.contains(part), "{member}");
    redis::cmd("ZREM").arg(&key).arg(member).exec(&mut connection)?;
    redis::cmd("ZADD").arg(&key).arg(score).arg(member.replace(part, by)).exec(&mut connection)?;
    Ok(())
}

#[tokio::test]
async fn redis_store_keeps_summaries() {
    let Some(server) = server::shared() else { return };
    for evicted_messages in [EvictedMessages::Delete, EvictedMessages::Keep] {
        let builder = builder(server).0.evicted_messages(evicted_messages);
        let open = async || builder.clone().connect().await.unwrap();
        summaries::run([open().await, open().await], evicted_messages).await;
    }
}

#[tokio::test]
async fn redis_store_without_history_passes() {
    run_suite(EvictedMessages::Delete, None, |builder, _| builder).await;
}

#[tokio::test]
async fn redis_store_with_history_passes() {
    let time_to_live = Duration::from_secs(3600);
    run_suite(EvictedMessages::Keep, None, |builder, _| builder.time_to_live(time_to_live)).await;
}

#[tokio::test]
async fn redis_store_with_leases_passes() {
    let options = LeaseOptions::new().duration(Duration::from_secs(1));
    run_suite(EvictedMessages::Delete, Some(options), |builder, _| builder.connections(1)).await;
}

#[tokio::test]
async fn redis_store_with_resp3_passes() {
    let newer = |builder: RedisChatMemoryStoreBuilder, server: &Redis| {
        builder.url(format!("{}?protocol=resp3", server.url()))
    };
    let options = LeaseOptions::new().duration(Duration::from_secs(1));
    run_suite(EvictedMessages::Keep, Some(options), newer).await;
}

#[tokio::test]
async fn redis_store_without_cache_passes() {
    let options = LeaseOptions::new().duration(Duration::from_secs(1));
    run_suite(EvictedMessages::Keep, Some(options), |builder, _| builder.cache_bytes(0)).await;
}

#[tokio::test]
async fn redis_connection_of_the_application_is_used() {
    let Some(server) = server::shared() else { return };
    let client = redis::Client::open(server.url()).unwrap();
    let manager = client.get_connection_manager().await.unwrap();
    let builder = RedisChatMemoryStore::from_connection_manager(manager);
    let store = builder.key_prefix("manager").connect().await.unwrap();
    store.update_messages(&id(), &dialogue(0..2)).await.unwrap();
    assert_eq!(store.get_messages(&id()).await.unwrap(), dialogue(0..2));
}

#[tokio::test]
async fn redis_concurrent_writers_lose_no_messages() {
    let Some(server) = server::shared() else { return };
    let (builder, _) = builder(server);
    let stores = [builder.clone().connect().await.unwrap(), builder.connect().await.unwrap()];
    let (stores, id) = (&stores, &id());
    join_all((0..40).map(|n| async move {
        let change = Change::advance(None, 0..0, dialogue(n..n + 1));
        stores[n % 2].commit(id, change).await.unwrap();
    }))
    .await;
    let messages = stores[0].get_messages(id).await.unwrap();
    assert_eq!(messages.len(), 40);
    assert!(dialogue(0..40).iter().all(|message| messages.contains(message)));
}

#[tokio::test]
async fn redis_hostile_ids_do_not_collide() {
    let Some(server) = server::shared() else { return };
    let (builder, prefix) = builder(server);
    let store = builder.connect().await.unwrap();
    let mut ids: Vec<String> = [
        "x",
        "x:",
        ":x",
        "head:x",
        "x\r\nFLUSHALL\r\n",
        "*1\r\n$8\r\nFLUSHALL\r\n",
        "\0",
        "x\0",
        "'; return redis.call('FLUSHALL')--",
        "]]..redis.call('FLUSHALL')..[[",
        "{x}",
        "}:head:x",
        "*",
        "?",
        "[a-z]",
        "(x",
        "[x",
        "-",
        "+",
        "\u{202e}x",
        "é",
        "e\u{301}",
        "\u{1f980}",
    ]
    .map(str::to_owned)
    .to_vec();
    ids.push(format!("{{{prefix}}}:head:x"));
    ids.push("x".repeat(8 * 1024));
    for id in &ids {
        let message = ChatMessage::user(id.clone());
        store.update_messages(&id.as_str().into(), &[message]).await.unwrap();
    }
    let mut listed = Vec::new();
    loop {
        let after = listed.last().map(|id: &String| MemoryId::from(id.as_str()));
        let page = store.conversations(after.as_ref(), 3).await.unwrap();
        if page.is_empty() {
            break;
        }
        listed.extend(page.iter().map(|conversation| conversation.id.to_string()));
    }
    ids.sort();
    assert_eq!(listed, ids);
    for id in &ids {
        let messages = store.get_messages(&id.as_str().into()).await.unwrap();
        assert_eq!(messages, [ChatMessage::user(id.clone())], "{id:?}");
    }
}

#[tokio::test]
async fn redis_prefixes_separate_stores() {
    let Some(server) = server::shared() else { return };
    let (one, other) = (builder(server).0, builder(server).0);
    let (one, other) = (one.connect().await.unwrap(), other.connect().await.unwrap());
    one.update_messages(&id(), &dialogue(0..1)).await.unwrap();
    assert_eq!(other.get_messages(&id()).await.unwrap(), []);
    assert_eq!(other.conversations(None, 9).await.unwrap(), []);
    assert_eq!(other.delete_not_updated_since(SystemTime::now()).await.unwrap(), 0);
    other.delete_messages(&id()).await.unwrap();
    assert_eq!(one.get_messages(&id()).await.unwrap(), dialogue(0..1));
}

#[tokio::test]
async fn redis_newer_layout_is_rejected() {
    let Some(server) = server::shared() else { return };
    let (builder, prefix) = builder(server);
    let store = builder.clone().connect().await.unwrap();
    for outcome in join_all((0..10).map(|_| store.ensure_schema())).await {
        outcome.unwrap();
    }
    builder.clone().connect().await.unwrap();
    let mut raw = Raw::of(server, &prefix);
    raw.run(&format!("SET {{{prefix}}}:schema 2"));
    let rejected = |error: Error| {
        assert_eq!(error.kind(), ErrorKind::Store, "{error}");
        assert!(error.to_string().contains("update ai-services"), "{error}");
    };
    rejected(store.ensure_schema().await.unwrap_err());
    rejected(builder.connect().await.unwrap_err());
}

#[tokio::test]
async fn redis_history_page_reads_only_its_rows() {
    let Some(server) = server::shared() else { return };
    let (builder, prefix) = builder(server);
    let keep = EvictedMessages::Keep;
    let store = builder.evicted_messages(keep).connect().await.unwrap();
    store.update_messages(&id(), &dialogue(0..500)).await.unwrap();
    store.commit(&id(), Change::advance(None, 0..490, Vec::new())).await.unwrap();
    // A row that is not on the page may be damaged.
    let mut raw = Raw::of(server, &prefix);
    let key = raw.key("history", "klaus");
    let _: u64 = raw.query(&[b"ZADD", key.as_bytes(), b"1", b"nonsense"]);
    let page = store.history(&id(), HistoryPosition::Newest, 20).await.unwrap();
    let messages: Vec<_> = page.iter().map(|entry| entry.message.clone()).collect();
    assert_eq!(messages, dialogue(480..500));
    assert!(page[9].is_evicted && !page[10].is_evicted);
    let before = HistoryPosition::Before(page[0].position);
    assert_eq!(store.history(&id(), before, 1).await.unwrap()[0].message, dialogue(479..480)[0]);
    assert!(store.history(&id(), HistoryPosition::Oldest, 1).await.is_err());
}
