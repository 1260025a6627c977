//! The Redis store.

mod damage;
mod proxy;

use ai_services::memory::{
    Change, ChatMemoryStore, CommitState, ConversationLeases, ConversationStore, EvictedMessages,
    HistoryPosition, LeaseOptions, LeaseRequest, LeaseToken, MemoryId, RequestId, UnknownCommit,
};
use ai_services::message::ChatMessage;
use ai_services::store::redis::{RedisChatMemoryStore, RedisChatMemoryStoreBuilder};
use ai_services::testing::stores::StoreSuite;
use ai_services::{Error, ErrorKind};
use ai_services_tests::servers::process::poll;
use ai_services_tests::servers::redis::{self as server, Redis};
use futures_util::future::{join, join_all};
use proxy::{Loss, Proxy};
use redis::FromRedisValue;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};

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
async fn redis_store_survives_a_server_crash() {
    let Some(mut server) = server::start() else { return };
    let store = builder(&server).0.connect().await.unwrap();
    store.update_messages(&id(), &dialogue(0..2)).await.unwrap();
    let version = store.load(&id()).await.unwrap().version();

    server.kill9();
    let change = Change::advance(version, 0..0, dialogue(2..3));
    let error = store.commit(&id(), change.clone()).await.unwrap_err();
    let kinds = [ErrorKind::Connection, ErrorKind::UnknownOutcome];
    assert!(kinds.contains(&error.kind()), "{error}");

    server.restart();
    assert_eq!(store.get_messages(&id()).await.unwrap(), dialogue(0..2));
    store.commit(&id(), change).await.unwrap();
    assert_eq!(store.get_messages(&id()).await.unwrap(), dialogue(0..3));
}

#[tokio::test]
async fn redis_broken_connection_is_replaced() {
    let Some(server) = server::start() else { return };
    let (own, prefix) = builder(&server);
    let manager =
        redis::Client::open(server.url()).unwrap().get_connection_manager().await.unwrap();
    let external = RedisChatMemoryStore::from_connection_manager(manager);
    let mut raw = Raw::of(&server, &prefix);
    for builder in [own, external] {
        let store = builder.connect().await.unwrap();
        store.update_messages(&id(), &dialogue(0..1)).await.unwrap();
        for n in 1..3 {
            raw.run("CLIENT KILL TYPE normal SKIPME yes");
            let version = store.load(&id()).await.unwrap().version();
            raw.run("CLIENT KILL TYPE normal SKIPME yes");
            raw.run("SCRIPT FLUSH");
            let change = Change::advance(version, 0..0, dialogue(n..n + 1));
            store.commit(&id(), change).await.unwrap();
        }
        assert_eq!(store.get_messages(&id()).await.unwrap(), dialogue(0..3));
    }
}

/// A store behind a proxy that loses answers, and a second store that uses the server directly.
async fn with_proxy(loss: Loss) -> Option<(RedisChatMemoryStore, Proxy, RedisChatMemoryStore)> {
    let server = server::shared()?;
    let (builder, _) = builder(server);
    let direct = builder.clone().connect().await.unwrap();
    let proxy = Proxy::before(port(server), loss).await;
    let url = server.url().replace(&format!(":{}/", port(server)), &format!(":{}/", proxy.port()));
    let timeout = Duration::from_millis(500);
    let builder = builder.url(url).connections(1).connect_timeout(timeout);
    let store = builder.response_timeout(timeout).connect().await.unwrap();
    Some((store, proxy, direct))
}

/// Loses the answer to a commit, and makes `others` commits with another store before the first one reconnects.
/// Returns the outcome of the commit and the number of stored messages, which were two before.
async fn lost_answer(
    loss: Loss,
    change: impl Fn(Option<u64>) -> Change,
    others: usize,
) -> Option<(ai_services::Result<()>, Vec<ChatMessage>)> {
    let (store, proxy, direct) = with_proxy(loss).await?;
    direct.update_messages(&id(), &dialogue(0..2)).await.unwrap();
    let version = direct.load(&id()).await.unwrap().version();
    proxy.lose_next_answer();
    let id = id();
    let meanwhile = async {
        proxy.lost().await;
        for n in 3..3 + others {
            let change = Change::advance(None, 0..0, dialogue(n..n + 1));
            direct.commit(&id, change).await.unwrap();
        }
        proxy.open();
    };
    let (outcome, ()) = join(store.commit(&id, change(version)), meanwhile).await;
    Some((outcome, direct.get_messages(&id).await.unwrap()))
}

