//! Settings, schemas, and errors of incomplete installations.

use super::{builder, prefix, raw, ready};
use ai_services::memory::{
    Change, ChatMemoryStore, ConversationLeases, ConversationStore, LeaseOptions, LeaseToken,
    MemoryId,
};
use ai_services::message::ChatMessage;
use ai_services::store::postgres::deadpool_postgres::{Manager, Pool};
use ai_services::store::postgres::rustls::pki_types::CertificateDer;
use ai_services::store::postgres::rustls::pki_types::pem::PemObject;
use ai_services::store::postgres::rustls::{ClientConfig, RootCertStore};
use ai_services::store::postgres::tokio_postgres::NoTls;
use ai_services::store::postgres::{PostgresChatMemoryStore, tokio_postgres};
use ai_services::{Error, ErrorKind};
use ai_services_tests::servers::postgres::{self as server, Postgres};
use ai_services_tests::servers::{free_port, installed};
use futures_util::future::join_all;
use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

fn klaus() -> MemoryId {
    MemoryId::from("klaus")
}

fn message() -> Vec<ChatMessage> {
    vec![ChatMessage::user("a")]
}

async fn rejected(store: &PostgresChatMemoryStore) -> Error {
    let error = store.update_messages(&klaus(), &message()).await.unwrap_err();
    assert!(!format!("{error:?}{error}").contains("canary"), "{error:?}");
    error
}

#[tokio::test(flavor = "multi_thread")]
async fn schema_can_be_created_concurrently() {
    let Some(server) = server::shared() else { return };
    let prefix = prefix();
    let stores: Vec<_> = (0..8)
        .map(|_| builder(server, &prefix).schema(format!("s_{prefix}")).build().unwrap())
        .collect();
    let outcomes = join_all(stores.iter().flat_map(|it| [it.ensure_schema(), it.ensure_schema()]));
    for outcome in outcomes.await {
        outcome.unwrap();
    }
    stores[0].update_messages(&klaus(), &message()).await.unwrap();
    assert_eq!(stores[1].get_messages(&klaus()).await.unwrap(), message());
}

