//! Writes: group commit, concurrent writers, and full disks.

use super::{builder, raw, temp_file};
use ai_services::ErrorKind;
use ai_services::memory::{
    Change, ChatMemoryStore, CommitState, ConversationLeases, ConversationStore, EvictedMessages,
    HistoryPosition, LeaseOptions, LeaseToken, MemoryId, RequestId, UnknownCommit,
};
use ai_services::message::ChatMessage;
use ai_services::store::sqlite::SqliteChatMemoryStore;
use futures_util::FutureExt;
use futures_util::future::{join, join_all};
use std::path::Path;
use std::pin::pin;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

fn turn(text: &str) -> Vec<ChatMessage> {
    vec![ChatMessage::user(text), ChatMessage::ai(text)]
}

/// Returns the number of transactions in the write-ahead log: the frames that contain the size of the file.
fn transactions(path: &Path) -> usize {
    const HEADER: usize = 32;
    const FRAME: usize = 24 + 4096;
    let log = std::fs::read(format!("{}-wal", path.display())).unwrap();
    log[HEADER..].chunks_exact(FRAME).filter(|frame| frame[4..8] != [0; 4]).count()
}

/// Returns the number of pages in the write-ahead log.
fn written_pages(path: &Path) -> usize {
    std::fs::read(format!("{}-wal", path.display())).unwrap().len() / (24 + 4096)
}

#[tokio::test]
async fn sqlite_turn_of_a_full_window_writes_two_pages() {
    const TURNS: usize = 60;
    let (_directory, path) = temp_file();
    let store = builder(&path).open().await.unwrap();
    let text = "word ".repeat(40);
    let ids = ["anna", "klaus", "zoe"].map(MemoryId::from);
    for id in &ids {
        store.update_messages(id, &vec![ChatMessage::user(text.as_str()); 100]).await.unwrap();
    }
    let before = written_pages(&path);
    for n in 0..TURNS {
        let id = &ids[n % ids.len()];
        let change = store.load(id).await.unwrap().change(0..2, turn(&text));
        store.commit(id, change).await.unwrap();
        assert_eq!(store.load(id).await.unwrap().messages().len(), 100);
    }
    let pages = written_pages(&path) - before;
    assert!(pages <= TURNS * 5 / 2, "{pages} pages for {TURNS} turns");
}

#[tokio::test]
async fn sqlite_queued_changes_are_written_together() {
    let (_directory, path) = temp_file();
    let store = builder(&path).open().await.unwrap();
    let lock = raw(&path);
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let before = transactions(&path);
    let commits = (0..64).map(|n| {
        let store = store.clone();
        async move {
            let id = MemoryId::from(&n);
            // Every eighth commit expects a wrong version.
            let expected = if n % 8 == 0 { Some(7) } else { Some(0) };
            store.commit(&id, Change::advance(expected, 0..0, turn("a"))).await
        }
    });
    // The commits are polled first: all are in the queue when the lock is released.
    let unlock = async { lock.execute_batch("COMMIT").unwrap() };
    let (outcomes, ()) = join(join_all(commits), unlock).await;
    for (n, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Ok(()) => assert_ne!(n % 8, 0),
            Err(error) => assert_eq!((error.kind(), n % 8), (ErrorKind::Conflict, 0)),
        }
    }
    assert_eq!(store.conversations(None, 100).await.unwrap().len(), 56);
    let made = transactions(&path) - before;
    assert!((1..=2).contains(&made), "{made}");
}

#[tokio::test]
async fn sqlite_change_fails_after_the_busy_timeout() {
    let (_directory, path) = temp_file();
    let store = builder(&path).busy_timeout(Duration::from_millis(50)).open().await.unwrap();
    store.update_messages(&"klaus".into(), &turn("a")).await.unwrap();
    let lock = raw(&path);
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.update_messages(&"klaus".into(), &turn("b")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.is_retryable());
    assert!(error.to_string().contains("another process kept it locked"), "{error}");
    assert_eq!(store.get_messages(&"klaus".into()).await.unwrap(), turn("a"));
    lock.execute_batch("ROLLBACK").unwrap();
    store.update_messages(&"klaus".into(), &turn("b")).await.unwrap();
    assert_eq!(store.get_messages(&"klaus".into()).await.unwrap(), turn("b"));
}

#[tokio::test]
async fn sqlite_dropped_change_is_not_started() {
    let (_directory, path) = temp_file();
    let store = builder(&path).open().await.unwrap();
    let lock = raw(&path);
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    // One change is running; the next ones are queued.
    let id = MemoryId::from("klaus");
    let change = turn("a");
    let mut first = pin!(store.update_messages(&id, &change));
    assert!(first.as_mut().now_or_never().is_none());
    for n in 0..20 {
        let id = MemoryId::from(&n);
        assert!(store.update_messages(&id, &change).now_or_never().is_none());
    }
    lock.execute_batch("COMMIT").unwrap();
    first.await.unwrap();
    store.update_messages(&id, &turn("c")).await.unwrap();
    assert_eq!(store.conversations(None, 100).await.unwrap().len(), 1);
}