async fn is_applied_once(loss: Loss, change: impl Fn(Option<u64>) -> Change, others: usize) {
    let Some((outcome, messages)) = lost_answer(loss, change, others).await else { return };
    outcome.unwrap();
    assert_eq!(messages, dialogue(0..3 + others));
}

#[tokio::test]
async fn redis_commit_with_lost_answer_is_applied_once() {
    is_applied_once(Loss::Cut, |version| Change::advance(version, 0..0, dialogue(2..3)), 0).await;
}

#[tokio::test]
async fn redis_commit_without_answer_is_applied_once() {
    is_applied_once(Loss::Silence, |version| Change::advance(version, 0..0, dialogue(2..3)), 0)
        .await;
}

#[tokio::test]
async fn redis_commit_is_found_behind_other_commits() {
    for others in [5, 31] {
        let change = |version| Change::advance(version, 0..0, dialogue(2..3));
        is_applied_once(Loss::Cut, change, others).await;
        is_applied_once(Loss::Cut, |_| change(None), others).await;
    }
}

#[tokio::test]
async fn redis_commit_behind_32_others_has_an_unknown_outcome() {
    for change in [
        |version| Change::advance(version, 0..0, dialogue(2..3)),
        |_| Change::advance(None, 0..0, dialogue(2..3)),
        |version| Change::replace(version, dialogue(0..3).into()),
    ] {
        let Some((outcome, messages)) = lost_answer(Loss::Cut, change, 32).await else { return };
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownOutcome, "{error}");
        assert_eq!(messages, dialogue(0..35), "it was applied once");
    }
}

#[tokio::test]
async fn redis_commit_on_broken_connection_is_found_by_its_request() {
    let Some((store, proxy, direct)) = with_proxy(Loss::Cut).await else { return };
    let change = |name| {
        let change = Change::advance(Some(0), 0..0, dialogue(0..1));
        change.with_request(RequestId::new(name).unwrap())
    };
    proxy.lose_next_answer();
    // The proxy does not permit another connection.
    let error = store.commit(&id(), change("sent")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownOutcome, "{error}");
    assert!(!error.is_retryable());
    let UnknownCommit { id, request, cause, .. } = error.detail().unwrap();
    assert_eq!((request.as_str(), cause.kind()), ("sent", ErrorKind::Connection), "{error}");
    assert_eq!(direct.commit_state(id, request).await.unwrap(), CommitState::Committed);

    let error = store.commit(id, change("not sent")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    let request = RequestId::new("not sent").unwrap();
    assert_eq!(direct.commit_state(id, &request).await.unwrap(), CommitState::NotFound);
    assert_eq!(direct.get_messages(id).await.unwrap(), dialogue(0..1));
}

#[tokio::test]
async fn redis_unversioned_commit_is_applied_once() {
    is_applied_once(Loss::Cut, |_| Change::advance(None, 0..0, dialogue(2..3)), 2).await;
    is_applied_once(Loss::Cut, |_| Change::replace(None, dialogue(0..3).into()), 0).await;
}

#[tokio::test]
async fn redis_unreachable_server_is_a_connection_error() {
    let refusing = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = |listener: &std::net::TcpListener| {
        format!("redis://:canary@127.0.0.1:{}/", listener.local_addr().unwrap().port())
    };
    let urls = [url(&refusing), url(&silent), url(&silent).replace("redis:", "rediss:")];
    drop(refusing);
    for url in urls {
        let began = Instant::now();
        let builder = RedisChatMemoryStore::builder().url(&url);
        let timeout = Duration::from_millis(300);
        let error = builder.connect_timeout(timeout).connect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
        assert!(error.is_retryable());
        assert!(began.elapsed() < Duration::from_secs(3));
        assert!(!format!("{error:?}{error}").contains("canary"), "{error:?}");
    }
}

#[tokio::test]
async fn redis_server_without_tls_is_an_error() {
    let Some(server) = server::shared() else { return };
    let url = server.url().replace("redis:", "rediss:");
    let timeout = Duration::from_secs(2);
    let builder = RedisChatMemoryStore::builder().url(url).connect_timeout(timeout);
    let error = builder.connect().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
}

#[tokio::test]
async fn redis_wrong_password_is_not_in_the_error() {
    let Some(server) = server::shared() else { return };
    for user in [":canary@", "canary:canary@", ""] {
        let url = format!("redis://{user}127.0.0.1:{}/", port(server));
        let error = RedisChatMemoryStore::builder().url(url).connect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Authentication, "{error}");
        assert!(!error.is_retryable());
        assert!(!format!("{error:?}{error}").contains("canary"), "{error:?}");
    }
}

