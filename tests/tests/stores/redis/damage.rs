//! Damaged keys: the store returns the right messages, or an error without changing data.

use super::{Raw, builder, dialogue};
use ai_services::memory::{
    Change, ChatMemoryStore, ConversationStore, EvictedMessages, HistoryPosition, MemoryId,
    UnreadableRecord,
};
use ai_services::message::ChatMessage;
use ai_services::store::redis::RedisChatMemoryStore;
use ai_services::{Error, ErrorKind};
use ai_services_tests::servers::redis::{self as server, Redis};

struct Fixture {
    _server: Redis,
    store: RedisChatMemoryStore,
    raw: Raw,
    id: MemoryId,
    version: Option<u64>,
    messages: Vec<ChatMessage>,
    everything: Vec<ChatMessage>,
    dump: Vec<Vec<u8>>,
}

impl Fixture {
    async fn new() -> Option<Self> {
        let server = server::start()?;
        let (builder, prefix) = builder(&server);
        let mut raw = Raw::of(&server, &prefix);
        // The test makes thousands of changes that need not be durable.
        raw.run("CONFIG SET appendonly no");
        let store = builder.evicted_messages(EvictedMessages::Keep).connect().await.unwrap();
        let id = MemoryId::from("klaus");
        store.update_messages(&id, &dialogue(0..4)).await.unwrap();
        store.commit(&id, Change::advance(None, 0..2, dialogue(4..5))).await.unwrap();
        let version = store.load(&id).await.unwrap().version();
        let dump = raw.dump("klaus");
        let (messages, everything) = (dialogue(2..5), dialogue(0..5));
        Some(Self { _server: server, store, raw, id, version, messages, everything, dump })
    }

    /// Runs all operations on the damaged conversation, and repairs it.
    async fn check(&mut self, case: &str) {
        let Self { store, raw, id, .. } = self;
        let dump = raw.dump("klaus");
        let loaded = store.load(id).await;
        let is_readable = loaded.is_ok();
        match loaded {
            Ok(read) => assert_eq!(read.messages().to_vec(), self.messages, "{case}"),
            Err(error) => assert_unreadable(case, &error),
        }
        match store.history(id, HistoryPosition::Oldest, 100).await {
            Ok(read) => {
                let read: Vec<_> = read.into_iter().map(|entry| entry.message).collect();
                assert_eq!(read, self.everything, "{case}");
            }
            Err(error) => assert_unreadable(case, &error),
        }
        if let Err(error) = store.conversation(id).await {
            assert_unreadable(case, &error);
        }
        assert!(!store.export_raw(id).await.unwrap().is_empty());
        if !is_readable {
            let error = store.update_messages(id, &dialogue(0..1)).await.unwrap_err();
            assert_unreadable(case, &error);
        }
        assert_eq!(raw.dump("klaus"), dump, "{case}");
        let change = Change::advance(self.version, 0..1, dialogue(9..10));
        if let Err(error) = store.commit(id, change).await {
            assert!(matches!(error.kind(), ErrorKind::Store | ErrorKind::Conflict), "{error}");
            assert_eq!(raw.dump("klaus"), dump, "{case}: {error}");
        }
        raw.restore("klaus", &self.dump);
    }
}

/// Checks that the error is an unreadable record.
fn assert_unreadable(case: &str, error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Store, "{case}: {error}");
    assert!(error.detail::<UnreadableRecord>().is_some(), "{case}: {error}");
}

/// Returns texts that differ from this one in one bit, or have one byte less or more.
pub(super) fn mutations(text: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let flipped = (0..text.len() * 8).map(|bit| {
        let mut text = text.to_vec();
        text[bit / 8] ^= 1 << (bit % 8);
        text
    });
    let shorter = text.split_last().map(|(_, rest)| rest.to_vec());
    flipped.chain(shorter).chain([[text, b"0"].concat(), [b"0", text].concat(), Vec::new()])
}

#[tokio::test]
async fn damaged_head_is_detected_or_harmless() {
    let Some(mut fixture) = Fixture::new().await else { return };
    let head = fixture.raw.key("head", "klaus");
    for field in ["version", "messages", "used", "commits"] {
        let value: Vec<u8> = fixture.raw.query(&[b"HGET", head.as_bytes(), field.as_bytes()]);
        for damaged in mutations(&value) {
            let command = [b"HSET", head.as_bytes(), field.as_bytes(), &damaged];
            let _: u64 = fixture.raw.query(&command);
            fixture.check(&format!("{field} {}", damaged.escape_ascii())).await;
        }
        let _: u64 = fixture.raw.query(&[b"HDEL", head.as_bytes(), field.as_bytes()]);
        fixture.check(&format!("{field} is missing")).await;
    }
    let _: u64 = fixture.raw.query(&[b"DEL", head.as_bytes()]);
    fixture.check("the head is missing").await;
}

#[tokio::test]
async fn damaged_rows_are_detected_or_harmless() {
    let Some(mut fixture) = Fixture::new().await else { return };
    for kind in ["messages", "history"] {
        let key = fixture.raw.key(kind, "klaus");
        let rows: Vec<(Vec<u8>, String)> =
            fixture.raw.query(&[b"ZRANGE", key.as_bytes(), b"0", b"-1", b"WITHSCORES"]);
        for (member, score) in rows {
            let number: u64 = score.parse().unwrap();
            let others = mutations(&member).map(|damaged| (damaged, score.clone()));
            let scores = [number + 1, number - 1, 0, 1 << 53].map(|score| score.to_string());
            let scores = scores.into_iter().chain(["-1", "inf", "-inf", "0.5"].map(str::to_owned));
            let moved = scores.map(|score| (member.clone(), score));
            for (damaged, score) in others.chain(moved) {
                let _: u64 = fixture.raw.query(&[b"ZREM", key.as_bytes(), &member]);
                let _: u64 =
                    fixture.raw.query(&[b"ZADD", key.as_bytes(), score.as_bytes(), &damaged]);
                fixture.check(&format!("{kind} {score} {}", damaged.escape_ascii())).await;
            }
            let _: u64 = fixture.raw.query(&[b"ZREM", key.as_bytes(), &member]);
            if kind == "messages" {
                let error = fixture.store.load(&fixture.id).await.unwrap_err();
                assert_unreadable("a message is missing", &error);
            }
            fixture.raw.restore("klaus", &fixture.dump);
        }
    }
}
