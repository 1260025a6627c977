//! Broken connections and crashed servers.

use super::{builder, prefix, raw, ready};
use ai_services::ErrorKind;
use ai_services::memory::{
    Change, ChatMemoryStore, CommitState, MemoryId, RequestId, Snapshot, UnknownCommit,
};
use ai_services::message::ChatMessage;
use ai_services::store::postgres::PostgresChatMemoryStore;
use ai_services_tests::servers::postgres::{self as server, Postgres};
use futures_util::future::join_all;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

/// A proxy in front of the server that breaks a connection at a given chunk of data, once.
pub(super) struct Proxy {
    port: u16,
    pub(super) breakage: Arc<Breakage>,
    task: JoinSet<()>,
}

/// The way in which a proxy breaks a connection.
pub(super) struct Breakage {
    /// Number of request chunks that still pass; negative if the connection does not break.
    pub(super) requests: AtomicI32,
    /// Number of answer chunks that still pass; negative if the connection does not break.
    pub(super) answers: AtomicI32,
    /// Whether the connection stays open without data instead of being closed.
    is_silent: bool,
    /// Gets a permit when a connection breaks.
    pub(super) broken: Semaphore,
    /// Must have a permit before a connection is closed.
    pub(super) may_close: Semaphore,
}

impl Breakage {
    pub(super) fn new(is_silent: bool) -> Self {
        let never = || AtomicI32::new(-1);
        let (broken, may_close) = (Semaphore::new(0), Semaphore::new(0));
        Self { requests: never(), answers: never(), is_silent, broken, may_close }
    }

    /// Returns whether the next chunk is the one that is lost.
    fn is_due(count: &AtomicI32) -> bool {
        let next = |left: i32| (left >= 0).then_some(left - 1);
        count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next) == Ok(0)
    }

    /// Forwards data until the connection ends or breaks.
    async fn forward(&self, client: &mut TcpStream, server: &mut TcpStream) -> std::io::Result<()> {
        let (mut request, mut answer) = (vec![0; 1 << 16], vec![0; 1 << 16]);
        loop {
            tokio::select! {
                count = client.read(&mut request) => {
                    let count = count?;
                    if count == 0 || Self::is_due(&self.requests) {
                        return self.end(count).await;
                    }
                    server.write_all(&request[..count]).await?;
                }
                count = server.read(&mut answer) => {
                    let count = count?;
                    if count == 0 || Self::is_due(&self.answers) {
                        return self.end(count).await;
                    }
                    client.write_all(&answer[..count]).await?;
                }
            }
        }
    }

    async fn end(&self, lost: usize) -> std::io::Result<()> {
        if lost > 0 {
            self.broken.add_permits(1);
            if self.is_silent {
                std::future::pending::<()>().await;
            }
            self.may_close.acquire().await.unwrap().forget();
        }
        Ok(())
    }
}

impl Proxy {
    pub(super) async fn new(server: &Postgres, breakage: Breakage) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = server.url().split(['@', '/']).nth(3).unwrap().to_owned();
        let breakage = Arc::new(breakage);
        let mut task = JoinSet::new();
        let shared = Arc::clone(&breakage);
        task.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                let mut server = TcpStream::connect(&address).await.unwrap();
                let breakage = Arc::clone(&shared);
                connections.spawn(async move {
                    let _ = breakage.forward(&mut client, &mut server).await;
                });
            }
        });
        Self { port, breakage, task }
    }

    /// A store behind this proxy, with one warm connection.
    pub(super) async fn store(&self, server: &Postgres, prefix: &str) -> PostgresChatMemoryStore {
        let url = format!("postgres://postgres@127.0.0.1:{}/postgres", self.port);
        let store = builder(server, prefix).url(url).pool_size(1);
        let store = ready(store.operation_timeout(Duration::from_millis(500))).await;
        for id in ["warm", "warm again"].map(MemoryId::from) {
            add(&store, &id, "a").await;
            store.update_messages(&id, &[user("b")]).await.unwrap();
            store.load(&id).await.unwrap();
        }
        store
    }
}

fn user(text: &str) -> ChatMessage {
    ChatMessage::user(text)
}

fn adding(snapshot: &Snapshot, text: &str) -> Change {
    Change::advance(snapshot.version(), 0..0, vec![user(text)])
}

async fn add(store: &PostgresChatMemoryStore, id: &MemoryId, text: &str) {
    let snapshot = store.load(id).await.unwrap();
    store.commit(id, adding(&snapshot, text)).await.unwrap();
}