#[tokio::test]
async fn redis_server_errors_contain_advice() {
    let Some(server) = server::start() else { return };
    let (builder, prefix) = builder(&server);
    let store = builder.connect().await.unwrap();
    store.update_messages(&id(), &dialogue(0..3)).await.unwrap();
    let mut raw = Raw::of(&server, &prefix);
    let dump = raw.dump("klaus");
    let cases = [
        ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "`maxmemory`", false),
        ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "replica", true),
        (
            "CONFIG SET min-replicas-to-write 1",
            "CONFIG SET min-replicas-to-write 0",
            "`min-replicas-to-write`",
            true,
        ),
    ];
    for (cause, remedy, advice, is_transient) in cases {
        raw.run(cause);
        for change in [
            Change::advance(None, 0..1, dialogue(3..4)),
            Change::replace(None, dialogue(5..6).into()),
        ] {
            let error = store.commit(&id(), change).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Store, "{error}");
            assert!(error.to_string().contains(advice), "{error}");
            assert_eq!(error.is_retryable(), is_transient, "{error}");
            assert_eq!(raw.dump("klaus"), dump);
        }
        assert_eq!(store.get_messages(&id()).await.unwrap(), dialogue(0..3), "{cause}");
        let history = store.history(&id(), HistoryPosition::Oldest, 10).await.unwrap();
        assert_eq!(history.len(), 3, "{cause}");
        assert!(store.conversation(&id()).await.unwrap().is_some(), "{cause}");
        assert!(!store.export_raw(&id()).await.unwrap().is_empty(), "{cause}");
        raw.run(remedy);
    }
    store.update_messages(&id(), &dialogue(0..4)).await.unwrap();
}

/// Runs a server that answers as one that is loading its data.
async fn loading_server() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(answer_while_loading(connection));
        }
    });
    port
}

