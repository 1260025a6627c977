//! Commits over connections that break.

use super::proxy::{Cut, Proxy};
use super::{builder, open, server, turn, user};
use ai_services::ErrorKind;
use ai_services::memory::{
    Change, ChatMemoryStore, CommitState, ConversationStore, EvictedMessages, HistoryPosition,
    LeaseOptions, LeaseRequest, MemoryId, RequestId, UnknownCommit,
};
use ai_services::message::ChatMessage;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn append(number: usize) -> Change {
    Change::advance(None, 0..0, turn(number))
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_commit_on_broken_connection_is_applied_once() {
    let Some(server) = server::shared() else { return };
    let builder = builder(server);
    let direct = open(builder.clone()).await;
    let proxy = Proxy::to(server.address()).await;
    let store = builder.contact_points([&proxy.address]).connect().await.unwrap();
    let id = MemoryId::from("klaus");
    let mut expected = Vec::new();
    let cuts = [Cut::BeforeRequest, Cut::BeforeAnswer, Cut::AfterUnreadableAnswer];
    for (number, when) in cuts.into_iter().cycle().take(6).enumerate() {
        let version = direct.load(&id).await.unwrap().version();
        // With and without an expected version.
        let change = match number {
            0..3 => Change::advance(version, 0..0, turn(number)),
            _ => append(number),
        };
        expected.extend(turn(number));
        let before = proxy.batches();
        proxy.cut(when);
        store.commit(&id, change).await.unwrap();
        assert_eq!(direct.get_messages(&id).await.unwrap(), expected);
        let needed = if when == Cut::BeforeRequest { 2 } else { 1 };
        assert_eq!(proxy.batches() - before, needed, "batches of commit {number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_commit_is_found_behind_other_commits() {
    let Some(server) = server::shared() else { return };
    let builder = builder(server).evicted_messages(EvictedMessages::Keep);
    let direct = open(builder.clone()).await;
    let proxy = Proxy::to(server.address()).await;
    let store = builder.contact_points([&proxy.address]).connect().await.unwrap();
    // Another commit follows, or evicts the messages of the commit, or comes first.
    for (name, when, evicted) in [
        ("behind", Cut::BeforeAnswer, 0..0),
        ("evicted", Cut::BeforeAnswer, 0..2),
        ("instead", Cut::BeforeRequest, 0..0),
    ] {
        let id = MemoryId::from(name);
        proxy.hold(when);
        let other = async {
            proxy.reached().await;
            direct.commit(&id, Change::advance(None, evicted, turn(2))).await.unwrap();
            proxy.release();
        };
        let (done, ()) = tokio::join!(store.commit(&id, append(1)), other);
        done.unwrap();
        let history = direct.history(&id, HistoryPosition::Oldest, 10).await.unwrap();
        let found: Vec<ChatMessage> = history.into_iter().map(|entry| entry.message).collect();
        let expected = match when {
            Cut::BeforeRequest => [turn(2), turn(1)].concat(),
            _ => [turn(1), turn(2)].concat(),
        };
        assert_eq!(found, expected, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_commit_behind_32_others_has_an_unknown_outcome() {
    let Some(server) = server::shared() else { return };
    let builder = builder(server);
    let direct = open(builder.clone()).await;
    let proxy = Proxy::to(server.address()).await;
    let store = builder.contact_points([&proxy.address]).connect().await.unwrap();
    for others in [31, 32] {
        let id = MemoryId::from(&others);
        let request = RequestId::new("mine").unwrap();
        proxy.hold(Cut::BeforeAnswer);
        let follow = async {
            proxy.reached().await;
            // The messages of the commit are forgotten.
            for _ in 0..others {
                direct.commit(&id, Change::advance(None, 0..2, turn(2))).await.unwrap();
            }
            proxy.release();
        };
        let mine = store.commit(&id, append(1).with_request(request.clone()));
        let (done, ()) = tokio::join!(mine, follow);
        assert_eq!(direct.get_messages(&id).await.unwrap(), turn(2));
        let state = direct.commit_state(&id, &request).await.unwrap();
        if others < 32 {
            done.unwrap();
            assert_eq!(state, CommitState::Committed);
        } else {
            assert_eq!(done.unwrap_err().kind(), ErrorKind::UnknownOutcome);
            assert_eq!(state, CommitState::NotFound);
        }
    }
}

/// Loses the answer to a commit, and permits no other connection.
async fn assert_found_by_its_request(when: Cut) {
    let Some(server) = server::shared() else { return };
    let builder = builder(server).request_timeout(Duration::from_secs(5));
    let direct = open(builder.clone()).await;
    let proxy = Proxy::to(server.address()).await;
    let store = builder.contact_points([&proxy.address]).connect().await.unwrap();
    let (id, request) = (MemoryId::from("klaus"), RequestId::new("mine").unwrap());
    proxy.hold(when);
    let refuse = async {
        proxy.reached().await;
        proxy.refuse();
        proxy.release();
    };
    let mine = store.commit(&id, append(1).with_request(request.clone()));
    let (done, ()) = tokio::join!(mine, refuse);
    let error = done.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownOutcome, "{error}");
    assert_eq!(error.detail::<UnknownCommit>().unwrap().request, request);
    assert_eq!(direct.commit_state(&id, &request).await.unwrap(), CommitState::Committed);
    assert_eq!(direct.get_messages(&id).await.unwrap(), turn(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_commit_on_broken_connection_is_found_by_its_request() {
    assert_found_by_its_request(Cut::BeforeAnswer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_commit_with_unreadable_answer_is_found_by_its_request() {
    assert_found_by_its_request(Cut::AfterUnreadableAnswer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_superseded_commit_is_a_conflict() {
    let Some(server) = server::shared() else { return };
    let builder = builder(server);
    let direct = open(builder.clone()).await;
    let proxy = Proxy::to(server.address()).await;
    let store = builder.contact_points([&proxy.address]).connect().await.unwrap();
    let id = MemoryId::from("klaus");
    direct.commit(&id, append(1)).await.unwrap();
    let version = direct.load(&id).await.unwrap().version();
    proxy.hold(Cut::BeforeRequest);
    let other = async {
        proxy.reached().await;
        direct.commit(&id, append(2)).await.unwrap();
        proxy.release();
    };
    let late = store.commit(&id, Change::advance(version, 0..0, turn(3)));
    let (done, ()) = tokio::join!(late, other);
    assert_eq!(done.unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(direct.get_messages(&id).await.unwrap(), [turn(1), turn(2)].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_deletion_on_broken_connection_is_applied() {
    let Some(server) = server::shared() else { return };
    let builder = builder(server);
    let direct = open(builder.clone()).await;
    let proxy = Proxy::to(server.address()).await;
    let store = builder.contact_points([&proxy.address]).connect().await.unwrap();
    let id = MemoryId::from("klaus");
    for when in [Cut::BeforeRequest, Cut::BeforeAnswer] {
        store.commit(&id, append(1)).await.unwrap();
        proxy.cut(when);
        store.delete_messages(&id).await.unwrap();
        assert_eq!(direct.export_raw(&id).await.unwrap(), []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_too_large_turn_is_rejected() {
    let Some(server) = server::shared() else { return };
    let store = open(builder(server)).await;
    let id = MemoryId::from("klaus");
    store.commit(&id, append(1)).await.unwrap();
    for bytes in [17_000_000, 40_000_000] {
        let change = Change::advance(None, 0..0, vec![user(&"x".repeat(bytes))]);
        let error = store.commit(&id, change).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
        assert!(error.to_string().contains("16 MiB"), "{error}");
    }
    assert_eq!(store.get_messages(&id).await.unwrap(), turn(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_evicted_messages_of_any_size_are_kept() {
    let Some(server) = server::shared() else { return };
    let store = open(builder(server).evicted_messages(EvictedMessages::Keep)).await;
    let id = MemoryId::from("klaus");
    let large: Vec<_> = ["a", "b", "c"].map(|letter| user(&letter.repeat(7_000_000))).into();
    for message in &large {
        store.commit(&id, Change::advance(None, 0..0, vec![message.clone()])).await.unwrap();
    }
    store.commit(&id, Change::advance(None, 0..3, turn(1))).await.unwrap();
    assert_eq!(store.get_messages(&id).await.unwrap(), turn(1));
    let history = store.history(&id, HistoryPosition::Oldest, 10).await.unwrap();
    let evicted = history.iter().filter(|entry| entry.is_evicted).map(|entry| &entry.message);
    assert!(evicted.eq(&large));
    assert_eq!(history.len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_lease_expires() {
    let Some(server) = server::shared() else { return };
    let duration = Duration::from_secs(2);
    let options = LeaseOptions::new().duration(duration);
    let store = open(builder(server).leases(options)).await;
    let (id, shared) =
        (MemoryId::from("klaus"), Arc::new(store.clone()) as Arc<dyn ChatMemoryStore>);
    let request = || LeaseRequest::new(&shared, &id).unwrap().wait(Duration::from_secs(10));
    let began = Instant::now();
    let lost = request().await.unwrap();
    let late = append(1).with_lease(lost.token());
    // The holder does not release it.
    std::mem::forget(lost);
    let next = request().await.unwrap();
    let lasted = began.elapsed();
    assert!(lasted >= duration, "{lasted:?}");
    assert!(lasted < duration + Duration::from_secs(2), "{lasted:?}");
    let error = store.commit(&id, late).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("lease"), "{error}");
    store.commit(&id, append(2).with_lease(next.token())).await.unwrap();
    assert_eq!(store.get_messages(&id).await.unwrap(), turn(2));
}
