//! Journals of open turns: lost answers, expiry, indices and damage.

use super::commits::with_proxy;
use super::damage::mutations;
use super::proxy::{Loss, Proxy};
use super::{Raw, builder, dialogue, id};
use ai_services::ErrorKind;
use ai_services::memory::{
    Change, ChatMemoryStore, ConversationStore, JournalPosition, TurnId, TurnJournal, TurnJournals,
    UnreadableRecord,
};
use ai_services::store::redis::RedisChatMemoryStore;
use ai_services_tests::servers::redis as server;
use futures_util::future::join;
use std::time::{Duration, SystemTime};

fn start() -> JournalPosition {
    JournalPosition::start(TurnId::new())
}

fn records(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("record {number}")).collect()
}

/// A store behind a proxy that loses answers, and a second store that uses the server directly. The server has the
/// scripts, so that the next answer of a script is that of its run.
async fn with_scripts(loss: Loss) -> Option<(RedisChatMemoryStore, Proxy, RedisChatMemoryStore)> {
    let (store, proxy, direct) = with_proxy(loss).await?;
    let other = "other".into();
    direct.append(&other, start(), &records(1), None).await.unwrap();
    direct.update_messages(&other, &dialogue(0..1)).await.unwrap();
    Some((store, proxy, direct))
}

#[tokio::test]
async fn redis_append_with_lost_answer_is_applied_once() {
    for loss in [Loss::Cut, Loss::Silence] {
        let Some((store, proxy, direct)) = with_scripts(loss).await else { return };
        proxy.lose_next_answer();
        let (start, records, id) = (start(), records(2), id());
        let meanwhile = async {
            proxy.lost().await;
            proxy.open();
        };
        let append = store.append(&id, start, &records, None);
        let (position, ()) = join(append, meanwhile).await;
        assert_eq!(position.unwrap(), start.advanced(2));
        let journal = direct.journal(&id).await.unwrap();
        assert_eq!(journal, Some(TurnJournal::new(start.turn, records)));
    }
}

#[tokio::test]
async fn redis_append_behind_another_one_has_an_unknown_outcome() {
    let Some((store, proxy, direct)) = with_scripts(Loss::Cut).await else { return };
    proxy.lose_next_answer();
    let (start, records, id) = (start(), records(2), id());
    let meanwhile = async {
        proxy.lost().await;
        direct.append(&id, start.advanced(2), &records, None).await.unwrap();
        proxy.open();
    };
    let (outcome, ()) = join(store.append(&id, start, &records, None), meanwhile).await;
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::UnknownOutcome);
    assert_eq!(direct.load(&id).await.unwrap().journal(), Some(start.advanced(4)));
}

#[tokio::test]
async fn redis_closing_commit_with_lost_answer_is_applied_once() {
    let Some((store, proxy, direct)) = with_scripts(Loss::Cut).await else { return };
    let id = id();
    let position = direct.append(&id, start(), &records(2), None).await.unwrap();
    proxy.lose_next_answer();
    let meanwhile = async {
        proxy.lost().await;
        proxy.open();
    };
    let change = Change::advance(Some(0), 0..0, dialogue(0..2)).closing(position);
    let (outcome, ()) = join(store.commit(&id, change), meanwhile).await;
    outcome.unwrap();
    assert_eq!(direct.get_messages(&id).await.unwrap(), dialogue(0..2));
    assert_eq!(direct.journal(&id).await.unwrap(), None);
}

#[tokio::test]
async fn redis_journal_expires_with_its_conversation() {
    let Some(server) = server::shared() else { return };
    let (builder, prefix) = builder(server);
    let hour = Duration::from_secs(3600);
    let store = builder.clone().time_to_live(hour).connect().await.unwrap();
    let mut raw = Raw::of(server, &prefix);
    let mut ends = move || {
        let keys = ["head", "messages", "journal"].map(|kind| raw.key(kind, "klaus"));
        keys.map(|key| raw.query::<i64>(&[b"PEXPIRETIME", key.as_bytes()]))
    };
    store.update_messages(&id(), &dialogue(0..2)).await.unwrap();
    let [committed, ..] = ends();
    tokio::time::sleep(Duration::from_millis(5)).await;
    store.append(&id(), start(), &records(1), None).await.unwrap();
    let [head, messages, journal] = ends();
    assert!(head > committed && (head, head) == (messages, journal), "{head} {committed}");
    tokio::time::sleep(Duration::from_millis(5)).await;
    store.commit(&id(), Change::advance(None, 0..0, dialogue(2..3))).await.unwrap();
    let [head, messages, journal] = ends();
    assert_eq!((head, head), (messages, journal));

    let forever = builder.connect().await.unwrap();
    let position = forever.load(&id()).await.unwrap().journal().unwrap();
    forever.append(&id(), position, &records(1), None).await.unwrap();
    assert_eq!(ends(), [-1; 3]);
}

