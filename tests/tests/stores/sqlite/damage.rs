//! Damage to the file: the store returns the right messages or an error, never other messages.

use super::{builder, raw, temp_file};
use ai_services::memory::{
    ChatMemoryStore, ConversationStore, EvictedMessages, HistoryEntry, HistoryPosition,
    JournalPosition, MemoryId, TurnId, UnreadableRecord,
};
use ai_services::message::ChatMessage;
use ai_services::store::sqlite::SqliteChatMemoryStore;
use ai_services::{ErrorKind, Result};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use std::path::{Path, PathBuf};

/// The content of an undamaged store.
#[derive(Clone)]
struct Expected {
    id: MemoryId,
    messages: Vec<ChatMessage>,
    history: Vec<HistoryEntry>,
}

async fn open(path: &Path) -> Result<SqliteChatMemoryStore> {
    builder(path).readers(1).evicted_messages(EvictedMessages::Keep).open().await
}

/// Writes a conversation with three messages in memory and one evicted message.
async fn fill(store: &SqliteChatMemoryStore, id: &str) -> Expected {
    let id = MemoryId::from(id);
    let all: Vec<_> = (0..4).map(|n| ChatMessage::user(format!("{id} says {n}"))).collect();
    store.update_messages(&id, &all).await.unwrap();
    store.update_messages(&id, &all[1..]).await.unwrap();
    let messages = store.get_messages(&id).await.unwrap();
    assert_eq!(messages, &all[1..]);
    let history = store.history(&id, HistoryPosition::Oldest, 100).await.unwrap();
    assert_eq!(history.len(), 4);
    Expected { id, messages, history }
}

/// Checks that reads return the written data or an error. An evicted message may be missing. Returns whether
/// the messages could be read.
async fn check(store: &SqliteChatMemoryStore, expected: &Expected, case: &str) -> bool {
    let is_read = match store.get_messages(&expected.id).await {
        Ok(messages) => {
            assert_eq!(messages, expected.messages, "{case}");
            true
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Store, "{case}: {error}");
            false
        }
    };
    match store.history(&expected.id, HistoryPosition::Oldest, 100).await {
        Ok(history) => {
            let is_expected = |entry: &HistoryEntry| {
                expected.history.iter().any(|known| {
                    (known.position, &known.message) == (entry.position, &entry.message)
                })
            };
            assert!(history.iter().all(is_expected), "{case}: {history:?}");
        }
        Err(error) => assert_eq!(error.kind(), ErrorKind::Store, "{case}: {error}"),
    }
    is_read
}

/// A table with its columns and rows.
struct Table {
    name: &'static str,
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

impl Table {
    fn read(connection: &Connection, name: &'static str) -> Self {
        let mut statement = connection.prepare(&format!("SELECT * FROM {name}")).unwrap();
        let count = statement.column_count();
        let columns = (0..count).map(|at| statement.column_name(at).unwrap().to_owned()).collect();
        let rows = statement
            .query_map([], |row| (0..count).map(|at| row.get(at)).collect())
            .unwrap()
            .collect::<rusqlite::Result<_>>()
            .unwrap();
        Self { name, columns, rows }
    }

    /// Replaces all rows; fails if two have the same key. Text is bound as bytes, which may be invalid UTF-8.
    fn write(&self, connection: &mut Connection, rows: &[Vec<Value>]) -> rusqlite::Result<()> {
        let transaction = connection.transaction()?;
        transaction.execute(&format!("DELETE FROM {}", self.name), [])?;
        for row in rows {
            let columns = row.iter().zip(&self.columns);
            let placeholders = columns.map(|(value, column)| match value {
                Value::Text(_) | Value::Blob(_)
                    if !["commits", "slots"].contains(&column.as_str()) =>
                {
                    "CAST(? AS TEXT)"
                }
                _ => "?",
            });
            let placeholders = placeholders.collect::<Vec<_>>().join(", ");
            let statement = format!("INSERT INTO {} VALUES ({placeholders})", self.name);
            transaction.execute(&statement, params_from_iter(row))?;
        }
        transaction.commit()
    }
}

/// Returns all values of a table, including invalid UTF-8.
fn contents(connection: &Connection, table: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
    let count = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    let mut found = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        found.extend((0..count).map(|at| format!("{:?}", row.get_ref(at).unwrap())));
    }
    found
}

