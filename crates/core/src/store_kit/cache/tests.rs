//! A small database behind several caches.

use super::*;
use crate::memory::{CommitLog, JournalPosition, PendingCommit, TurnId, UnreadableRecord};
use crate::message::{ChatMessage, Messages};
use crate::store_kit::plan::{self, CommitPlan, ConversationHead, EvictedRows};
use crate::store_kit::record;
use proptest::prelude::*;
use std::cell::RefCell;
use std::future::ready;
use std::ops::Range;

/// The stored form of one conversation, as stores keep it.
#[derive(Clone, Default)]
struct Stored {
    head: Option<ConversationHead>,
    commits: CommitLog,
    rows: Vec<(u64, String)>,
}

/// A database, and the numbers of the rows that the last load has read.
#[derive(Default)]
struct Database {
    stored: RefCell<Stored>,
    reads: RefCell<Vec<Vec<u64>>>,
}

fn id() -> MemoryId {
    "klaus".into()
}

impl Database {
    fn uncached(&self) -> Result<Snapshot> {
        let stored = self.stored.borrow();
        plan::snapshot(&id(), stored.head, &stored.rows)
    }

    fn read(&self, known: Option<&KnownConversation>) -> Result<LoadedConversation> {
        let Stored { head, commits, rows } = self.stored.borrow().clone();
        let oldest = rows.iter().map(|(number, _)| *number).take(2).collect();
        let rows = match known.and_then(KnownConversation::first_row) {
            None => StoredRows::All(rows),
            Some(first) => {
                let rows = rows.into_iter().filter(|(number, _)| *number >= first).collect();
                StoredRows::Since { oldest, rows }
            }
        };
        let (StoredRows::All(read) | StoredRows::Since { rows: read, .. }) = &rows;
        self.reads.borrow_mut().push(read.iter().map(|(number, _)| *number).collect());
        Ok(StoredConversation { head, commits, rows }.decode(&id(), known)?)
    }

    async fn load(&self, cache: &ConversationCache) -> Result<Snapshot> {
        self.reads.borrow_mut().clear();
        cache.load(&id(), |known| ready(self.read(known.as_ref()))).await
    }

    /// Commits through one of the caches.
    fn commit(&self, cache: &ConversationCache, change: &Change) {
        let mut stored = self.stored.borrow_mut();
        let head = stored.head;
        let version = head.map_or(0, |head| head.version);
        let plan = CommitPlan::for_advance(&id(), version, change).unwrap();
        let plan = plan.unwrap_or_else(|| {
            CommitPlan::for_replacement(&id(), head, &stored.rows, change).unwrap()
        });
        match plan.evicted {
            EvictedRows::Positions(range) => {
                let end = range.end.min(stored.rows.len());
                stored.rows.drain(range.start.min(end)..end);
            }
            EvictedRows::Numbers(gone) => stored.rows.retain(|(number, _)| !gone.contains(number)),
        }
        stored.rows.extend(plan.rows);
        let messages = stored.rows.len() as u64;
        stored.head = Some(ConversationHead { version: plan.version, messages });
        stored.commits.push(PendingCommit::new(&id(), change).entry(version));
        cache.committed(&id(), change);
    }

    fn append(&self, cache: &ConversationCache, texts: &[&str]) {
        self.commit(cache, &advance(0..0, texts));
    }

    /// Replaces a part of the record at this index.
    fn damage(&self, index: usize) {
        let record = &mut self.stored.borrow_mut().rows[index].1;
        *record = record.replace("USER", "USEX");
    }

    /// Returns how many rows the reads of the last load returned.
    fn rows_read(&self) -> Vec<usize> {
        self.reads.borrow().iter().map(Vec::len).collect()
    }
}

fn messages(texts: &[&str]) -> Vec<ChatMessage> {
    texts.iter().map(|text| ChatMessage::user(*text)).collect()
}

fn advance(evict: Range<usize>, texts: &[&str]) -> Change {
    Change::advance(None, evict, messages(texts))
}

