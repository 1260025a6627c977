//! Journals of open turns: broken connections, locks and damaged rows.

use super::broken::{Breakage, Proxy};
use super::{builder, prefix, raw, ready};
use ai_services::memory::{
    Change, ChatMemoryStore, ConversationStore, JournalPosition, MemoryId, TurnId, TurnJournals,
    UnreadableRecord,
};
use ai_services::message::ChatMessage;
use ai_services::store::postgres::PostgresChatMemoryStore;
use ai_services::store::postgres::deadpool_postgres::Object;
use ai_services::{ErrorKind, Result};
use ai_services_tests::servers::postgres as server;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

fn klaus() -> MemoryId {
    MemoryId::from("klaus")
}

fn turn() -> Vec<ChatMessage> {
    vec![ChatMessage::user("question"), ChatMessage::ai("answer")]
}

fn texts<const N: usize>(records: [&str; N]) -> Vec<String> {
    records.map(str::to_owned).to_vec()
}

async fn records(store: &PostgresChatMemoryStore, id: &MemoryId) -> Vec<String> {
    store.journal(id).await.unwrap().map(|journal| journal.records).unwrap_or_default()
}

async fn open(store: &PostgresChatMemoryStore, id: &MemoryId) -> JournalPosition {
    let start = JournalPosition::start(TurnId::new());
    store.append(id, start, &texts(["a", "b"]), None).await.unwrap()
}