#[tokio::test(flavor = "multi_thread")]
async fn newer_schema_is_rejected() {
    let Some(server) = server::shared() else { return };
    let prefix = prefix();
    let store = ready(builder(server, &prefix)).await;
    let raw = raw(server).await;
    for (version, advice) in [("99", "update"), ("-1", "another"), ("NULL", "another")] {
        let sql = match version {
            "NULL" => format!("DELETE FROM {prefix}_layout"),
            version => format!("UPDATE {prefix}_layout SET version = {version}"),
        };
        raw.execute(&sql, &[]).await.unwrap();
        let error = store.ensure_schema().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.to_string().contains(advice), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_the_first_layout_are_migrated() {
    let Some(server) = server::shared() else { return };
    let prefix = prefix();
    let store = ready(builder(server, &prefix)).await;
    store.update_messages(&klaus(), &message()).await.unwrap();
    let to_first = format!(
        "ALTER TABLE {prefix}_conversations RENAME COLUMN last_updated TO last_used;
         ALTER TABLE {prefix}_conversations DROP COLUMN commits, DROP COLUMN oldest,
            DROP COLUMN second_oldest, ADD COLUMN token bigint NOT NULL DEFAULT 7;
         ALTER TABLE {prefix}_messages ADD COLUMN token bigint NOT NULL DEFAULT 7;
         ALTER TABLE {prefix}_history ADD COLUMN token bigint NOT NULL DEFAULT 7;
         ALTER TABLE {prefix}_leases DROP COLUMN begins;
         INSERT INTO {prefix}_leases VALUES (1, now() + interval '1 hour', '\\x00');
         DROP TABLE {prefix}_journals, {prefix}_journal_rows;
         UPDATE {prefix}_layout SET version = 1"
    );
    raw(server).await.batch_execute(&to_first).await.unwrap();

    let store = ready(builder(server, &prefix).leases(LeaseOptions::new())).await;
    assert_eq!(store.get_messages(&klaus()).await.unwrap(), message());
    store.update_messages(&klaus(), &[]).await.unwrap();
    assert_eq!(store.get_messages(&klaus()).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn up_to_date_schema_needs_no_privileges() {
    let Some(server) = server::shared() else { return };
    let (prefix, raw) = (prefix(), raw(server).await);
    let role = format!("role_{prefix}");
    let open = || {
        builder(server, &prefix)
            .schema("user")
            .url(server.url().replace("postgres@", &format!("{role}@")))
    };
    raw.batch_execute(&format!("CREATE ROLE {role} LOGIN")).await.unwrap();
    let error = open().build().unwrap().ensure_schema().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Authentication, "{error}");
    ready(builder(server, &prefix).schema("user")).await;
    let grant = format!(
        "GRANT USAGE ON SCHEMA \"user\" TO {role}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \"user\" TO {role}"
    );
    raw.batch_execute(&grant).await.unwrap();
    let store = ready(open()).await;
    store.update_messages(&klaus(), &message()).await.unwrap();
    store.delete_messages(&klaus()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_tables_and_databases_are_reported() {
    let Some(server) = server::shared() else { return };
    let store = builder(server, "missing").build().unwrap();
    let errors = [
        store.load(&klaus()).await.unwrap_err(),
        rejected(&store).await,
        rejected(&builder(server, "missing").schema("missing").build().unwrap()).await,
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
        assert!(error.to_string().contains("call `ensure_schema`"), "{error}");
    }
    let url = server.url().replace("/postgres", "/nowhere").replace("//nowhere", "//postgres");
    let error = rejected(&builder(server, "missing").url(url).build().unwrap()).await;
    assert!(error.to_string().contains("nowhere"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Configuration);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_password_is_not_in_the_error() {
    let Some(server) = server::start() else { return };
    let raw = raw(&server).await;
    raw.batch_execute("CREATE ROLE klaus LOGIN PASSWORD 'right'").await.unwrap();
    let file: String = raw.query_one("SHOW hba_file", &[]).await.unwrap().get(0);
    let rules = "COPY (VALUES ('host all postgres 127.0.0.1/32 trust'), ('host all all 127.0.0.1/32 scram-sha-256')) TO";
    raw.batch_execute(&format!("{rules} '{file}'; SELECT pg_reload_conf()")).await.unwrap();
    // The postmaster reads the new rules before it accepts a later connection.
    let open = |user: &str| {
        let url = server.url().replace("postgres@", &format!("{user}@"));
        builder(&server, "secret").url(url).build().unwrap()
    };
    let needs_password =
        async || rejected(&open("klaus")).await.kind() == ErrorKind::Authentication;
    let limit = Instant::now() + Duration::from_secs(5);
    while !needs_password().await {
        assert!(Instant::now() < limit, "the server does not require a password");
    }
    let began = Instant::now();
    for user in ["klaus:canary", "canary:canary", "klaus"] {
        let error = open(user).load(&klaus()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Authentication, "{error:?}");
        assert!(!format!("{error:?}{error}").contains(":canary"), "{error:?}");
    }
    assert!(began.elapsed() < Duration::from_secs(5), "the authentication was retried");
    let store = open("klaus:right");
    assert_eq!(store.load(&klaus()).await.unwrap_err().kind(), ErrorKind::Configuration);
    assert!(!format!("{store:?}{:?}", builder(&server, "x")).contains("right"));
}

#[tokio::test(flavor = "multi_thread")]
async fn unreachable_server_is_a_connection_error() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let began = Instant::now();
    for port in [free_port(), silent.local_addr().unwrap().port()] {
        let url = format!("postgres://klaus:canary@127.0.0.1:{port}/x");
        let store = PostgresChatMemoryStore::builder().url(url);
        let store = store.connect_timeout(Duration::from_millis(500)).build().unwrap();
        let error = rejected(&store).await;
        assert_eq!(error.kind(), ErrorKind::Connection, "{error:?}");
        assert!(error.is_retryable());
    }
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread")]
async fn locked_conversation_is_a_timeout_without_a_write() {
    let Some(server) = server::shared() else { return };
    let prefix = prefix();
    let limit = Duration::from_millis(200);
    let store = ready(builder(server, &prefix).operation_timeout(limit).pool_size(1)).await;
    store.update_messages(&klaus(), &message()).await.unwrap();
    let version = store.load(&klaus()).await.unwrap().version();
    let raw = raw(server).await;
    raw.batch_execute(&format!("BEGIN; SELECT * FROM {prefix}_conversations FOR UPDATE"))
        .await
        .unwrap();
    let change = || Change::advance(version, 0..1, message());
    let error = store.commit(&klaus(), change()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    raw.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(store.load(&klaus()).await.unwrap().version(), version);
    store.commit(&klaus(), change()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn exhausted_pool_is_a_timeout() {
    let Some(server) = server::shared() else { return };
    let prefix = prefix();
    let store = builder(server, &prefix).wait_timeout(Duration::from_millis(100)).pool_size(1);
    let store = ready(store).await;
    store.update_messages(&klaus(), &message()).await.unwrap();
    let raw = raw(server).await;
    raw.batch_execute(&format!("BEGIN; SELECT * FROM {prefix}_conversations FOR UPDATE"))
        .await
        .unwrap();
    let (first, second) = (klaus(), MemoryId::from("anna"));
    let blocked = store.update_messages(&first, &[]);
    let waiting = async {
        let error = store.load(&second).await.unwrap_err();
        raw.batch_execute("ROLLBACK").await.unwrap();
        error
    };
    let (blocked, error) = tokio::join!(blocked, waiting);
    blocked.unwrap();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.to_string().contains("pool_size"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pool_of_the_application_is_used() {
    let Some(server) = server::shared() else { return };
    let manager = Manager::new(server.url().parse().unwrap(), NoTls);
    let pool = Pool::builder(manager).max_size(1).build().unwrap();
    let store = PostgresChatMemoryStore::from_pool(pool.clone()).unwrap();
    store.ensure_schema().await.unwrap();
    store.update_messages(&klaus(), &message()).await.unwrap();
    // The application discards all prepared statements of the only connection.
    pool.get().await.unwrap().batch_execute("DISCARD ALL").await.unwrap();
    assert_eq!(store.get_messages(&klaus()).await.unwrap(), message());
    store.update_messages(&klaus(), &[]).await.unwrap();
    pool.close();
    assert_eq!(rejected(&store).await.kind(), ErrorKind::Configuration);
}

#[tokio::test(flavor = "multi_thread")]
async fn recreated_tables_are_found() {
    let Some(server) = server::shared() else { return };
    let prefix = prefix();
    let store = ready(builder(server, &prefix)).await;
    store.update_messages(&klaus(), &message()).await.unwrap();
    let tables =
        ["conversations", "messages", "history", "leases", "journals", "journal_rows", "layout"];
    let drop: String = tables.iter().map(|it| format!("DROP TABLE {prefix}_{it};")).collect();
    raw(server).await.batch_execute(&drop).await.unwrap();
    store.ensure_schema().await.unwrap();
    assert_eq!(store.get_messages(&klaus()).await.unwrap(), []);
    store.update_messages(&klaus(), &message()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_are_taken_literally() {
    let Some(server) = server::shared() else { return };
    let store = ready(builder(server, &prefix())).await;
    let long = "🦀'\0".repeat(8192 / 6);
    let ids = [
        "'; DROP TABLE ai_services_messages; --",
        "\" OR 1=1",
        "$1",
        "\\x00",
        "\\",
        "a\0b",
        "a",
        "%",
        "_",
        "{conversations}",
        "/*",
        "\u{feff}",
        "\u{202e}",
        "é",
        "e\u{301}",
        &long,
    ];
    for id in ids {
        store.update_messages(&id.into(), &[ChatMessage::user(id)]).await.unwrap();
    }
    for id in ids {
        assert_eq!(store.get_messages(&id.into()).await.unwrap(), [ChatMessage::user(id)]);
    }
    let mut listed = Vec::new();
    while let Some(last) = store.conversations(listed.last(), 1).await.unwrap().pop() {
        listed.push(last.id);
    }
    listed.sort();
    let mut expected = ids.map(MemoryId::from).to_vec();
    expected.sort();
    assert_eq!(listed, expected);
}

#[test]
fn invalid_settings_are_errors_without_secrets() {
    let good = || PostgresChatMemoryStore::builder().url("postgres://localhost/x");
    let zero = Duration::ZERO;
    let mut builders = vec![
        PostgresChatMemoryStore::builder(),
        good().pool_size(0),
        good().connect_timeout(zero),
        good().wait_timeout(zero),
        good().operation_timeout(zero),
        PostgresChatMemoryStore::builder().config(tokio_postgres::Config::new()),
    ];
    for name in ["", "a b", "a;b", "A", "a\"b", "a'b", "1a", "é", &"a".repeat(49)] {
        builders.extend([good().table_prefix(name), good().schema(name)]);
    }
    for url in [
        "canary",
        "http://canary",
        "postgres://u:canary/x@localhost:canary/y",
        "postgres://u:canary@h:x/y",
        "postgres://u:canary@h/y?canary=1",
        "host=h password=canary port=canary",
        "password=canary",
        "postgres://u:canary@h/y?sslmode=verify-full",
        "postgres://u:c%FFanary@h/y?connect_timeout=canary",
    ] {
        builders.push(PostgresChatMemoryStore::builder().url(url));
    }
    for builder in builders {
        let text = format!("{builder:?}");
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
        assert!(!format!("{text}{error:?}{error}").contains("canary"), "{text} {error:?}");
    }
}

/// Enables TLS with a self-signed certificate on the server, and returns the certificate.
async fn enable_tls(server: &Postgres) -> Option<Vec<u8>> {
    let program = Command::new("openssl").arg("version").output().ok();
    installed(program, "OpenSSL", "openssl")?;
    let raw = raw(server).await;
    let openssl = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
                   -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
                   -addext basicConstraints=critical,CA:FALSE \
                   -keyout server.key -out server.crt 2> /dev/null && chmod 600 server.key";
    let make = format!("COPY (SELECT 1) TO PROGRAM '{openssl}'");
    for sql in [&make, "ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()"] {
        raw.batch_execute(sql).await.unwrap();
    }
    let certificate = "SELECT pg_read_binary_file('server.crt')";
    Some(raw.query_one(certificate, &[]).await.unwrap().get(0))
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_requires_a_trusted_certificate() {
    let Some(server) = server::start() else { return };
    let Some(certificate) = enable_tls(&server).await else { return };
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&certificate).unwrap()).unwrap();
    let provider = ai_services::store::postgres::rustls::crypto::ring::default_provider();
    let tls = ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let url = |mode: &str| format!("{}?sslmode={mode}", server.url());
    let untrusting = || builder(&server, "tls").url(url("require")).build().unwrap();
    // Until the postmaster has reloaded its configuration, the server rejects TLS with another error.
    let mut error = rejected(&untrusting()).await;
    let limit = Instant::now() + Duration::from_secs(5);
    while error.to_string().contains("does not support TLS") && Instant::now() < limit {
        error = rejected(&untrusting()).await;
    }
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.to_string().contains("certificate"), "{error}");
    let store = ready(builder(&server, "tls").url(url("require")).tls(tls)).await;
    store.update_messages(&klaus(), &message()).await.unwrap();
    let count = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                 WHERE ssl AND application_name = 'ai-services'";
    assert_eq!(raw(&server).await.query_one(count, &[]).await.unwrap().get::<_, i64>(0), 1);
    let store = builder(&server, "tls").url(url("disable")).build().unwrap();
    assert_eq!(store.get_messages(&klaus()).await.unwrap(), message());
}

#[tokio::test(flavor = "multi_thread")]
async fn lease_expires_if_the_clock_is_set_back() {
    let Some(server) = server::shared() else { return };
    let prefix = prefix();
    let store = ready(builder(server, &prefix).leases(LeaseOptions::new())).await;
    let (lost, next) = (LeaseToken::new(), LeaseToken::new());
    assert!(store.acquire(&klaus(), lost).await.unwrap());
    assert!(!store.acquire(&klaus(), next).await.unwrap());
    // The times of a clock that was an hour ahead.
    let hour = "interval '1 hour'";
    let moved =
        format!("UPDATE {prefix}_leases SET begins = begins + {hour}, ends = ends + {hour}");
    assert_eq!(raw(server).await.execute(&moved, &[]).await.unwrap(), 1);
    assert!(store.acquire(&klaus(), next).await.unwrap());
    assert!(!store.acquire(&klaus(), lost).await.unwrap());
    let change = || Change::advance(None, 0..0, message());
    let error = store.commit(&klaus(), change().with_lease(lost)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    store.commit(&klaus(), change().with_lease(next)).await.unwrap();
}