#[tokio::test]
async fn sqlite_dropped_change_is_atomic() {
    let (_directory, path) = temp_file();
    let store = builder(&path).evicted_messages(EvictedMessages::Keep).open().await.unwrap();
    let id = MemoryId::from("klaus");
    let mut dropped = 0;
    for n in 0..100 {
        let text = n.to_string();
        let change = Change::advance(None, 0..2, turn(&text));
        // On a busy machine the thread of the store may finish before the first poll.
        dropped += usize::from(store.commit(&id, change).now_or_never().is_none());
        let messages = store.get_messages(&id).await.unwrap();
        assert!(messages.is_empty() || messages == turn(messages[0].text().unwrap()));
        let history = store.history(&id, HistoryPosition::Oldest, 1000).await.unwrap();
        assert_eq!(history.len() % 2, 0);
    }
    assert!(dropped > 0);
}

/// A minimal executor.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn sqlite_store_works_without_tokio() {
    let (_directory, path) = temp_file();
    block_on(async {
        let store = SqliteChatMemoryStore::open(&path).await.unwrap();
        store.update_messages(&"klaus".into(), &turn("a")).await.unwrap();
        assert_eq!(store.get_messages(&"klaus".into()).await.unwrap(), turn("a"));
        store.close().await;
    });
}

#[tokio::test]
async fn sqlite_ids_are_taken_literally() {
    let long = "x".repeat(8 * 1024);
    let ids = [
        "a\0b",
        "a\0",
        "a",
        "\0",
        "'; DROP TABLE conversation; --",
        "\" OR 1=1",
        "%",
        "_",
        "?1",
        "ü",
        "\u{feff}",
        "\u{10ffff}",
        "NULL",
        "0",
        &long,
    ];
    let (_directory, path) = temp_file();
    let store = SqliteChatMemoryStore::open(&path).await.unwrap();
    for id in ids {
        store.update_messages(&id.into(), &turn(id)).await.unwrap();
    }
    for id in ids {
        assert_eq!(store.get_messages(&id.into()).await.unwrap(), turn(id), "{id:?}");
    }
    let mut listed = Vec::new();
    loop {
        let page = store.conversations(listed.last(), 2).await.unwrap();
        if page.is_empty() {
            break;
        }
        listed.extend(page.into_iter().map(|conversation| conversation.id));
    }
    let mut expected = ids.map(MemoryId::from).to_vec();
    expected.sort_unstable();
    assert_eq!(listed, expected);
}

/// Child process of a test below, on a disk that becomes full.
#[tokio::test]
#[ignore = "started by other tests"]
async fn child_on_a_full_disk() {
    let path = std::env::var_os("AI_SERVICES_TEST_FILE").unwrap();
    let store = SqliteChatMemoryStore::open(Path::new(&path)).await.unwrap();
    let mut last = None;
    let error = loop {
        let text = "x".repeat(10_000);
        let next = turn(&format!("{}{text}", last.as_ref().map_or(0, Vec::len)));
        match store.update_messages(&"klaus".into(), &next).await {
            Ok(()) => last = Some(next),
            Err(error) => break error,
        }
        let more = Change::advance(None, 0..0, turn(&text));
        if let Err(error) = store.commit(&"other".into(), more).await {
            break error;
        }
    };
    assert_eq!(error.kind(), ErrorKind::Store, "{error}");
    assert!(error.to_string().contains("free some disk space"), "{error}");
    // A small change may fail together with changes that are too large, but the store still works.
    assert_eq!(store.get_messages(&"klaus".into()).await.unwrap(), last.unwrap());
    let other = store.get_messages(&"other".into()).await.unwrap();
    assert_eq!(other.len() % 2, 0);
    store.close().await;
    let store = SqliteChatMemoryStore::open(Path::new(&path)).await.unwrap();
    assert_eq!(store.get_messages(&"other".into()).await.unwrap(), other);
}

/// Child process of a test below, on a read-only disk.
#[tokio::test]
#[ignore = "started by another test"]
async fn child_on_a_read_only_disk() {
    let path = std::env::var_os("AI_SERVICES_TEST_FILE").unwrap();
    let error = SqliteChatMemoryStore::open(Path::new(&path)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store, "{error}");
    assert!(error.to_string().contains("must be writable"), "{error}");
}