fn cache() -> ConversationCache {
    ConversationCache::new(1 << 20)
}

const TWENTY: [&str; 20] = ["a"; 20];

/// A database with twenty messages that the cache has loaded.
async fn loaded(cache: &ConversationCache) -> Database {
    let database = Database::default();
    database.append(cache, &TWENTY);
    database.load(cache).await.unwrap();
    database
}

/// Returns whether both lists consist of the same shared messages.
fn share(one: &Snapshot, other: &Snapshot) -> usize {
    let others: Vec<_> = other.messages().iter().map(|message| message.cached()).collect();
    let is_shared =
        |message: &&ChatMessage| others.iter().any(|it| std::ptr::eq(*it, message.cached()));
    one.messages().iter().filter(is_shared).count()
}

#[tokio::test]
async fn journal_position_is_that_of_the_last_read() {
    let cache = cache();
    let database = loaded(&cache).await;
    for position in [Some(JournalPosition::start(TurnId::new()).advanced(2)), None] {
        let read = |known: Option<KnownConversation>| {
            ready(database.read(known.as_ref()).map(|read| read.with_journal(position)))
        };
        assert_eq!(cache.load(&id(), read).await.unwrap().journal(), position);
    }
}

#[tokio::test]
async fn turn_reads_only_the_newest_known_row_and_the_new_ones() {
    let cache = cache();
    let database = loaded(&cache).await;
    let before = database.load(&cache).await.unwrap();
    assert_eq!(database.rows_read(), [1]);
    database.commit(&cache, &advance(0..2, &["b", "c"]));
    let after = database.load(&cache).await.unwrap();
    assert_eq!(database.rows_read(), [3]);
    assert_eq!((after.messages().len(), share(&before, &after)), (20, 18));
    assert_eq!(after.messages(), database.uncached().unwrap().messages());
}

#[tokio::test]
async fn committed_messages_stay_shared() {
    let cache = cache();
    let database = loaded(&cache).await;
    let turn = vec![ChatMessage::user("b"), ChatMessage::ai("c")];
    turn[0].cached().keep_tokens(1, 7);
    database.commit(&cache, &Change::advance(None, 0..2, turn));
    let after = database.load(&cache).await.unwrap();
    let counts: Vec<_> = after.messages().iter().filter_map(|it| it.cached().tokens(1)).collect();
    assert_eq!(counts, [7]);
}

#[tokio::test]
async fn list_of_complete_turns_stays_one() {
    let (cache, other) = (cache(), cache());
    let database = Database::default();
    let turn =
        |evict| Change::turn(None, evict, vec![ChatMessage::user("b"), ChatMessage::ai("c")]);
    for turns in 0..9 {
        let (snapshot, _) = database.load(&cache).await.unwrap().into_turns();
        assert!(snapshot.messages().is_known_complete());
        drop(snapshot);
        database.commit(&cache, &turn(if turns > 4 { 0..2 } else { 0..0 }));
        let loaded = database.load(&cache).await.unwrap();
        assert!(loaded.messages().is_known_complete(), "{turns}");
    }
    // The messages of another writer are not known to be complete turns.
    database.commit(&other, &turn(0..2));
    assert!(!database.load(&cache).await.unwrap().messages().is_known_complete());
}

#[tokio::test]
async fn commits_of_others_are_read() {
    let (cache, other) = (cache(), cache());
    let database = loaded(&cache).await;
    for count in [1, 31] {
        let before = database.load(&cache).await.unwrap();
        (0..count).for_each(|_| database.commit(&other, &advance(0..1, &["b"])));
        let after = database.load(&cache).await.unwrap();
        // The newest known row is read again while it is in memory.
        assert_eq!(database.rows_read(), [(1 + count).min(20)]);
        assert_eq!(after.messages(), database.uncached().unwrap().messages());
        assert_eq!(share(&before, &after), 20_usize.saturating_sub(count));
    }
    // The known commit is no longer in the log.
    let database = loaded(&cache).await;
    (0..32).for_each(|_| database.commit(&other, &advance(0..1, &["c"])));
    let after = database.load(&cache).await.unwrap();
    assert_eq!(database.rows_read().len(), 2);
    assert_eq!(after.messages(), database.uncached().unwrap().messages());
}