async fn answer_while_loading(connection: tokio::net::TcpStream) {
    let (mut from, mut to) = connection.into_split();
    let mut lines = tokio::io::BufReader::new(&mut from).lines();
    // A command is `*2`, and a length and a word for each of its two words.
    while let Ok(Some(count)) = lines.next_line().await {
        let count: usize = count.trim_start_matches('*').parse().unwrap();
        let mut words = Vec::new();
        for _ in 0..count {
            lines.next_line().await.unwrap();
            words.push(lines.next_line().await.unwrap().unwrap());
        }
        let answer = match words[0].to_uppercase().as_str() {
            "CLIENT" | "MULTI" => "+OK\r\n",
            "GET" => "$-1\r\n",
            "EXEC" => "-EXECABORT Transaction discarded because of previous errors.\r\n",
            _ => "-LOADING Redis is loading the dataset in memory\r\n",
        };
        if to.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn redis_loading_server_is_retryable() {
    let url = format!("redis://127.0.0.1:{}/", loading_server().await);
    let store = RedisChatMemoryStore::builder().url(url).connect().await.unwrap();
    for error in [
        store.load(&id()).await.map(drop).unwrap_err(),
        store.commit(&id(), Change::advance(None, 0..0, dialogue(0..1))).await.unwrap_err(),
        store.update_messages(&id(), &dialogue(0..1)).await.unwrap_err(),
        store.history(&id(), HistoryPosition::Oldest, 1).await.map(drop).unwrap_err(),
        store.conversation(&id()).await.map(drop).unwrap_err(),
        store.export_raw(&id()).await.map(drop).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Store, "{error}");
        assert!(error.is_retryable() && error.to_string().contains("loading its data"), "{error}");
    }
}

#[tokio::test]
async fn redis_busy_server_is_reported() {
    let Some(server) = server::start() else { return };
    let (builder, prefix) = builder(&server);
    let store = builder.connect().await.unwrap();
    let mut raw = Raw::of(&server, &prefix);
    raw.run("CONFIG SET busy-reply-threshold 1");
    let mut busy = Raw::of(&server, &prefix);
    let script = std::thread::spawn(move || {
        busy.try_query::<redis::Value>(&[b"EVAL", b"while true do end", b"0"]).is_err()
    });
    let is_busy = || raw.try_query::<redis::Value>(&[b"PING"]).is_err();
    assert!(poll(Duration::from_secs(5), is_busy));
    let error = store.load(&id()).await.unwrap_err();
    raw.run("SCRIPT KILL");
    assert!(script.join().unwrap());
    assert_eq!(error.kind(), ErrorKind::Store, "{error}");
    assert!(error.is_retryable() && error.to_string().contains("busy"), "{error}");
}

#[tokio::test]
async fn redis_read_only_user_cannot_commit() {
    let Some(server) = server::shared() else { return };
    let (builder, prefix) = builder(server);
    let owner = builder.clone().connect().await.unwrap();
    owner.update_messages(&id(), &dialogue(0..2)).await.unwrap();
    let mut raw = Raw::of(server, &prefix);
    let (before, user) = (raw.dump("klaus"), format!("reader-{prefix}"));
    raw.run(&format!(
        "ACL SETUSER {user} on >secret ~* +@read +@connection +@scripting +multi +exec"
    ));
    let url = format!("redis://{user}:secret@127.0.0.1:{}/", port(server));
    let reader = builder.url(url).connect().await.unwrap();
    assert_eq!(reader.get_messages(&id()).await.unwrap(), dialogue(0..2));
    let change = Change::advance(None, 0..1, dialogue(2..3));
    let error = reader.commit(&id(), change).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Authentication, "{error}");
    assert_eq!(raw.dump("klaus"), before);
}

#[tokio::test]
async fn redis_key_of_the_wrong_type_prevents_a_commit() {
    let Some(server) = server::shared() else { return };
    for kind in ["head", "messages", "history", "lease", "ids", "used"] {
        let (builder, prefix) = builder(server);
        let keep = EvictedMessages::Keep;
        let store = builder.evicted_messages(keep).connect().await.unwrap();
        store.update_messages(&id(), &dialogue(0..2)).await.unwrap();
        let mut raw = Raw::of(server, &prefix);
        let key = match kind {
            "ids" | "used" => format!("{{{prefix}}}:{kind}"),
            _ => raw.key(kind, "klaus"),
        };
        raw.run(&format!("DEL {key}"));
        raw.run(&format!("RPUSH {key} foreign"));
        let before = raw.dump("klaus");
        let change = Change::advance(None, 0..1, dialogue(2..3));
        let error = store.commit(&id(), change).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Store, "{kind}: {error}");
        assert!(error.to_string().contains("`key_prefix`"), "{kind}: {error}");
        assert_eq!(raw.dump("klaus"), before, "{kind}");
    }
}

#[tokio::test]
async fn redis_conversation_expires_as_a_whole() {
    let Some(server) = server::shared() else { return };
    let (builder, prefix) = builder(server);
    let builder = builder.evicted_messages(EvictedMessages::Keep);
    let hour = Duration::from_secs(3600);
    let store = builder.clone().time_to_live(hour).connect().await.unwrap();
    let mut raw = Raw::of(server, &prefix);
    let mut ends = move || {
        let keys = ["head", "messages", "history"].map(|kind| raw.key(kind, "klaus"));
        keys.map(|key| raw.query::<i64>(&[b"PEXPIRETIME", key.as_bytes()]))
    };
    let now =
        || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as i64;

    let began = now();
    store.update_messages(&id(), &dialogue(0..3)).await.unwrap();
    store.commit(&id(), Change::advance(None, 0..1, dialogue(3..4))).await.unwrap();
    let [head, messages, history] = ends();
    assert!(head == messages && head == history);
    assert!((began + 3_600_000..=now() + 3_600_000).contains(&head), "{head}");

    let longer = builder.clone().time_to_live(2 * hour).connect().await.unwrap();
    longer.commit(&id(), Change::advance(None, 0..0, dialogue(4..5))).await.unwrap();
    let [head, messages, history] = ends();
    assert!(head == messages && head == history && head > began + 7_199_000);

    let forever = builder.connect().await.unwrap();
    forever.commit(&id(), Change::advance(None, 0..0, dialogue(5..6))).await.unwrap();
    assert_eq!(ends(), [-1; 3]);
}