#[tokio::test]
async fn redis_expired_journal_leaves_the_indices() {
    let Some(server) = server::shared() else { return };
    let (builder, prefix) = builder(server);
    let store = builder.time_to_live(Duration::from_millis(1)).connect().await.unwrap();
    let mut raw = Raw::of(server, &prefix);
    let mut indexed = || {
        ["used", "journals"]
            .map(|index| raw.query::<u64>(&[b"ZCARD", format!("{{{prefix}}}:{index}").as_bytes()]))
    };
    for n in 0..5 {
        store.append(&format!("{n}").into(), start(), &records(1), None).await.unwrap();
    }
    assert_eq!(indexed(), [5, 5]);
    while store.load(&"4".into()).await.unwrap().journal().is_some() {}
    assert_eq!(store.open_journals(None, 2).await.unwrap(), []);
    assert_eq!(indexed(), [0, 0]);
}

#[tokio::test]
async fn redis_deleted_journals_leave_no_key() {
    let Some(server) = server::shared() else { return };
    let (builder, prefix) = builder(server);
    let store = builder.connect().await.unwrap();
    let mut raw = Raw::of(server, &prefix);
    let position = store.append(&"discarded".into(), start(), &records(1), None).await.unwrap();
    store.discard(&"discarded".into(), position).await.unwrap();
    store.append(&"deleted".into(), start(), &records(1), None).await.unwrap();
    store.delete_messages(&"deleted".into()).await.unwrap();
    store.append(&"old".into(), start(), &records(1), None).await.unwrap();
    let later = SystemTime::now() + Duration::from_secs(1);
    assert_eq!(store.delete_not_updated_since(later).await.unwrap(), 1);
    let keys: Vec<String> = raw.query(&[b"KEYS", format!("{{{prefix}}}:*").as_bytes()]);
    assert!(keys.is_empty(), "{keys:?}");
}

#[tokio::test]
async fn redis_full_server_rejects_appends_and_permits_discards() {
    let Some(server) = server::start() else { return };
    let (builder, prefix) = builder(&server);
    let store = builder.connect().await.unwrap();
    let position = store.append(&id(), start(), &records(2), None).await.unwrap();
    let mut raw = Raw::of(&server, &prefix);
    raw.run("CONFIG SET maxmemory 1");
    let error = store.append(&id(), position, &records(1), None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store, "{error}");
    assert!(error.to_string().contains("`maxmemory`"), "{error}");
    let change = Change::advance(None, 0..0, dialogue(0..1)).closing(position);
    store.commit(&id(), change).await.unwrap_err();
    assert_eq!(store.load(&id()).await.unwrap().journal(), Some(position));
    assert_eq!(store.open_journals(None, 9).await.unwrap().len(), 1);
    assert_eq!(store.journal(&id()).await.unwrap().unwrap().position(), position);
    store.discard(&id(), position).await.unwrap();
    assert_eq!(store.journal(&id()).await.unwrap(), None);
}

#[tokio::test]
async fn redis_damaged_journal_is_reported_and_does_not_stop_loads() {
    let Some(server) = server::shared() else { return };
    let (builder, prefix) = builder(server);
    let store = builder.connect().await.unwrap();
    store.update_messages(&id(), &dialogue(0..2)).await.unwrap();
    let position = store.append(&id(), start(), &records(3), None).await.unwrap();
    let mut raw = Raw::of(server, &prefix);
    let key = raw.key("journal", "klaus");
    let mut detected = 0;
    for field in ["position", "1", "2", "3"] {
        let value: Vec<u8> = raw.query(&[b"HGET", key.as_bytes(), field.as_bytes()]);
        for damaged in mutations(&value) {
            let case = format!("{field} {}", damaged.escape_ascii());
            let _: u64 = raw.query(&[b"HSET", key.as_bytes(), field.as_bytes(), &damaged]);
            let loaded = store.load(&id()).await.unwrap();
            assert_eq!(loaded.messages().to_vec(), dialogue(0..2), "{case}");
            assert!(loaded.journal().is_some(), "{case}");
            match store.journal(&id()).await {
                Ok(journal) => {
                    let expected = TurnJournal::new(position.turn, records(3));
                    assert_eq!(journal, Some(expected), "{case}");
                }
                Err(error) => {
                    assert!(error.detail::<UnreadableRecord>().is_some(), "{case}: {error}");
                    detected += 1;
                }
            }
        }
        let _: u64 = raw.query(&[b"HDEL", key.as_bytes(), field.as_bytes()]);
        assert!(store.journal(&id()).await.is_err(), "{field} is missing");
        assert!(store.append(&id(), start(), &records(1), None).await.is_err(), "{field}");
        let _: u64 = raw.query(&[b"HSET", key.as_bytes(), field.as_bytes(), &value]);
    }
    assert!(detected > 1_000, "{detected}");
    assert!(store.journal(&id()).await.unwrap().is_some());
    store.delete_messages(&id()).await.unwrap();
    assert_eq!(store.journal(&id()).await.unwrap(), None);
}