#[tokio::test]
async fn messages_replaced_in_the_middle_are_read_again() {
    let cache = cache();
    let database = Database::default();
    let texts: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    database.append(&cache, &texts);
    database.load(&cache).await.unwrap();
    texts.remove(9);
    database.commit(&cache, &Change::replace(None, messages(&texts).into()));
    let after = database.load(&cache).await.unwrap();
    assert_eq!(database.rows_read(), [1, 19]);
    assert_eq!(after.messages().to_vec(), messages(&texts));
}

#[tokio::test]
async fn recreated_conversation_with_the_same_version_is_read() {
    let cache = cache();
    let database = loaded(&cache).await;
    let old = database.stored.borrow().clone();
    let version = old.head.unwrap().version;
    // The other conversation happens to have the same version and the same numbers of rows.
    let encode = |number| record::encode(&id(), number, &ChatMessage::user("z")).unwrap();
    let others = old.rows.iter().map(|(number, _)| (*number, encode(*number))).collect();
    let mut commits = CommitLog::default();
    commits.push(PendingCommit::new(&id(), &advance(0..0, &[])).entry(version - 20));
    *database.stored.borrow_mut() = Stored { head: old.head, commits, rows: others };
    let loaded = database.load(&cache).await.unwrap();
    assert!(loaded.messages().iter().all(|message| message.text() == Some("z")));
}

#[tokio::test]
async fn deleted_conversation_is_empty() {
    let cache = cache();
    let database = loaded(&cache).await;
    *database.stored.borrow_mut() = Stored::default();
    let loaded = database.load(&cache).await.unwrap();
    assert_eq!((loaded.messages().len(), loaded.version()), (0, Some(0)));
}

#[tokio::test]
async fn damage_to_a_row_that_is_read_is_reported() {
    let cache = cache();
    for index in [19, 20, 21] {
        let database = loaded(&cache).await;
        database.append(&cache, &["b", "c"]);
        database.damage(index);
        let error = database.load(&cache).await.unwrap_err();
        assert!(error.detail::<UnreadableRecord>().is_some(), "{index}: {error}");
        assert_eq!(database.load(&cache).await.unwrap_err().to_string(), error.to_string());
    }
}

#[tokio::test]
async fn damage_to_a_known_row_is_reported_within_a_quarter_of_the_messages() {
    let cache = cache();
    for index in 0..19 {
        let database = loaded(&cache).await;
        database.damage(index);
        let mut loads = 1;
        while let Ok(snapshot) = database.load(&cache).await {
            assert_eq!(snapshot.messages().to_vec(), messages(&TWENTY));
            loads += 1;
        }
        assert_eq!(loads, 5, "{index}");
    }
}

#[tokio::test]
async fn missing_rows_at_both_ends_are_reported() {
    let cache = cache();
    for index in [0, 1, 19] {
        let database = loaded(&cache).await;
        database.stored.borrow_mut().rows.remove(index);
        let error = database.load(&cache).await.unwrap_err();
        let record = error.detail::<UnreadableRecord>().unwrap();
        assert_eq!(record.row, "the head", "{error}");
    }
}