#[tokio::test]
async fn redis_expired_conversation_leaves_the_index() {
    let Some(server) = server::shared() else { return };
    let (builder, prefix) = builder(server);
    let store = builder.time_to_live(Duration::from_millis(1)).connect().await.unwrap();
    let mut raw = Raw::of(server, &prefix);
    let mut indexed = move || {
        let count = |raw: &mut Raw, index| {
            raw.query::<u64>(&[b"ZCARD", format!("{{{prefix}}}:{index}").as_bytes()])
        };
        (count(&mut raw, "ids"), count(&mut raw, "used"))
    };
    for n in 0..5 {
        store.update_messages(&format!("{n}").into(), &dialogue(0..1)).await.unwrap();
    }
    assert_eq!(indexed(), (5, 5));
    while store.conversation(&"4".into()).await.unwrap().is_some() {}
    assert_eq!(store.conversations(None, 2).await.unwrap(), []);
    assert_eq!(indexed(), (0, 0));

    // Commits sweep expired conversations, too.
    for n in 0..200 {
        store.update_messages(&format!("{n}").into(), &dialogue(0..1)).await.unwrap();
    }
    assert!(indexed().1 < 180, "{:?}", indexed());
}

#[tokio::test]
async fn redis_lease_expires_or_ends_with_the_conversation() {
    let Some(server) = server::shared() else { return };
    let (builder, prefix) = builder(server);
    let store = Arc::new(builder.leases(LeaseOptions::new()).connect().await.unwrap());
    let request = LeaseRequest::new(&(store.clone() as Arc<dyn ChatMemoryStore>), &id()).unwrap();
    let lease = request.clone().wait(Duration::ZERO).await.unwrap();
    let mut raw = Raw::of(server, &prefix);
    let key = raw.key("lease", "klaus");
    let left: i64 = raw.query(&[b"PTTL", key.as_bytes()]);
    assert!((25_000..=30_000).contains(&left), "{left}");

    let _: u64 = raw.query(&[b"DEL", key.as_bytes()]);
    let change = Change::advance(None, 0..0, dialogue(0..1)).with_lease(lease.token());
    let error = store.commit(&id(), change.clone()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("lease"), "{error}");
    assert!(store.acquire(&id(), lease.token()).await.unwrap());
    store.commit(&id(), change).await.unwrap();
    assert_eq!(raw.query::<u64>(&[b"EXISTS", key.as_bytes()]), 0);

    assert!(store.acquire(&id(), lease.token()).await.unwrap());
    store.delete_messages(&id()).await.unwrap();
    assert!(request.wait(Duration::ZERO).await.is_ok());
}

#[tokio::test]
async fn redis_lease_expires_if_the_clock_is_set_back() {
    let Some(server) = server::shared() else { return };
    let (builder, prefix) = builder(server);
    let store = builder.leases(LeaseOptions::new()).connect().await.unwrap();
    let (lost, next) = (LeaseToken::new(), LeaseToken::new());
    assert!(store.acquire(&id(), lost).await.unwrap());
    assert!(!store.acquire(&id(), next).await.unwrap());
    // The expiry by a clock that was an hour ahead.
    let mut raw = Raw::of(server, &prefix);
    let key = raw.key("lease", "klaus");
    raw.run(&format!("PEXPIRE {key} 3630000"));
    assert!(store.acquire(&id(), next).await.unwrap());
    assert!(!store.acquire(&id(), lost).await.unwrap());
    let change = || Change::advance(None, 0..0, dialogue(0..1));
    let error = store.commit(&id(), change().with_lease(lost)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    store.commit(&id(), change().with_lease(next)).await.unwrap();
    assert!(store.acquire(&id(), lost).await.unwrap());
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
