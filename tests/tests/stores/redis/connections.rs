//! Connections, and servers that are down, busy or reject requests.

use super::{Raw, builder, dialogue, id, port};
use ai_services::ErrorKind;
use ai_services::memory::{
    Change, ChatMemoryStore, ConversationStore, EvictedMessages, HistoryPosition,
};
use ai_services::store::redis::RedisChatMemoryStore;
use ai_services_tests::servers::process::poll;
use ai_services_tests::servers::redis as server;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};

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
    let shared = ["ids", "used", "journals"];
    for kind in ["head", "messages", "history", "lease", "journal"].into_iter().chain(shared) {
        let (builder, prefix) = builder(server);
        let keep = EvictedMessages::Keep;
        let store = builder.evicted_messages(keep).connect().await.unwrap();
        store.update_messages(&id(), &dialogue(0..2)).await.unwrap();
        let mut raw = Raw::of(server, &prefix);
        let key = if shared.contains(&kind) {
            format!("{{{prefix}}}:{kind}")
        } else {
            raw.key(kind, "klaus")
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