/// Returns variants of the value, each with one changed byte.
fn mutations(value: &Value) -> Vec<Value> {
    const CHANGES: [u8; 5] = [0x01, 0x04, 0x20, 0x80, 0xff];
    let bytes = |bytes: &[u8]| {
        let places = (0..bytes.len()).flat_map(|at| CHANGES.map(|change| (at, change)));
        let changed = places.map(|(at, change)| {
            let mut bytes = bytes.to_vec();
            bytes[at] ^= change;
            Value::Blob(bytes)
        });
        changed.collect()
    };
    match value {
        Value::Text(text) => bytes(text.as_bytes()),
        Value::Blob(blob) => bytes(blob),
        Value::Integer(number) => (0..8)
            .flat_map(|at| CHANGES.map(|change| number ^ (i64::from(change) << (8 * at))))
            .map(Value::Integer)
            .collect(),
        Value::Null => vec![Value::Integer(0), Value::Integer(-1), Value::Integer(i64::MAX)],
        other @ Value::Real(_) => panic!("unexpected value {other:?}"),
    }
}

#[tokio::test]
async fn sqlite_changed_column_is_detected_or_harmless() {
    let (_directory, path) = temp_file();
    let store = open(&path).await.unwrap();
    let expected = fill(&store, "klaus").await;
    let mut connection = raw(&path);
    connection.execute_batch("PRAGMA synchronous = OFF").unwrap();
    let (mut detected, mut harmless) = (0, 0);
    for name in ["conversation", "history"] {
        let table = Table::read(&connection, name);
        for (row, column) in (0..table.rows.len())
            .flat_map(|row| (0..table.columns.len()).map(move |column| (row, column)))
        {
            for mutation in mutations(&table.rows[row][column]) {
                let case = format!("{name}, row {row}, {}: {mutation:?}", table.columns[column]);
                let mut rows = table.rows.clone();
                rows[row][column] = mutation;
                if table.write(&mut connection, &rows).is_err() {
                    continue;
                }
                let before = contents(&connection, name);
                if check(&store, &expected, &case).await {
                    harmless += 1;
                } else {
                    detected += 1;
                }
                assert_eq!(contents(&connection, name), before, "{case}");
            }
        }
        table.write(&mut connection, &table.rows).unwrap();
    }
    println!("{detected} detected, {harmless} harmless");
    assert!(detected > 1_000);
    assert!(check(&store, &expected, "restored").await);
}

#[tokio::test]
async fn sqlite_commit_with_damaged_slots_changes_no_other_message() {
    let (_directory, path) = temp_file();
    let store = open(&path).await.unwrap();
    let id = MemoryId::from("klaus");
    let texts = |range: std::ops::Range<u32>| -> Vec<_> {
        range.map(|n| ChatMessage::user(n.to_string())).collect()
    };
    store.update_messages(&id, &texts(0..8)).await.unwrap();
    // The rows of the newest messages are in front of the others.
    for start in [8, 11] {
        let change = store.load(&id).await.unwrap().change(0..3, texts(start..start + 3));
        store.commit(&id, change).await.unwrap();
    }
    let mut connection = raw(&path);
    connection.execute_batch("PRAGMA synchronous = OFF").unwrap();
    let table = Table::read(&connection, "conversation");
    let column = table.columns.iter().position(|name| name == "slots").unwrap();
    let head = table.rows.iter().position(|row| row[column] != Value::Null).unwrap();
    let mut mutations = mutations(&table.rows[head][column]);
    mutations.push(Value::Blob(Vec::new()));
    let (mut applied, mut refused) = (0, 0);
    for mutation in mutations {
        let case = format!("{mutation:?}");
        let mut rows = table.rows.clone();
        rows[head][column] = mutation;
        table.write(&mut connection, &rows).unwrap();
        let change = store.load(&id).await.unwrap().change(0..2, texts(14..16));
        let expected = match store.commit(&id, change).await {
            Ok(()) => {
                applied += 1;
                texts(8..16)
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Store, "{case}: {error}");
                refused += 1;
                texts(6..14)
            }
        };
        assert_eq!(store.get_messages(&id).await.unwrap(), expected, "{case}");
        raw(&path).execute_batch("DELETE FROM history").unwrap();
    }
    assert!(applied > 0 && refused > 0, "{applied} applied, {refused} refused");
}

