//! Connections, and creation of the tables.

use super::{builder, open, server, session, table, turn};
use ai_services::ErrorKind;
use ai_services::memory::{Change, ChatMemoryStore, ConversationStore, MemoryId};
use ai_services::store::cassandra::{
    CassandraChatMemoryStore, CassandraChatMemoryStoreBuilder, CassandraConsistency,
};
use futures_util::future::join_all;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

fn append(number: usize) -> Change {
    Change::advance(None, 0..0, turn(number))
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_schema_can_be_created_concurrently() {
    let Some(server) = server::shared() else { return };
    let builder = builder(server).keyspace("created_at_once");
    let stores = join_all((0..6).map(|_| builder.clone().connect())).await;
    let stores: Vec<_> = stores.into_iter().map(|store| store.unwrap()).collect();
    for created in join_all(stores.iter().map(|store| store.ensure_schema())).await {
        created.unwrap();
    }
    let id = MemoryId::from("klaus");
    stores[0].commit(&id, append(1)).await.unwrap();
    stores[1].ensure_schema().await.unwrap();
    assert_eq!(stores[2].get_messages(&id).await.unwrap(), turn(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_missing_tables_are_reported() {
    let Some(server) = server::shared() else { return };
    for keyspace in ["stores", "missing"] {
        let store = builder(server).keyspace(keyspace).connect().await.unwrap();
        let error = store.load(&"klaus".into()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
        assert!(error.to_string().contains("ensure_schema"), "{error}");
    }
    // The store works once the tables exist.
    let store = builder(server).connect().await.unwrap();
    store.load(&"klaus".into()).await.unwrap_err();
    store.ensure_schema().await.unwrap();
    store.commit(&"klaus".into(), append(1)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_tables_of_other_versions_are_rejected() {
    let Some(server) = server::shared() else { return };
    let builder = builder(server);
    let store = open(builder.clone()).await;
    let meta = table(&store).replace("_messages", "_meta");
    let raw = session(server).await;
    for (version, advice) in [(4, "update ai-services"), (1, "drop them"), (-1, "another program")]
    {
        let update =
            format!("UPDATE {meta} SET value = {version} WHERE name = 'version' IF EXISTS");
        raw.query_unpaged(update, ()).await.unwrap();
        let store = builder.clone().connect().await.unwrap();
        for error in [
            store.ensure_schema().await.unwrap_err(),
            store.load(&"klaus".into()).await.unwrap_err(),
            store.commit(&"klaus".into(), append(1)).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(error.to_string().contains(advice), "{error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_session_of_the_application_is_used() {
    let Some(server) = server::shared() else { return };
    let own = session(server).await;
    let builder = || builder(server).contact_points(Vec::<String>::new()).session(own.clone());
    let (one, two) = (open(builder()).await, open(builder()).await);
    let id = MemoryId::from("klaus");
    one.commit(&id, append(1)).await.unwrap();
    assert_eq!(one.clone().get_messages(&id).await.unwrap(), turn(1));
    assert_eq!(two.get_messages(&id).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_global_consistency_works() {
    let Some(server) = server::shared() else { return };
    let builder = builder(server).consistency(CassandraConsistency::Global);
    let store = open(builder.local_datacenter("datacenter1")).await;
    store.commit(&"klaus".into(), append(1)).await.unwrap();
    assert_eq!(store.get_messages(&"klaus".into()).await.unwrap(), turn(1));
    assert_eq!(store.conversations(None, 10).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_unknown_data_center_is_rejected() {
    let Some(server) = server::shared() else { return };
    let error = builder(server).local_datacenter("nowhere").connect().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("`datacenter1`"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_unreachable_cluster_is_reported() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let free = ai_services_tests::servers::free_port();
    let free = format!("127.0.0.1:{free}");
    for (address, kind) in [
        (free, ErrorKind::Connection),
        ("no-such-host.invalid:9042".to_owned(), ErrorKind::Connection),
        (silent.local_addr().unwrap().to_string(), ErrorKind::Timeout),
    ] {
        let began = Instant::now();
        let error = at(&address).connect_timeout(Duration::from_millis(500)).connect().await;
        let error = error.unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        let is_expected = error.kind() == kind || error.kind() == ErrorKind::Connection;
        assert!(is_expected && error.is_retryable(), "{address}: {error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_wrong_password_is_an_authentication_error() {
    let address = server_that_rejects_passwords().await;
    let with = at(&address).user("anna").password("hush-hush");
    for builder in [with, at(&address)] {
        let error = builder.connect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Authentication, "{error}");
        assert!(!format!("{error:?} {error}").contains("hush-hush"));
        assert!(!error.is_retryable());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_killed_node_keeps_acknowledged_commits() {
    let Some(mut server) = server::start() else { return };
    let store = open(builder(&server)).await;
    let id = MemoryId::from("klaus");
    let mut expected = Vec::new();
    for number in 0..5 {
        store.commit(&id, append(number)).await.unwrap();
        expected.extend(turn(number));
    }
    server.kill9();
    let error = store.commit(&id, append(5)).await.unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
    assert!(matches!(error.kind(), ErrorKind::Connection | ErrorKind::Timeout), "{error:?}");
    server.restart();
    // The driver reconnects automatically.
    let deadline = Instant::now() + Duration::from_secs(30);
    let messages = loop {
        match store.get_messages(&id).await {
            Ok(messages) => break messages,
            Err(error) => assert!(Instant::now() < deadline && error.is_retryable(), "{error:?}"),
        }
    };
    assert_eq!(messages, expected);
    store.commit(&id, append(6)).await.unwrap();
}

fn at(address: &str) -> CassandraChatMemoryStoreBuilder {
    CassandraChatMemoryStore::builder().contact_points([address])
}

/// Starts a server that rejects every password, and returns its address.
async fn server_that_rejects_passwords() -> String {
    const SUPPORTED: (u8, &[u8]) = (0x06, &[0, 0]);
    const AUTHENTICATE: (u8, &[u8]) = (0x03, b"\0\x01A");
    // Error "bad credentials", with an empty text.
    const REFUSED: (u8, &[u8]) = (0x00, &[0, 0, 1, 0, 0, 0]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = [0; 9];
                while connection.read_exact(&mut head).await.is_ok() {
                    let length = u16::from_be_bytes([head[7], head[8]]);
                    let mut body = vec![0; length.into()];
                    connection.read_exact(&mut body).await.unwrap();
                    let (code, body) = match head[4] {
                        0x05 => SUPPORTED,
                        0x01 => AUTHENTICATE,
                        _ => REFUSED,
                    };
                    let length = u8::try_from(body.len()).unwrap();
                    let answer = [0x84, 0, head[2], head[3], code, 0, 0, 0, length];
                    connection.write_all(&[&answer, body].concat()).await.unwrap();
                }
            });
        }
    });
    address
}
