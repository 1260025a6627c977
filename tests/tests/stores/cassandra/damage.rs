//! Damaged rows.

use super::{builder, open, server, session, table, turn};
use ai_services::ErrorKind;
use ai_services::memory::{
    Change, ChatMemoryStore, ConversationStore, EvictedMessages, HistoryPosition, MemoryId,
    UnreadableRecord,
};
use ai_services::message::ChatMessage;
use ai_services::store::cassandra::CassandraChatMemoryStore;
use ai_services::store::cassandra::scylla::client::session::Session;
use ai_services::store::cassandra::scylla::statement::prepared::PreparedStatement;
use std::sync::Arc;

/// A small conversation, and a session to change its columns.
struct Fixture {
    store: CassandraChatMemoryStore,
    raw: Arc<Session>,
    table: String,
    id: MemoryId,
    expected: Vec<ChatMessage>,
}

impl Fixture {
    async fn new() -> Option<Self> {
        let server = server::shared()?;
        let store = open(builder(server).evicted_messages(EvictedMessages::Keep)).await;
        let id = MemoryId::from("klaus");
        store.commit(&id, Change::advance(None, 0..0, turn(1))).await.unwrap();
        store.commit(&id, Change::advance(None, 0..2, turn(2))).await.unwrap();
        let (raw, table) = (session(server).await, table(&store));
        Some(Self { store, raw, table, id, expected: turn(2) })
    }

    async fn prepare(&self, text: String) -> PreparedStatement {
        self.raw.prepare(text).await.unwrap()
    }

    /// Checks that the store returns the right messages, or an error without writing data.
    async fn check(&self, case: &str) {
        let before = self.store.export_raw(&self.id).await.unwrap();
        match self.store.load(&self.id).await {
            Ok(snapshot) => assert_eq!(snapshot.messages().to_vec(), self.expected, "{case}"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Store, "{case}: {error}");
                assert!(error.detail::<UnreadableRecord>().is_some(), "{case}: {error}");
                let written = self.store.update_messages(&self.id, &turn(3)).await;
                assert!(written.is_err(), "{case}: written");
                let after = self.store.export_raw(&self.id).await.unwrap();
                assert_eq!(after, before, "{case}");
            }
        }
        match self.store.history(&self.id, HistoryPosition::Oldest, 10).await {
            Ok(history) => {
                let found = history.into_iter().map(|entry| entry.message);
                let found: Vec<_> = found.collect();
                assert_eq!(found, [turn(1), turn(2)].concat(), "{case}");
            }
            Err(error) => assert!(error.detail::<UnreadableRecord>().is_some(), "{case}: {error}"),
        }
        if let Err(error) = self.store.conversation(&self.id).await {
            assert!(error.detail::<UnreadableRecord>().is_some(), "{case}: {error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_changed_record_byte_is_detected() {
    let Some(fixture) = Fixture::new().await else { return };
    let (raw, id, table) = (&fixture.raw, fixture.id.as_str(), &fixture.table);
    let select = format!("SELECT kind, number, record FROM {table} WHERE id = ? AND kind > 0");
    let rows = raw.query_unpaged(select, (id,)).await.unwrap().into_rows_result().unwrap();
    let rows: Vec<(i8, i64, String)> = rows.rows().unwrap().map(|row| row.unwrap()).collect();
    assert_eq!(rows.len(), 4);
    let update = format!("UPDATE {table} SET record = ? WHERE id = ? AND kind = ? AND number = ?");
    let update = fixture.prepare(update).await;
    // The newest row in memory and the oldest in the history.
    for (kind, number, record) in [&rows[1], &rows[2]] {
        for position in 0..record.len() {
            // Each bit whose change leaves it valid UTF-8.
            for bit in 0..7 {
                let mut bytes = record.clone().into_bytes();
                bytes[position] ^= 1 << bit;
                let text = String::from_utf8(bytes).unwrap();
                raw.execute_unpaged(&update, (text, id, kind, number)).await.unwrap();
                fixture.check(&format!("byte {position}, bit {bit} of row {kind} {number}")).await;
            }
        }
        raw.execute_unpaged(&update, (record, id, kind, number)).await.unwrap();
    }
    assert_eq!(fixture.store.get_messages(&fixture.id).await.unwrap(), turn(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_changed_bit_is_detected_or_harmless() {
    let Some(fixture) = Fixture::new().await else { return };
    let (raw, id, table) = (&fixture.raw, fixture.id.as_str(), &fixture.table);
    for column in ["version", "messages", "last_updated", "lease"] {
        let select = format!("SELECT {column} FROM {table} WHERE id = ? LIMIT 1");
        let rows = raw.query_unpaged(select, (id,)).await.unwrap().into_rows_result().unwrap();
        let (value,) = rows.first_row::<(Option<i64>,)>().unwrap();
        let update = fixture.prepare(format!("UPDATE {table} SET {column} = ? WHERE id = ?")).await;
        let changed = (0..64).map(|bit| Some(value.unwrap_or(0) ^ (1 << bit)));
        let odd = [None, Some(0), Some(-1), Some(i64::MIN), Some(i64::MAX)];
        for odd in changed.chain(odd) {
            raw.execute_unpaged(&update, (odd, id)).await.unwrap();
            fixture.check(&format!("{column} {value:?} as {odd:?}")).await;
        }
        raw.execute_unpaged(&update, (value, id)).await.unwrap();
    }
    assert_eq!(fixture.store.get_messages(&fixture.id).await.unwrap(), turn(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_row_in_the_wrong_place_is_detected() {
    let Some(fixture) = Fixture::new().await else { return };
    let (raw, id, table) = (&fixture.raw, fixture.id.as_str(), &fixture.table);
    let insert = format!("INSERT INTO {table} (id, kind, number, record) VALUES (?, ?, ?, ?)");
    let insert = fixture.prepare(insert).await;
    let delete = format!("DELETE FROM {table} WHERE id = ? AND kind = ? AND number = ?");
    let delete = fixture.prepare(delete).await;
    for (kind, number) in [(1_i8, 1_i64), (1, i64::MAX), (1, -1), (2, -1), (-1, 1), (3, 3)] {
        raw.execute_unpaged(&insert, (id, kind, number, Some("{}"))).await.unwrap();
        fixture.check(&format!("row {number} of kind {kind}")).await;
        raw.execute_unpaged(&delete, (id, kind, number)).await.unwrap();
    }
    // Without the anchor, and without the first message.
    raw.execute_unpaged(&delete, (id, 0_i8, 0_i64)).await.unwrap();
    fixture.check("no anchor").await;
    let numbers = format!("SELECT number FROM {table} WHERE id = ? AND kind = 1");
    let numbers = raw.query_unpaged(numbers, (id,)).await.unwrap().into_rows_result().unwrap();
    let (first,) = numbers.first_row::<(i64,)>().unwrap();
    raw.execute_unpaged(&delete, (id, 1_i8, first)).await.unwrap();
    let error = fixture.store.load(&fixture.id).await.unwrap_err();
    assert!(error.detail::<UnreadableRecord>().is_some(), "{error}");
    let evicting = Change::advance(None, 0..2, turn(3));
    let error = fixture.store.commit(&fixture.id, evicting).await.unwrap_err();
    assert!(error.detail::<UnreadableRecord>().is_some(), "{error}");
    fixture.store.delete_messages(&fixture.id).await.unwrap();
    assert_eq!(fixture.store.export_raw(&fixture.id).await.unwrap(), []);
}
