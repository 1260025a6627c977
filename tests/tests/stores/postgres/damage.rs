//! Damaged rows.

use super::{builder, prefix, raw, ready};
use ai_services::memory::{
    Change, ChatMemoryStore, ConversationStore, EvictedMessages, HistoryPosition, MemoryId,
    UnreadableRecord,
};
use ai_services::message::ChatMessage;
use ai_services::store::postgres::PostgresChatMemoryStore;
use ai_services::store::postgres::deadpool_postgres::Object;
use ai_services::{Error, Result};
use ai_services_tests::servers::postgres as server;

/// The tables of a store, and copies of them.
struct Fixture {
    raw: Object,
    prefix: String,
}

/// Expression that converts bytes to a number.
const NUMBER: &str = "('x' || encode({}, 'hex'))::bit(64)::bigint";
/// Expression that converts bytes to a text.
const TEXT: &str = "convert_from({}, 'UTF8')";

/// Every column that is read: table, column, conversion to bytes, and conversion from bytes.
const COLUMNS: &[(&str, &str, &str, &str)] = &[
    ("conversations", "key", "key", "{}"),
    ("conversations", "id", "id", "{}"),
    ("conversations", "version", "int8send(version)", NUMBER),
    ("conversations", "messages", "int8send(messages)", NUMBER),
    ("conversations", "commits", "commits", "{}"),
    ("conversations", "oldest", "int8send(oldest)", NUMBER),
    ("conversations", "second_oldest", "int8send(second_oldest)", NUMBER),
    ("conversations", "last_updated", "int8send(last_updated)", NUMBER),
    ("messages", "key", "key", "{}"),
    ("messages", "number", "int8send(number)", NUMBER),
    ("messages", "record", "convert_to(record, 'UTF8')", TEXT),
    ("history", "key", "key", "{}"),
    ("history", "number", "int8send(number)", NUMBER),
    ("history", "record", "convert_to(record, 'UTF8')", TEXT),
];

const TABLES: [&str; 3] = ["conversations", "messages", "history"];

impl Fixture {
    async fn run(&self, statement: &str, tables: &[&str]) {
        let sql: String = tables
            .iter()
            .map(|table| statement.replace("{t}", &format!("{}_{table}", self.prefix)))
            .collect();
        self.raw.batch_execute(&format!("BEGIN;{sql}COMMIT")).await.unwrap();
    }

    async fn copy_tables(&self) {
        self.run("CREATE TABLE {t}_copy AS TABLE {t};", &TABLES).await;
    }

    async fn restore(&self, table: &str) {
        self.run("DELETE FROM {t}; INSERT INTO {t} TABLE {t}_copy;", &[table]).await;
    }

    /// Returns the number of rows, and the maximum number of bytes in this column.
    async fn size(&self, table: &str, bytes: &str) -> (i64, i32) {
        let sql = format!("SELECT count(*), max(length({bytes})) FROM {}_{table}", self.prefix);
        let row = self.raw.query_one(&sql, &[]).await.unwrap();
        (row.get(0), row.get(1))
    }
}

fn is_typed(error: &Error) -> bool {
    error.detail::<UnreadableRecord>().is_some()
}

/// Checks that the store returns the right answer, or a typed error without writing data.
async fn check(store: &PostgresChatMemoryStore, id: &MemoryId, right: &[ChatMessage], case: &str) {
    fn judge<T>(answer: Result<T>, is_right: impl FnOnce(T) -> bool, case: &str) -> bool {
        match answer {
            Ok(answer) => {
                assert!(is_right(answer), "{case}: a wrong answer");
                true
            }
            Err(error) => {
                assert!(is_typed(&error), "{case}: {error:?}");
                false
            }
        }
    }
    let all = [&[ChatMessage::user("evicted")], right].concat();
    let history = store.history(id, HistoryPosition::Oldest, 10).await;
    let right_history = |entries: Vec<_>| {
        entries.iter().all(|entry: &ai_services::memory::HistoryEntry| all.contains(&entry.message))
    };
    judge(history, right_history, case);
    judge(store.conversations(None, 10).await, |_| true, case);
    if !judge(store.get_messages(id).await, |messages| messages == right, case) {
        let before = store.export_raw(id).await.unwrap();
        let error = store.update_messages(id, &[ChatMessage::user("new")]).await.unwrap_err();
        assert!(is_typed(&error), "{case}: {error:?}");
        assert_eq!(store.export_raw(id).await.unwrap(), before, "{case}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_byte_is_detected_or_harmless() {
    let Some(server) = server::shared() else { return };
    let prefix = prefix();
    let store = ready(builder(server, &prefix).evicted_messages(EvictedMessages::Keep)).await;
    let id = MemoryId::from("klaus");
    let right = [ChatMessage::user("a"), ChatMessage::ai("é")];
    let all = [&[ChatMessage::user("evicted")], &right[..]].concat();
    store.update_messages(&id, &all).await.unwrap();
    store.commit(&id, Change::advance(None, 0..1, Vec::new())).await.unwrap();
    let fixture = Fixture { raw: raw(server).await, prefix: prefix.clone() };
    // A crash of the machine may damage the copies, which does not matter for this test.
    fixture.raw.batch_execute("SET synchronous_commit = off").await.unwrap();
    fixture.copy_tables().await;
    let mut changes = 0;
    for (table, column, bytes, back) in COLUMNS {
        let (rows, length) = fixture.size(table, bytes).await;
        for (row, byte, bit) in (0..rows)
            .flat_map(|row| (0..length).map(move |byte| (row, byte)))
            .flat_map(|(row, byte)| [1, 32, 128].map(|bit: i32| (row, byte, bit)))
        {
            let changed = format!("set_byte({bytes}, {byte}, get_byte({bytes}, {byte}) # {bit})");
            let sql = format!(
                "UPDATE {prefix}_{table} SET {column} = {} WHERE ctid = (SELECT ctid FROM \
                 {prefix}_{table} ORDER BY key, {} LIMIT 1 OFFSET {row})",
                back.replace("{}", &changed),
                if *table == "conversations" { "version" } else { "number" },
            );
            // Fails for invalid UTF-8, for a byte past the end, and for a duplicate key.
            let Ok(done) = fixture.raw.execute(&sql, &[]).await else { continue };
            assert_eq!(done, 1);
            changes += 1;
            check(&store, &id, &right, &format!("{table}.{column}, {row}, {byte}, {bit}")).await;
            fixture.restore(table).await;
        }
    }
    assert!(changes > 800, "only {changes} changes were made");
    assert_eq!(store.get_messages(&id).await.unwrap(), right);
}

#[tokio::test(flavor = "multi_thread")]
async fn first_commit_detects_messages_without_a_head() {
    let Some(server) = server::shared() else { return };
    let prefix = prefix();
    let store = ready(builder(server, &prefix)).await;
    let id = MemoryId::from("klaus");
    store.update_messages(&id, &[ChatMessage::user("a")]).await.unwrap();
    raw(server).await.execute(&format!("DELETE FROM {prefix}_conversations"), &[]).await.unwrap();
    let change = Change::advance(Some(0), 0..0, vec![ChatMessage::user("b")]);
    let error = store.commit(&id, change).await.unwrap_err();
    assert!(is_typed(&error), "{error:?}");
    assert_eq!(store.export_raw(&id).await.unwrap().len(), 1);
    store.delete_messages(&id).await.unwrap();
    assert_eq!(store.export_raw(&id).await.unwrap(), []);
    store.update_messages(&id, &[ChatMessage::user("b")]).await.unwrap();
}
