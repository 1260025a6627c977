//! Files: creation, permissions, and rejected files.

use super::{builder, raw, temp_file};
use ai_services::memory::{ChatMemoryStore, JournalPosition, LeaseOptions, TurnId};
use ai_services::message::ChatMessage;
use ai_services::store::sqlite::SqliteChatMemoryStore;
use ai_services::{Error, ErrorKind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

async fn rejected(path: &Path) -> Error {
    SqliteChatMemoryStore::open(path).await.unwrap_err()
}

/// Checks that the store rejects the file and does not change it.
async fn assert_rejected_unchanged(path: &Path, kind: ErrorKind, text: &str) {
    let before = std::fs::read(path).unwrap();
    let error = rejected(path).await;
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(text), "{error}");
    assert_eq!(std::fs::read(path).unwrap(), before);
}

#[cfg(unix)]
#[tokio::test]
async fn sqlite_files_are_accessible_to_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;

    let (directory, path) = temp_file();
    let store = SqliteChatMemoryStore::open(&path).await.unwrap();
    store.update_messages(&"klaus".into(), &[ChatMessage::user("Hello!")]).await.unwrap();
    let files: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(Result::unwrap).collect();
    assert_eq!(files.len(), 3);
    for file in files {
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?}", file.path());
    }
}

#[tokio::test]
async fn sqlite_closed_store_is_one_file() {
    let (directory, path) = temp_file();
    let store = SqliteChatMemoryStore::open(&path).await.unwrap();
    store.update_messages(&"klaus".into(), &[ChatMessage::user("Hello!")]).await.unwrap();
    assert_eq!(store.get_messages(&"klaus".into()).await.unwrap().len(), 1);
    let clone = store.clone();
    store.close().await;
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    for error in [
        clone.get_messages(&"klaus".into()).await.unwrap_err(),
        clone.delete_messages(&"klaus".into()).await.unwrap_err(),
    ] {
        assert!(error.to_string().ends_with("the SQLite store is closed"), "{error}");
    }
    clone.close().await;
}

#[tokio::test]
async fn sqlite_missing_directory_is_reported() {
    let (directory, _) = temp_file();
    let error = rejected(&directory.path().join("missing").join("conversations.db")).await;
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("its directory does not exist"), "{error}");
    let error = rejected(directory.path()).await;
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("it is a directory"), "{error}");
}

#[tokio::test]
async fn sqlite_invalid_settings_are_rejected() {
    let (_directory, path) = temp_file();
    let short = LeaseOptions::new().duration(Duration::from_millis(10));
    for builder in [
        SqliteChatMemoryStore::builder(),
        builder(Path::new("")),
        builder(Path::new(":memory:")),
        builder(&path).readers(0),
        builder(&path).busy_timeout(Duration::MAX),
        builder(&path).leases(short),
    ] {
        let error = builder.open().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    }
    assert!(!path.exists());
}

#[tokio::test]
async fn sqlite_file_of_another_application_is_not_changed() {
    for statements in [
        "CREATE TABLE invoice (id INTEGER)",
        "CREATE TABLE invoice (id INTEGER); PRAGMA user_version = 1",
        "PRAGMA application_id = 7; PRAGMA user_version = 1",
        "PRAGMA user_version = 3",
        "PRAGMA journal_mode = wal; CREATE TABLE invoice (id INTEGER)",
    ] {
        let (_directory, path) = temp_file();
        raw(&path).execute_batch(statements).unwrap();
        assert_rejected_unchanged(&path, ErrorKind::Configuration, "another application").await;
    }
}

#[tokio::test]
async fn sqlite_file_that_is_not_a_database_is_not_changed() {
    let (_directory, path) = temp_file();
    std::fs::write(&path, "Dear diary, ".repeat(100)).unwrap();
    assert_rejected_unchanged(&path, ErrorKind::Store, "damaged or not a database").await;
}

#[tokio::test]
async fn sqlite_newer_schema_requires_an_update() {
    let (_directory, path) = temp_file();
    SqliteChatMemoryStore::open(&path).await.unwrap().close().await;
    raw(&path).execute_batch("PRAGMA user_version = 5").unwrap();
    assert_rejected_unchanged(&path, ErrorKind::Configuration, "update ai-services").await;
}

#[tokio::test]
async fn sqlite_file_of_the_first_schema_is_migrated() {
    let (_directory, path) = temp_file();
    let (id, turn) = ("klaus".into(), [ChatMessage::user("Hello!"), ChatMessage::ai("Hi.")]);
    let store = SqliteChatMemoryStore::open(&path).await.unwrap();
    store.update_messages(&id, &turn).await.unwrap();
    store.close().await;
    let to_first = "ALTER TABLE conversation RENAME TO later;
        CREATE TABLE conversation (id TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL,
            messages INTEGER NOT NULL, last_used INTEGER NOT NULL, commit_token INTEGER NOT NULL,
            lease_token INTEGER, lease_until INTEGER) STRICT, WITHOUT ROWID;
        CREATE TABLE message (id TEXT NOT NULL, number INTEGER NOT NULL, record TEXT NOT NULL,
            PRIMARY KEY (id, number)) STRICT, WITHOUT ROWID;
        INSERT INTO conversation
            SELECT id, version, messages, last_updated, 7, 1, 9000000000000000
            FROM later WHERE slot = 0;
        INSERT INTO message SELECT id, number, record FROM later WHERE slot > 0;
        DROP TABLE later;
        DROP TABLE journal;
        PRAGMA user_version = 1";
    raw(&path).execute_batch(to_first).unwrap();

    let leases = LeaseOptions::new();
    let store = builder(&path).leases(leases).open().await.unwrap();
    assert_eq!(store.get_messages(&id).await.unwrap(), turn);
    store.update_messages(&id, &turn[..1]).await.unwrap();
    assert_eq!(store.get_messages(&id).await.unwrap(), turn[..1]);
}