/// Opens a journal, appends to it, and commits its turn, with a broken connection in one of the three steps.
async fn play(store: &PostgresChatMemoryStore, id: &MemoryId, before: impl Fn(usize)) {
    before(0);
    let position = open(store, id).await;
    before(1);
    let position = store.append(id, position, &texts(["c"]), None).await.unwrap();
    before(2);
    assert_eq!(records(store, id).await, ["a", "b", "c"]);
    let change = Change::advance(Some(0), 0..0, turn()).closing(position);
    before(3);
    store.commit(id, change).await.unwrap();
    before(4);
    assert_eq!(store.get_messages(id).await.unwrap(), turn());
    assert!(records(store, id).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn journal_on_a_closed_connection_is_written_once() {
    let Some(server) = server::shared() else { return };
    let proxy = Proxy::new(server, Breakage::new(false)).await;
    proxy.breakage.may_close.add_permits(1000);
    let store = proxy.store(server, &prefix()).await;
    for (case, step) in [0, 1, 3, 0, 1, 3].into_iter().enumerate() {
        let count = if case < 3 { &proxy.breakage.answers } else { &proxy.breakage.requests };
        // Prepares the statements on the current connection.
        play(&store, &MemoryId::from(format!("warm {case}")), |_| ()).await;
        let break_before = |next| match next {
            next if next == step => count.store(0, Ordering::SeqCst),
            _ => {}
        };
        play(&store, &MemoryId::from(format!("{case}")), break_before).await;
        assert_eq!(count.load(Ordering::SeqCst), -1, "no connection was broken in step {step}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn append_with_lost_answer_behind_another_has_an_unknown_outcome() {
    let Some(server) = server::shared() else { return };
    let prefix = prefix();
    let proxy = Proxy::new(server, Breakage::new(false)).await;
    let (store, other) =
        (proxy.store(server, &prefix).await, ready(builder(server, &prefix)).await);
    let position = open(&store, &klaus()).await;
    store.discard(&klaus(), position).await.unwrap();
    proxy.breakage.answers.store(0, Ordering::SeqCst);
    let start = JournalPosition::start(TurnId::new());
    let (id, mine) = (klaus(), texts(["mine"]));
    let mine = store.append(&id, start, &mine, None);
    let theirs = async {
        proxy.breakage.broken.acquire().await.unwrap().forget();
        other.append(&klaus(), start.advanced(1), &texts(["theirs"]), None).await.unwrap();
        proxy.breakage.may_close.add_permits(1);
    };
    let (mine, ()) = tokio::join!(mine, theirs);
    assert_eq!(mine.unwrap_err().kind(), ErrorKind::UnknownOutcome);
    assert_eq!(records(&other, &klaus()).await, ["mine", "theirs"]);
}

/// Waits until another connection waits for a lock of this one.
async fn blocked(raw: &Object) {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))";
    let limit = Instant::now() + Duration::from_secs(10);
    while raw.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) == 0 {
        assert!(Instant::now() < limit, "no statement waits for the lock");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A write of a journal.
#[derive(Clone, Copy, Debug)]
enum Write {
    Append,
    Discard,
    Commit,
    FirstCommit,
    LockedCommit,
    Replacement,
}

async fn write(
    store: &PostgresChatMemoryStore,
    kind: Write,
    position: JournalPosition,
    version: Option<u64>,
) -> Result<()> {
    let id = klaus();
    let change = match kind {
        Write::Append => {
            return store.append(&id, position, &texts(["late"]), None).await.map(drop);
        }
        Write::Discard => return store.discard(&id, position).await,
        Write::Commit | Write::FirstCommit => Change::advance(version, 0..0, turn()),
        Write::LockedCommit => Change::advance(None, 0..0, turn()),
        Write::Replacement => Change::replace(version, turn().into()),
    };
    store.commit(&id, change.closing(position)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn write_that_waits_for_another_write_of_the_journal_is_a_conflict() {
    let Some(server) = server::shared() else { return };
    let raw = raw(server).await;
    let kinds = [
        Write::Append,
        Write::Discard,
        Write::Commit,
        Write::FirstCommit,
        Write::LockedCommit,
        Write::Replacement,
    ];
    for kind in kinds {
        let prefix = prefix();
        let store = ready(builder(server, &prefix)).await;
        if !matches!(kind, Write::FirstCommit) {
            store.update_messages(&klaus(), &turn()).await.unwrap();
        }
        let before = store.get_messages(&klaus()).await.unwrap();
        let version = store.load(&klaus()).await.unwrap().version();
        let append = format!(
            "BEGIN;
             INSERT INTO {prefix}_journal_rows (number, key, record)
                SELECT length + 1, key, 'damaged' FROM {prefix}_journals;
             UPDATE {prefix}_journals SET length = length + 1"
        );
        let discard =
            format!("BEGIN; DELETE FROM {prefix}_journal_rows; DELETE FROM {prefix}_journals");
        for (other, rows) in [(append, 3), (discard, 0)] {
            let position = open(&store, &klaus()).await;
            raw.batch_execute(&other).await.unwrap();
            let theirs = async {
                blocked(&raw).await;
                raw.batch_execute("COMMIT").await.unwrap();
            };
            let (mine, ()) = tokio::join!(write(&store, kind, position, version), theirs);
            let error = mine.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict, "{kind:?}: {error}");
            assert!(!error.is_retryable(), "{kind:?}: {error}");
            assert_eq!(store.get_messages(&klaus()).await.unwrap(), before, "{kind:?}");
            let count = format!("SELECT count(*) FROM {prefix}_journal_rows");
            let found: i64 = raw.query_one(&count, &[]).await.unwrap().get(0);
            assert_eq!(found, rows, "{kind:?}");
            let clear = format!("DELETE FROM {prefix}_journal_rows; DELETE FROM {prefix}_journals");
            raw.batch_execute(&clear).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn journal_that_is_opened_twice_has_one_turn() {
    let Some(server) = server::shared() else { return };
    let (prefix, raw) = (prefix(), raw(server).await);
    let store = ready(builder(server, &prefix)).await;
    let insert = format!(
        "BEGIN; INSERT INTO {prefix}_journals (length, last_updated, turn, key, id)
            VALUES (1, 0, '{}', sha256('klaus'), 'klaus')",
        TurnId::new()
    );
    raw.batch_execute(&insert).await.unwrap();
    let theirs = async {
        blocked(&raw).await;
        raw.batch_execute("COMMIT").await.unwrap();
    };
    let (id, start, mine) = (klaus(), JournalPosition::start(TurnId::new()), texts(["a"]));
    let (mine, ()) = tokio::join!(store.append(&id, start, &mine, None), theirs);
    let error = mine.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(!error.is_retryable(), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn conversation_with_a_concurrent_append_is_not_deleted() {
    let Some(server) = server::shared() else { return };
    let (prefix, raw) = (prefix(), raw(server).await);
    let store = ready(builder(server, &prefix)).await;
    store.update_messages(&klaus(), &turn()).await.unwrap();
    open(&store, &klaus()).await;
    let time = SystemTime::now() + Duration::from_secs(60);
    let append =
        format!("BEGIN; UPDATE {prefix}_journals SET last_updated = last_updated + 120000");
    raw.batch_execute(&append).await.unwrap();
    let theirs = async {
        blocked(&raw).await;
        raw.batch_execute("COMMIT").await.unwrap();
    };
    let (deleted, ()) = tokio::join!(store.delete_not_updated_since(time), theirs);
    assert_eq!(deleted.unwrap(), 0);
    assert_eq!(store.get_messages(&klaus()).await.unwrap(), turn());
    assert_eq!(records(&store, &klaus()).await, ["a", "b"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_journal_is_reported_and_does_not_stop_loads() {
    let Some(server) = server::shared() else { return };
    let (prefix, raw) = (prefix(), raw(server).await);
    let store = ready(builder(server, &prefix)).await;
    store.update_messages(&klaus(), &turn()).await.unwrap();
    let rows = format!("{prefix}_journal_rows");
    for damage in [
        format!("UPDATE {rows} SET record = record || 'x' WHERE number = 1"),
        format!("UPDATE {rows} SET record = '2' || substr(record, 2) WHERE number = 2"),
        format!("UPDATE {rows} SET number = -1 WHERE number = 1"),
        format!("UPDATE {rows} SET number = 3 WHERE number = 1"),
        format!("UPDATE {rows} SET key = 'other' WHERE number = 2"),
        format!("DELETE FROM {rows} WHERE number = 2"),
        format!("UPDATE {prefix}_journals SET turn = '{}'", TurnId::new()),
        format!("UPDATE {prefix}_journals SET length = length + 1"),
        format!("DELETE FROM {prefix}_journals"),
    ] {
        open(&store, &klaus()).await;
        assert_eq!(records(&store, &klaus()).await, ["a", "b"]);
        assert_eq!(raw.execute(&damage, &[]).await.unwrap(), 1, "{damage}");
        let error = store.journal(&klaus()).await.unwrap_err();
        assert!(error.detail::<UnreadableRecord>().is_some(), "{damage}: {error}");
        let snapshot = store.load(&klaus()).await.unwrap();
        assert_eq!(snapshot.messages().to_vec(), turn(), "{damage}");
        let has_head = !damage.ends_with("_journals");
        assert_eq!(snapshot.journal().is_some(), has_head, "{damage}");
        store.export_raw(&klaus()).await.unwrap();
        let clear = format!("DELETE FROM {rows}; DELETE FROM {prefix}_journals");
        raw.batch_execute(&clear).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn append_behind_a_damaged_head_is_refused() {
    let Some(server) = server::shared() else { return };
    let (prefix, raw) = (prefix(), raw(server).await);
    let store = ready(builder(server, &prefix)).await;
    for damage in [
        format!("DELETE FROM {prefix}_journals"),
        format!("UPDATE {prefix}_journals SET length = length - 1"),
    ] {
        open(&store, &klaus()).await;
        assert_eq!(raw.execute(&damage, &[]).await.unwrap(), 1, "{damage}");
        let head = store.load(&klaus()).await.unwrap().journal();
        let position = head.unwrap_or_else(|| JournalPosition::start(TurnId::new()));
        let before = store.export_raw(&klaus()).await.unwrap();
        let error = store.append(&klaus(), position, &texts(["c"]), None).await.unwrap_err();
        assert!(error.detail::<UnreadableRecord>().is_some(), "{damage}: {error:?}");
        let error = store.journal(&klaus()).await.unwrap_err();
        assert!(error.detail::<UnreadableRecord>().is_some(), "{damage}: {error:?}");
        assert_eq!(store.export_raw(&klaus()).await.unwrap(), before, "{damage}");
        store.delete_messages(&klaus()).await.unwrap();
        assert_eq!(store.export_raw(&klaus()).await.unwrap(), [], "{damage}");
    }
}