#[tokio::test]
async fn cache_keeps_the_most_recently_used_conversations() {
    let size = {
        let cache = cache();
        loaded(&cache).await;
        let bytes = cache.recent().take(&id()).unwrap().bytes();
        assert!(bytes > 20 * 128, "{bytes}");
        bytes
    };
    let cache = ConversationCache::new(2 * size);
    let names = ["a", "b", "a", "c"];
    for name in names {
        let database = Database::default();
        database.append(&cache, &TWENTY);
        let load = |_| {
            let stored = database.stored.borrow().clone();
            // The records belong to another id, so that they are written again.
            let rows = stored.rows.iter().map(|(number, _)| {
                let message = ChatMessage::user("a");
                (*number, record::encode(&name.into(), *number, &message).unwrap())
            });
            let rows = StoredRows::All(rows.collect());
            let (head, commits) = (stored.head, stored.commits);
            ready(Ok(StoredConversation { head, commits, rows }
                .decode(&name.into(), None)
                .unwrap()))
        };
        cache.load(&name.into(), load).await.unwrap();
    }
    let mut is_cached = |name: &str| cache.recent().take(&name.into()).is_some();
    assert_eq!(["a", "b", "c"].map(&mut is_cached), [true, false, true]);
}

#[tokio::test]
async fn committed_messages_have_the_size_of_their_rows() {
    let cache = cache();
    let database = loaded(&cache).await;
    let bytes = || cache.recent().bytes();
    let before = bytes();
    database.append(&cache, &["b", "c"]);
    let committed = bytes();
    database.load(&cache).await.unwrap();
    assert_eq!((committed > before, bytes()), (true, committed));
    // The messages of a replacement are read again, so they are not kept twice.
    database.commit(&cache, &Change::replace(None, messages(&TWENTY).into()));
    assert_eq!(bytes(), committed);
}

#[tokio::test]
async fn cache_of_size_zero_reads_everything() {
    let cache = ConversationCache::new(0);
    let database = loaded(&cache).await;
    database.load(&cache).await.unwrap();
    assert_eq!(database.rows_read(), [20]);
}

#[derive(Clone, Debug)]
enum Step {
    Commit { writer: usize, change: Change },
    Load(usize),
    Delete,
    Backup,
    Restore,
}

fn step() -> impl Strategy<Value = Step> {
    let list = || {
        let text = (0_u8..6).prop_map(|n| ChatMessage::user(n.to_string()));
        prop::collection::vec(text, 0..5)
    };
    let change = prop_oneof![
        6 => (0_usize..3, 0_usize..6, list()).prop_map(|(start, end, new)| Change::advance(None, start..end, new)),
        1 => list().prop_map(|new| Change::replace(None, new.into())),
        1 => (list(), list(), list()).prop_map(|(a, b, c)| Change::replace(None, Messages::from([a, b, c].concat()))),
    ];
    prop_oneof![
        8 => (0_usize..2, change).prop_map(|(writer, change)| Step::Commit { writer, change }),
        8 => (0_usize..2).prop_map(Step::Load),
        1 => Just(Step::Delete),
        1 => Just(Step::Backup),
        1 => Just(Step::Restore),
    ]
}

proptest! {
    /// Two writers with a cache each, deletions, and restored backups.
    #[test]
    fn cached_load_equals_an_uncached_one(steps in prop::collection::vec(step(), 0..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (database, caches) = (Database::default(), [cache(), cache()]);
        let mut backup = Stored::default();
        for step in steps {
            match step {
                Step::Commit { writer, change } => database.commit(&caches[writer], &change),
                Step::Delete => *database.stored.borrow_mut() = Stored::default(),
                Step::Backup => backup = database.stored.borrow().clone(),
                Step::Restore => *database.stored.borrow_mut() = backup.clone(),
                Step::Load(writer) => {
                    let cached = runtime.block_on(database.load(&caches[writer])).unwrap();
                    let uncached = database.uncached().unwrap();
                    prop_assert_eq!(cached.messages(), uncached.messages());
                    prop_assert_eq!(cached.version(), uncached.version());
                    let numbers = |snapshot: &Snapshot| {
                        let change = snapshot.change(0..usize::MAX, Vec::new());
                        change.evicted_numbers().map(<[u64]>::to_vec)
                    };
                    prop_assert_eq!(numbers(&cached), numbers(&uncached));
                }
            }
        }
    }
}
