//! Journals of open turns: broken connections, damaged rows, and tables without journals.

use super::proxy::{Cut, Proxy};
use super::{builder, open, server, session, table, turn};
use ai_services::ErrorKind;
use ai_services::memory::{
    Change, ChatMemoryStore, ConversationStore, JournalPosition, MemoryId, TurnId, TurnJournals,
    UnreadableRecord,
};
use ai_services::store::cassandra::CassandraChatMemoryStore;
use futures_util::future::join_all;

fn texts<const N: usize>(records: [&str; N]) -> Vec<String> {
    records.map(str::to_owned).to_vec()
}

async fn records(store: &CassandraChatMemoryStore, id: &MemoryId) -> Vec<String> {
    store.journal(id).await.unwrap().map(|journal| journal.records).unwrap_or_default()
}

async fn open_journal(store: &CassandraChatMemoryStore, id: &MemoryId) -> JournalPosition {
    let start = JournalPosition::start(TurnId::new());
    store.append(id, start, &texts(["a", "b"]), None).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_journal_on_broken_connection_is_written_once() {
    let Some(server) = server::shared() else { return };
    let builder = builder(server);
    let direct = open(builder.clone()).await;
    let proxy = Proxy::to(server.address()).await;
    let store = builder.contact_points([&proxy.address]).connect().await.unwrap();
    for when in [Cut::BeforeRequest, Cut::BeforeAnswer, Cut::AfterUnreadableAnswer] {
        let id = MemoryId::from(&(when as u8));
        proxy.cut(when);
        let position = open_journal(&store, &id).await;
        proxy.cut(when);
        let position = store.append(&id, position, &texts(["c"]), None).await.unwrap();
        assert_eq!(records(&direct, &id).await, ["a", "b", "c"]);
        proxy.cut(when);
        let change = Change::advance(Some(0), 0..0, turn(1)).closing(position);
        store.commit(&id, change).await.unwrap();
        assert_eq!(direct.get_messages(&id).await.unwrap(), turn(1));
        assert_eq!(direct.load(&id).await.unwrap().journal(), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_append_with_lost_answer_behind_another_has_an_unknown_outcome() {
    let Some(server) = server::shared() else { return };
    let builder = builder(server);
    let direct = open(builder.clone()).await;
    let proxy = Proxy::to(server.address()).await;
    let store = builder.contact_points([&proxy.address]).connect().await.unwrap();
    let (id, start) = (MemoryId::from("klaus"), JournalPosition::start(TurnId::new()));
    proxy.hold(Cut::BeforeAnswer);
    let mine = texts(["mine"]);
    let mine = store.append(&id, start, &mine, None);
    let theirs = async {
        proxy.reached().await;
        direct.append(&id, start.advanced(1), &texts(["theirs"]), None).await.unwrap();
        proxy.release();
    };
    let (mine, ()) = tokio::join!(mine, theirs);
    assert_eq!(mine.unwrap_err().kind(), ErrorKind::UnknownOutcome);
    assert_eq!(records(&direct, &id).await, ["mine", "theirs"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_discarded_journal_of_an_unknown_id_leaves_no_row() {
    let Some(server) = server::shared() else { return };
    let store = open(builder(server)).await;
    let id = MemoryId::from("klaus");
    let position = open_journal(&store, &id).await;
    store.discard(&id, position).await.unwrap();
    let select = format!("SELECT DISTINCT id FROM {}", table(&store));
    let rows = session(server).await.query_unpaged(select, ()).await.unwrap();
    assert_eq!(rows.into_rows_result().unwrap().rows_num(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_journal_longer_than_a_page_is_read() {
    let Some(server) = server::shared() else { return };
    let store = open(builder(server)).await;
    let id = MemoryId::from("klaus");
    let position = open_journal(&store, &id).await;
    let more: Vec<_> = (0..600).map(|number| number.to_string()).collect();
    store.append(&id, position, &more, None).await.unwrap();
    assert_eq!(records(&store, &id).await, [texts(["a", "b"]), more].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_damaged_journal_is_reported_and_does_not_stop_loads() {
    let Some(server) = server::shared() else { return };
    let store = open(builder(server)).await;
    let (raw, table, id) = (session(server).await, table(&store), MemoryId::from("klaus"));
    store.commit(&id, Change::advance(None, 0..0, turn(1))).await.unwrap();
    let record = |number| format!("id = 'klaus' AND kind = 3 AND number = {number}");
    let turn_id = TurnId::new();
    for damage in [
        format!("UPDATE {table} SET record = '1 00000000 0000000000000000 a' WHERE {}", record(1)),
        format!("UPDATE {table} SET record = '2' WHERE {}", record(2)),
        format!("DELETE FROM {table} WHERE {}", record(1)),
        format!("DELETE FROM {table} WHERE {}", record(2)),
        format!("UPDATE {table} SET record = 'c' WHERE {}", record(3)),
        format!("UPDATE {table} SET record = 'c' WHERE {}", record(-1)),
        format!("UPDATE {table} SET journal = '{turn_id}:2' WHERE id = 'klaus'"),
        format!("UPDATE {table} SET journal = null WHERE id = 'klaus'"),
    ] {
        let position = open_journal(&store, &id).await;
        assert_eq!(records(&store, &id).await, ["a", "b"]);
        raw.query_unpaged(damage.clone(), ()).await.unwrap();
        let error = store.journal(&id).await.unwrap_err();
        assert!(error.detail::<UnreadableRecord>().is_some(), "{damage}: {error}");
        let snapshot = store.load(&id).await.unwrap();
        assert_eq!(snapshot.messages().to_vec(), turn(1), "{damage}");
        store.export_raw(&id).await.unwrap();
        let restore = format!("UPDATE {table} SET journal = '{position}' WHERE id = 'klaus'");
        raw.query_unpaged(restore, ()).await.unwrap();
        store.discard(&id, position).await.unwrap();
    }
    let damage = format!("UPDATE {table} SET journal = 'nonsense' WHERE id = 'klaus'");
    raw.query_unpaged(damage, ()).await.unwrap();
    for error in [
        store.journal(&id).await.unwrap_err(),
        store.load(&id).await.unwrap_err(),
        store.open_journals(None, 1).await.unwrap_err(),
    ] {
        assert!(error.detail::<UnreadableRecord>().is_some(), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_tables_without_journals_are_migrated() {
    let Some(server) = server::shared() else { return };
    let builder = builder(server);
    let store = open(builder.clone()).await;
    let id = MemoryId::from("klaus");
    store.commit(&id, Change::advance(None, 0..0, turn(1))).await.unwrap();
    let (raw, table) = (session(server).await, table(&store));
    let meta = table.replace("_messages", "_meta");
    for change in [
        format!("ALTER TABLE {table} DROP (journal, journal_updated)"),
        format!("UPDATE {meta} SET value = 2 WHERE name = 'version' IF EXISTS"),
    ] {
        raw.query_unpaged(change, ()).await.unwrap();
    }
    let stores = join_all((0..4).map(|_| builder.clone().connect())).await;
    let stores: Vec<_> = stores.into_iter().map(Result::unwrap).collect();
    let error = stores[0].load(&id).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    assert!(error.to_string().contains("call `ensure_schema`"), "{error}");
    for migrated in join_all(stores.iter().map(|store| store.ensure_schema())).await {
        migrated.unwrap();
    }
    assert_eq!(stores[0].get_messages(&id).await.unwrap(), turn(1));
    let position = open_journal(&stores[1], &id).await;
    assert_eq!(stores[2].load(&id).await.unwrap().journal(), Some(position));
}