#[tokio::test]
async fn sqlite_damaged_journal_is_reported_and_does_not_stop_loads() {
    let (_directory, path) = temp_file();
    let store = open(&path).await.unwrap();
    let expected = fill(&store, "klaus").await;
    let journals = store.journals().unwrap();
    let start = JournalPosition::start(TurnId::new());
    let records = ["first", "second", "third"].map(str::to_owned);
    journals.append(&expected.id, start, &records, None).await.unwrap();
    let mut connection = raw(&path);
    connection.execute_batch("PRAGMA synchronous = OFF").unwrap();
    let table = Table::read(&connection, "journal");
    let (mut detected, mut shorter) = (0, 0);
    for (row, column) in (0..table.rows.len())
        .flat_map(|row| (0..table.columns.len()).map(move |column| (row, column)))
    {
        for mutation in mutations(&table.rows[row][column]) {
            let case = format!("row {row}, {}: {mutation:?}", table.columns[column]);
            let mut rows = table.rows.clone();
            rows[row][column] = mutation;
            if table.write(&mut connection, &rows).is_err() {
                continue;
            }
            let before = contents(&connection, "journal");
            assert!(check(&store, &expected, &case).await, "{case}");
            assert!(store.load(&expected.id).await.unwrap().journal().is_some(), "{case}");
            match journals.journal(&expected.id).await {
                // The row belongs to another id, or only the time of the append is damaged.
                Ok(journal) => {
                    let journal = journal.unwrap();
                    assert!(records.starts_with(&journal.records), "{case}: {journal:?}");
                    shorter += usize::from(journal.records.len() < records.len());
                }
                Err(error) => {
                    assert!(error.detail::<UnreadableRecord>().is_some(), "{case}: {error}");
                    detected += 1;
                }
            }
            assert_eq!(contents(&connection, "journal"), before, "{case}");
        }
    }
    println!("{detected} detected, {shorter} lost the last record");
    assert!(detected > 1_000 && shorter > 0);
    store.delete_messages(&expected.id).await.unwrap();
    assert_eq!(journals.journal(&expected.id).await.unwrap(), None);
}

#[tokio::test]
async fn sqlite_missing_head_is_detected() {
    let (_directory, path) = temp_file();
    let store = open(&path).await.unwrap();
    let Expected { id, .. } = fill(&store, "klaus").await;
    raw(&path).execute("DELETE FROM conversation WHERE slot = 0", []).unwrap();
    for error in [
        store.load(&id).await.unwrap_err(),
        store.update_messages(&id, &[]).await.unwrap_err(),
        store.history(&id, HistoryPosition::Newest, 1).await.unwrap_err(),
    ] {
        assert_eq!(error.detail::<UnreadableRecord>().unwrap().row, "the head", "{error}");
    }
    store.delete_messages(&id).await.unwrap();
    assert_eq!(store.get_messages(&id).await.unwrap(), []);
}

/// Returns the bytes of a closed file and its content. The pages are small, so that there are many of them
/// and messages span several pages.
async fn fixture() -> (Vec<u8>, Vec<Expected>) {
    let (_directory, path) = temp_file();
    let store = open(&path).await.unwrap();
    let all_expected = vec![fill(&store, "klaus").await, fill(&store, "anna").await];
    store.close().await;
    let shrink = "PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM";
    raw(&path).execute_batch(shrink).unwrap();
    (std::fs::read(&path).unwrap(), all_expected)
}

/// A temporary directory, in memory if possible.
fn fast_directory() -> tempfile::TempDir {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

/// Changes one byte of the file, and opens and reads it. Returns whether all messages could be read.
async fn survives(path: &Path, bytes: &[u8], position: usize, all_expected: &[Expected]) -> bool {
    let mut bytes = bytes.to_vec();
    bytes[position] ^= 1_u8.rotate_left(u32::try_from(position % 8).unwrap());
    for suffix in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", path.display()));
    }
    std::fs::write(path, &bytes).unwrap();
    let case = format!("byte {position}");
    let store = match open(path).await {
        Ok(store) => store,
        Err(error) => {
            let kinds = [ErrorKind::Store, ErrorKind::Configuration];
            assert!(kinds.contains(&error.kind()), "{case}: {error}");
            return false;
        }
    };
    let mut is_read = true;
    for expected in all_expected {
        is_read &= check(&store, expected, &case).await;
    }
    store.close().await;
    is_read
}

#[test]
fn sqlite_changed_file_is_detected_or_harmless() {
    const THREADS: usize = 4;
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (bytes, all_expected) = runtime().block_on(fixture());
    let detected: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|first| {
                let (bytes, all_expected) = (&bytes, &all_expected);
                scope.spawn(move || {
                    let directory = fast_directory();
                    let path = directory.path().join("damaged.db");
                    let positions = (first..bytes.len()).step_by(THREADS);
                    positions
                        .filter(|at| !runtime().block_on(survives(&path, bytes, *at, all_expected)))
                        .count()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    println!("{} bytes, {detected} detected", bytes.len());
    assert!(detected > 1_000, "{detected}");
}