#[tokio::test]
async fn sqlite_file_without_journals_is_migrated() {
    let (_directory, path) = temp_file();
    let (id, turn) = ("klaus".into(), [ChatMessage::user("Hello!"), ChatMessage::ai("Hi.")]);
    let store = SqliteChatMemoryStore::open(&path).await.unwrap();
    store.update_messages(&id, &turn).await.unwrap();
    store.close().await;
    raw(&path).execute_batch("DROP TABLE journal; PRAGMA user_version = 3").unwrap();

    let store = SqliteChatMemoryStore::open(&path).await.unwrap();
    let start = JournalPosition::start(TurnId::new());
    let journals = store.journals().unwrap();
    let position = journals.append(&id, start, &["record".into()], None).await.unwrap();
    let loaded = store.load(&id).await.unwrap();
    assert_eq!(loaded.messages().to_vec(), turn);
    assert_eq!(loaded.journal(), Some(position));
}

#[tokio::test]
async fn sqlite_special_file_names_are_taken_literally() {
    let (directory, _) = temp_file();
    for name in ["file:a?mode=memory", "a b'\";--", "ü.db", "%41"] {
        let path = directory.path().join(name);
        let store = SqliteChatMemoryStore::open(&path).await.unwrap();
        store.update_messages(&"klaus".into(), &[ChatMessage::user("Hello!")]).await.unwrap();
        assert_eq!(store.get_messages(&"klaus".into()).await.unwrap().len(), 1);
        store.close().await;
        assert!(path.metadata().unwrap().len() > 0, "{name}");
    }
}

/// Checks that all operations fail because of the file with this suffix.
async fn assert_lost(store: &SqliteChatMemoryStore, suffix: &str) {
    let id = "klaus".into();
    let turn = [ChatMessage::user("lost")];
    for error in [
        store.update_messages(&id, &turn).await.unwrap_err(),
        store.get_messages(&id).await.unwrap_err(),
        store.delete_messages(&id).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Store, "{suffix}: {error}");
        assert!(error.to_string().contains("was deleted or replaced"), "{suffix}: {error}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn sqlite_deleted_file_is_noticed() {
    for suffix in ["", "-wal", "-shm"] {
        let (directory, path) = temp_file();
        let store = SqliteChatMemoryStore::open(&path).await.unwrap();
        store.update_messages(&"klaus".into(), &[ChatMessage::user("Hello!")]).await.unwrap();
        let file = directory.path().join(format!("conversations.db{suffix}"));
        let elsewhere = directory.path().join("elsewhere");
        std::fs::rename(&file, &elsewhere).unwrap();
        assert_lost(&store, suffix).await;
        // The file is put back.
        std::fs::rename(&elsewhere, &file).unwrap();
        assert_eq!(store.get_messages(&"klaus".into()).await.unwrap().len(), 1);
        store.update_messages(&"klaus".into(), &[]).await.unwrap();
    }
}

#[cfg(unix)]
#[tokio::test]
async fn sqlite_replaced_file_is_noticed() {
    let (directory, path) = temp_file();
    let store = SqliteChatMemoryStore::open(&path).await.unwrap();
    store.update_messages(&"klaus".into(), &[ChatMessage::user("Hello!")]).await.unwrap();
    // For example a backup that is restored.
    let backup = directory.path().join("backup");
    std::fs::copy(&path, &backup).unwrap();
    std::fs::rename(&backup, &path).unwrap();
    assert_lost(&store, "").await;
}

/// Child process of the next test.
#[tokio::test]
#[ignore = "started by another test"]
async fn child_that_opens_the_file() {
    let path = std::env::var_os("AI_SERVICES_TEST_FILE").unwrap();
    let id = std::process::id();
    // All processes continue when the last one has been started.
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let store = SqliteChatMemoryStore::open(Path::new(&path)).await.unwrap();
    store.update_messages(&(&id).into(), &[ChatMessage::user("Hello!")]).await.unwrap();
    store.close().await;
}

#[tokio::test]
async fn sqlite_new_file_is_opened_by_several_processes() {
    const PROCESSES: u32 = 8;
    for _ in 0..4 {
        let (_directory, path) = temp_file();
        let mut processes: Vec<_> = (0..PROCESSES)
            .map(|_| {
                Command::new(std::env::current_exe().unwrap())
                    .args(["--exact", "--ignored", "sqlite::files::child_that_opens_the_file"])
                    .env("AI_SERVICES_TEST_FILE", &path)
                    .stdin(Stdio::piped())
                    .stdout(Stdio::null())
                    .spawn()
                    .unwrap()
            })
            .collect();
        // Each process waits for the end of its input.
        processes.iter_mut().for_each(|process| drop(process.stdin.take()));
        for mut process in processes {
            assert!(process.wait().unwrap().success());
        }
        let count: u32 = raw(&path)
            .query_row("SELECT count(DISTINCT id) FROM conversation", [], |row| row.get(0))
            .unwrap();
        assert_eq!(count, PROCESSES);
    }
}
