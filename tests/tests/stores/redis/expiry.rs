//! Expiry of conversations and leases.

use super::{Raw, builder, dialogue, id};
use ai_services::ErrorKind;
use ai_services::memory::{
    Change, ChatMemoryStore, ConversationLeases, ConversationStore, EvictedMessages, LeaseOptions,
    LeaseRequest, LeaseToken,
};
use ai_services_tests::servers::redis as server;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

#[tokio::test]
async fn redis_conversation_expires_as_a_whole() {
    let Some(server) = server::shared() else { return };
    let (builder, prefix) = builder(server);
    let builder = builder.evicted_messages(EvictedMessages::Keep);
    let hour = Duration::from_secs(3600);
    let store = builder.clone().time_to_live(hour).connect().await.unwrap();
    let mut raw = Raw::of(server, &prefix);
    let mut ends = move || {
        let keys = ["head", "messages", "history"].map(|kind| raw.key(kind, "klaus"));
        keys.map(|key| raw.query::<i64>(&[b"PEXPIRETIME", key.as_bytes()]))
    };
    let now =
        || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as i64;

    let began = now();
    store.update_messages(&id(), &dialogue(0..3)).await.unwrap();
    store.commit(&id(), Change::advance(None, 0..1, dialogue(3..4))).await.unwrap();
    let [head, messages, history] = ends();
    assert!(head == messages && head == history);
    assert!((began + 3_600_000..=now() + 3_600_000).contains(&head), "{head}");

    let longer = builder.clone().time_to_live(2 * hour).connect().await.unwrap();
    longer.commit(&id(), Change::advance(None, 0..0, dialogue(4..5))).await.unwrap();
    let [head, messages, history] = ends();
    assert!(head == messages && head == history && head > began + 7_199_000);

    let forever = builder.connect().await.unwrap();
    forever.commit(&id(), Change::advance(None, 0..0, dialogue(5..6))).await.unwrap();
    assert_eq!(ends(), [-1; 3]);
}

#[tokio::test]
async fn redis_expired_conversation_leaves_the_index() {
    let Some(server) = server::shared() else { return };
    let (builder, prefix) = builder(server);
    let store = builder.time_to_live(Duration::from_millis(1)).connect().await.unwrap();
    let mut raw = Raw::of(server, &prefix);
    let mut indexed = move || {
        let count = |raw: &mut Raw, index| {
            raw.query::<u64>(&[b"ZCARD", format!("{{{prefix}}}:{index}").as_bytes()])
        };
        (count(&mut raw, "ids"), count(&mut raw, "used"))
    };
    for n in 0..5 {
        store.update_messages(&format!("{n}").into(), &dialogue(0..1)).await.unwrap();
    }
    assert_eq!(indexed(), (5, 5));
    while store.conversation(&"4".into()).await.unwrap().is_some() {}
    assert_eq!(store.conversations(None, 2).await.unwrap(), []);
    assert_eq!(indexed(), (0, 0));

    // Commits sweep expired conversations, too.
    for n in 0..200 {
        store.update_messages(&format!("{n}").into(), &dialogue(0..1)).await.unwrap();
    }
    assert!(indexed().1 < 180, "{:?}", indexed());
}

#[tokio::test]
async fn redis_lease_expires_or_ends_with_the_conversation() {
    let Some(server) = server::shared() else { return };
    let (builder, prefix) = builder(server);
    let store = Arc::new(builder.leases(LeaseOptions::new()).connect().await.unwrap());
    let request = LeaseRequest::new(&(store.clone() as Arc<dyn ChatMemoryStore>), &id()).unwrap();
    let lease = request.clone().wait(Duration::ZERO).await.unwrap();
    let mut raw = Raw::of(server, &prefix);
    let key = raw.key("lease", "klaus");
    let left: i64 = raw.query(&[b"PTTL", key.as_bytes()]);
    assert!((25_000..=30_000).contains(&left), "{left}");

    let _: u64 = raw.query(&[b"DEL", key.as_bytes()]);
    let change = Change::advance(None, 0..0, dialogue(0..1)).with_lease(lease.token());
    let error = store.commit(&id(), change.clone()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("lease"), "{error}");
    assert!(store.acquire(&id(), lease.token()).await.unwrap());
    store.commit(&id(), change).await.unwrap();
    assert_eq!(raw.query::<u64>(&[b"EXISTS", key.as_bytes()]), 0);

    assert!(store.acquire(&id(), lease.token()).await.unwrap());
    store.delete_messages(&id()).await.unwrap();
    assert!(request.wait(Duration::ZERO).await.is_ok());
}

#[tokio::test]
async fn redis_lease_expires_if_the_clock_is_set_back() {
    let Some(server) = server::shared() else { return };
    let (builder, prefix) = builder(server);
    let store = builder.leases(LeaseOptions::new()).connect().await.unwrap();
    let (lost, next) = (LeaseToken::new(), LeaseToken::new());
    assert!(store.acquire(&id(), lost).await.unwrap());
    assert!(!store.acquire(&id(), next).await.unwrap());
    // The expiry by a clock that was an hour ahead.
    let mut raw = Raw::of(server, &prefix);
    let key = raw.key("lease", "klaus");
    raw.run(&format!("PEXPIRE {key} 3630000"));
    assert!(store.acquire(&id(), next).await.unwrap());
    assert!(!store.acquire(&id(), lost).await.unwrap());
    let change = || Change::advance(None, 0..0, dialogue(0..1));
    let error = store.commit(&id(), change().with_lease(lost)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    store.commit(&id(), change().with_lease(next)).await.unwrap();
    assert!(store.acquire(&id(), lost).await.unwrap());
}