async fn texts(store: &PostgresChatMemoryStore, id: &MemoryId) -> Vec<String> {
    let messages = store.get_messages(id).await.unwrap();
    messages.iter().map(|message| message.text().unwrap().to_owned()).collect()
}

/// Checks that commits of every kind are applied once, if the connection breaks at any chunk of data.
async fn is_applied_once(is_silent: bool) {
    let Some(server) = server::shared() else { return };
    let prefix = prefix();
    let proxy = Proxy::new(server, Breakage::new(is_silent)).await;
    proxy.breakage.may_close.add_permits(1000);
    let store = proxy.store(server, &prefix).await;
    let mut breaks = 0;
    for case in 0..(2 * 3 * 7) {
        let (is_answer, kind, chunks) = (case % 2 == 0, case / 2 % 3, case / 6);
        let id = MemoryId::from(format!("{case}"));
        if chunks % 2 == 0 {
            add(&store, &id, "before").await;
        }
        let mut expected = texts(&store, &id).await;
        let version = store.load(&id).await.unwrap().version();
        let change = match kind {
            0 => Change::advance(version, 0..0, vec![user("new")]),
            1 => Change::advance(None, 0..0, vec![user("new")]),
            _ => {
                let all = expected.iter().map(String::as_str).chain(["new"]).map(user);
                Change::replace(version, all.collect())
            }
        };
        expected.push("new".to_owned());
        let count = if is_answer { &proxy.breakage.answers } else { &proxy.breakage.requests };
        count.store(chunks, Ordering::SeqCst);
        store.commit(&id, change).await.unwrap();
        breaks += i32::from(count.swap(-1, Ordering::SeqCst) == -1);
        assert_eq!(texts(&store, &id).await, expected, "kind {kind}, chunk {chunks}, {is_answer}");
    }
    // Seven chunks are tried: a statement has one chunk that can break, a transaction four or five.
    assert!(breaks >= 2 * (1 + 4 + 4), "only {breaks} commits were hit");
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_on_a_closed_connection_is_applied_once() {
    is_applied_once(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_on_a_silent_connection_is_applied_once() {
    is_applied_once(true).await;
}

/// Loses the answer to a commit, and makes other commits, which evict its message, before the connection
/// closes. Returns the outcome of the commit, and the stored texts.
async fn lost_answer(
    change: fn(Option<u64>) -> Change,
    others: usize,
) -> Option<(ai_services::Result<()>, Vec<String>)> {
    let server = server::shared()?;
    let prefix = prefix();
    let proxy = Proxy::new(server, Breakage::new(false)).await;
    let (store, other) =
        (proxy.store(server, &prefix).await, ready(builder(server, &prefix)).await);
    let id = MemoryId::from("klaus");
    add(&store, &id, "first").await;
    let version = store.load(&id).await.unwrap().version();
    // A change without an expected version reads the head first.
    let chunks = if change(version).expected_version().is_some() { 0 } else { 3 };
    proxy.breakage.answers.store(chunks, Ordering::SeqCst);
    let mine = store.commit(&id, change(version));
    let theirs = async {
        proxy.breakage.broken.acquire().await.unwrap().forget();
        for n in 0..others {
            let change = Change::advance(None, 0..2, vec![user(&n.to_string())]);
            other.commit(&id, change).await.unwrap();
        }
        proxy.breakage.may_close.add_permits(1);
    };
    let (mine, ()) = tokio::join!(mine, theirs);
    Some((mine, texts(&other, &id).await))
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_with_lost_answer_is_found_behind_others() {
    for others in [1, 31] {
        for change in [
            |version| Change::advance(version, 0..0, vec![user("mine")]),
            |_| Change::advance(None, 0..0, vec![user("mine")]),
        ] {
            let Some((mine, texts)) = lost_answer(change, others).await else { return };
            mine.unwrap();
            assert_eq!(texts, [(others - 1).to_string()]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_behind_32_others_has_an_unknown_outcome() {
    for change in [
        |version| Change::advance(version, 0..0, vec![user("mine")]),
        |_| Change::advance(None, 0..0, vec![user("mine")]),
    ] {
        let Some((outcome, texts)) = lost_answer(change, 32).await else { return };
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownOutcome, "{error}");
        assert_eq!(texts, ["31"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_on_a_broken_connection_is_found_by_its_request() {
    let Some(server) = server::shared() else { return };
    let prefix = prefix();
    let mut proxy = Proxy::new(server, Breakage::new(false)).await;
    let (store, direct) =
        (proxy.store(server, &prefix).await, ready(builder(server, &prefix)).await);
    let id = MemoryId::from("klaus");
    let change = |name| {
        let change = Change::advance(Some(0), 0..0, vec![user("mine")]);
        change.with_request(RequestId::new(name).unwrap())
    };
    proxy.breakage.answers.store(0, Ordering::SeqCst);
    let lost = async {
        proxy.breakage.broken.acquire().await.unwrap().forget();
        // No connection works any more.
        proxy.task.shutdown().await;
    };
    let (outcome, ()) = tokio::join!(store.commit(&id, change("sent")), lost);
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownOutcome, "{error}");
    assert!(!error.is_retryable());
    let UnknownCommit { request, cause, .. } = error.detail().unwrap();
    assert_eq!((request.as_str(), cause.kind()), ("sent", ErrorKind::Connection), "{error}");
    assert_eq!(direct.commit_state(&id, request).await.unwrap(), CommitState::Committed);

    let error = store.commit(&id, change("not sent")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    let request = RequestId::new("not sent").unwrap();
    assert_eq!(direct.commit_state(&id, &request).await.unwrap(), CommitState::NotFound);
    assert_eq!(texts(&direct, &id).await, ["mine"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_closed_by_the_server_are_replaced() {
    let Some(server) = server::shared() else { return };
    let prefix = prefix();
    let name = format!("{}?application_name={prefix}", server.url());
    let store = ready(builder(server, &prefix).url(name)).await;
    let ids: Vec<_> = (0..4).map(|n| MemoryId::from(n.to_string())).collect();
    join_all(ids.iter().map(|id| add(&store, id, "before"))).await;
    let end =
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = $1";
    assert!(raw(server).await.execute(end, &[&prefix]).await.unwrap() > 0);
    join_all(ids.iter().map(|id| add(&store, id, "after"))).await;
    for id in &ids {
        assert_eq!(texts(&store, id).await, ["before", "after"]);
    }
}

/// Runs one writer. Returns its commits, and whether each was acknowledged.
async fn write(
    store: PostgresChatMemoryStore,
    id: MemoryId,
    acknowledged: mpsc::UnboundedSender<()>,
    rounds: Arc<AtomicU32>,
) -> Vec<(String, bool)> {
    let mut attempts = Vec::new();
    while rounds.load(Ordering::SeqCst) > 0 {
        let Ok(snapshot) = store.load(&id).await else { continue };
        let text = attempts.len().to_string();
        let outcome = store.commit(&id, adding(&snapshot, &text)).await;
        attempts.push((text, outcome.is_ok()));
        match outcome {
            Ok(()) => drop(acknowledged.send(())),
            Err(error) => assert!(error.kind() != ErrorKind::Conflict, "{error}"),
        }
    }
    attempts
}

#[tokio::test(flavor = "multi_thread")]
async fn store_survives_a_server_crash() {
    let Some(mut server) = server::start() else { return };
    let store = ready(builder(&server, "killed")).await;
    let rounds = Arc::new(AtomicU32::new(3));
    let (acknowledged, mut acknowledgements) = mpsc::unbounded_channel();
    let ids: Vec<_> = (0..8).map(|n| MemoryId::from(n.to_string())).collect();
    let mut writers = JoinSet::new();
    for id in ids.clone() {
        let writing = write(store.clone(), id.clone(), acknowledged.clone(), Arc::clone(&rounds));
        writers.spawn(async move { (id, writing.await) });
    }
    while rounds.fetch_sub(1, Ordering::SeqCst) > 1 {
        for _ in 0..100 {
            acknowledgements.recv().await.unwrap();
        }
        tokio::task::block_in_place(|| {
            server.kill9();
            server.restart();
        });
        while acknowledgements.try_recv().is_ok() {}
    }
    for (id, attempts) in writers.join_all().await {
        let stored = texts(&store, &id).await;
        let mut rest = stored.iter();
        for (text, is_acknowledged) in attempts {
            match rest.as_slice().first() {
                Some(next) if *next == text => drop(rest.next()),
                _ => assert!(!is_acknowledged, "{text} of {id} is lost: {stored:?}"),
            }
        }
        assert_eq!(rest.len(), 0, "{id} has messages that were not written: {stored:?}");
    }
}