/// Runs one of the child processes above with its own mount; `None` if mounting is not permitted.
fn with_mount(mount: &str, directory: &Path, file: &Path, test: &str) -> Option<bool> {
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", script, "sh"]);
        command.arg(directory).arg(std::env::current_exe().unwrap()).arg(test);
        command.env("AI_SERVICES_TEST_FILE", file).stdout(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    unshare(mount).then(|| unshare(&format!("{mount} && exec \"$2\" --exact --ignored \"$3\"")))
}

#[tokio::test]
async fn sqlite_full_disk_is_an_error_without_data_loss() {
    let (directory, path) = temp_file();
    let mount = "mount -t tmpfs -o size=1m tmpfs \"$1\"";
    let test = "sqlite::writing::child_on_a_full_disk";
    if let Some(passed) = with_mount(mount, directory.path(), &path, test) {
        assert!(passed);
    }
}

#[tokio::test]
async fn sqlite_read_only_disk_is_an_error() {
    let (directory, path) = temp_file();
    SqliteChatMemoryStore::open(&path).await.unwrap().close().await;
    let mount = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\"";
    let test = "sqlite::writing::child_on_a_read_only_disk";
    if let Some(passed) = with_mount(mount, directory.path(), &path, test) {
        assert!(passed);
    }
}

/// Child process of the next test, which may not write files of more than 128 KiB.
#[tokio::test]
#[ignore = "started by another test"]
async fn child_with_a_disk_that_fails() {
    let path = std::env::var_os("AI_SERVICES_TEST_FILE").unwrap();
    let store = SqliteChatMemoryStore::open(Path::new(&path)).await.unwrap();
    let (id, request) = (MemoryId::from("klaus"), RequestId::new("mine").unwrap());
    store.update_messages(&id, &turn("a")).await.unwrap();
    let change = Change::advance(None, 0..0, turn(&"x".repeat(200_000)));
    let error = store.commit(&id, change.with_request(request)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownOutcome, "{error}");
    let UnknownCommit { request, cause, .. } = error.detail().unwrap();
    assert_eq!(cause.kind(), ErrorKind::Store, "{error}");
    assert_eq!(store.commit_state(&id, request).await.unwrap(), CommitState::NotFound);
    assert_eq!(store.get_messages(&id).await.unwrap(), turn("a"));
}

#[cfg(unix)]
#[tokio::test]
async fn sqlite_commit_on_a_failing_disk_has_an_unknown_outcome() {
    let (_directory, path) = temp_file();
    let mut command = Command::new("sh");
    // Without the signal, a write past the limit is an error.
    command.args(["-c", "trap '' XFSZ; ulimit -f 256; exec \"$@\"", "sh"]);
    command.arg(std::env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "sqlite::writing::child_with_a_disk_that_fails"]);
    command.env("AI_SERVICES_TEST_FILE", &path).stdout(Stdio::null());
    assert!(command.status().unwrap().success());
}

#[tokio::test]
async fn sqlite_dropped_commit_is_found_by_its_request() {
    let (_directory, path) = temp_file();
    let store = builder(&path).open().await.unwrap();
    let id = MemoryId::from("klaus");
    for n in 0..100 {
        let request = RequestId::new(n.to_string()).unwrap();
        let change = Change::replace(None, turn(&n.to_string()).into());
        let dropped = store.commit(&id, change.with_request(request.clone())).now_or_never();
        // A further change runs after the dropped one, if that was started.
        store.commit(&id, Change::advance(None, 0..0, Vec::new())).await.unwrap();
        let state = store.commit_state(&id, &request).await.unwrap();
        let is_stored = store.get_messages(&id).await.unwrap() == turn(&n.to_string());
        assert_eq!(state == CommitState::Committed, is_stored, "{dropped:?}");
    }
}

#[tokio::test]
async fn sqlite_lease_expires_if_the_clock_is_set_back() {
    let (_directory, path) = temp_file();
    let store = builder(&path).leases(LeaseOptions::new()).open().await.unwrap();
    let (lost, next) = (LeaseToken::new(), LeaseToken::new());
    for id in ["known", "unknown"].map(MemoryId::from) {
        if id.as_str() == "known" {
            store.update_messages(&id, &turn("a")).await.unwrap();
        }
        assert!(store.acquire(&id, lost).await.unwrap());
        assert!(!store.acquire(&id, next).await.unwrap());
        // The times of a clock that was an hour ahead.
        let moved = "UPDATE conversation SET lease_since = lease_since + 3600000,
                     lease_until = lease_until + 3600000";
        raw(&path).execute_batch(moved).unwrap();
        assert!(store.acquire(&id, next).await.unwrap());
        assert!(!store.acquire(&id, lost).await.unwrap());
        let late = Change::advance(None, 0..0, turn("late")).with_lease(lost);
        assert_eq!(store.commit(&id, late).await.unwrap_err().kind(), ErrorKind::Conflict);
        store.commit(&id, Change::advance(None, 0..0, turn("b")).with_lease(next)).await.unwrap();
    }
}
