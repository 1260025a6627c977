//! Commits whose answers are lost.

use super::proxy::{Loss, Proxy};
use super::{builder, dialogue, id, port};
use ai_services::ErrorKind;
use ai_services::memory::{Change, ChatMemoryStore, CommitState, RequestId, UnknownCommit};
use ai_services::message::ChatMessage;
use ai_services::store::redis::RedisChatMemoryStore;
use ai_services_tests::servers::redis as server;
use futures_util::future::join;
use std::time::Duration;

/// A store behind a proxy that loses answers, and a second store that uses the server directly.
pub(super) async fn with_proxy(
    loss: Loss,
) -> Option<(RedisChatMemoryStore, Proxy, RedisChatMemoryStore)> {
    let server = server::shared()?;
    let (builder, _) = builder(server);
    let direct = builder.clone().connect().await.unwrap();
    let proxy = Proxy::before(port(server), loss).await;
    let url = server.url().replace(&format!(":{}/", port(server)), &format!(":{}/", proxy.port()));
    let timeout = Duration::from_millis(500);
    let builder = builder.url(url).connections(1).connect_timeout(timeout);
    let store = builder.response_timeout(timeout).connect().await.unwrap();
    Some((store, proxy, direct))
}

/// Loses the answer to a commit, and makes `others` commits with another store before the first one reconnects.
/// Returns the outcome of the commit and the number of stored messages, which were two before.
async fn lost_answer(
    loss: Loss,
    change: impl Fn(Option<u64>) -> Change,
    others: usize,
) -> Option<(ai_services::Result<()>, Vec<ChatMessage>)> {
    let (store, proxy, direct) = with_proxy(loss).await?;
    direct.update_messages(&id(), &dialogue(0..2)).await.unwrap();
    let version = direct.load(&id()).await.unwrap().version();
    proxy.lose_next_answer();
    let id = id();
    let meanwhile = async {
        proxy.lost().await;
        for n in 3..3 + others {
            let change = Change::advance(None, 0..0, dialogue(n..n + 1));
            direct.commit(&id, change).await.unwrap();
        }
        proxy.open();
    };
    let (outcome, ()) = join(store.commit(&id, change(version)), meanwhile).await;
    Some((outcome, direct.get_messages(&id).await.unwrap()))
}

async fn is_applied_once(loss: Loss, change: impl Fn(Option<u64>) -> Change, others: usize) {
    let Some((outcome, messages)) = lost_answer(loss, change, others).await else { return };
    outcome.unwrap();
    assert_eq!(messages, dialogue(0..3 + others));
}

#[tokio::test]
async fn redis_commit_with_lost_answer_is_applied_once() {
    is_applied_once(Loss::Cut, |version| Change::advance(version, 0..0, dialogue(2..3)), 0).await;
}

#[tokio::test]
async fn redis_commit_without_answer_is_applied_once() {
    is_applied_once(Loss::Silence, |version| Change::advance(version, 0..0, dialogue(2..3)), 0)
        .await;
}

#[tokio::test]
async fn redis_commit_is_found_behind_other_commits() {
    for others in [5, 31] {
        let change = |version| Change::advance(version, 0..0, dialogue(2..3));
        is_applied_once(Loss::Cut, change, others).await;
        is_applied_once(Loss::Cut, |_| change(None), others).await;
    }
}

#[tokio::test]
async fn redis_commit_behind_32_others_has_an_unknown_outcome() {
    for change in [
        |version| Change::advance(version, 0..0, dialogue(2..3)),
        |_| Change::advance(None, 0..0, dialogue(2..3)),
        |version| Change::replace(version, dialogue(0..3).into()),
    ] {
        let Some((outcome, messages)) = lost_answer(Loss::Cut, change, 32).await else { return };
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownOutcome, "{error}");
        assert_eq!(messages, dialogue(0..35), "it was applied once");
    }
}

#[tokio::test]
async fn redis_commit_on_broken_connection_is_found_by_its_request() {
    let Some((store, proxy, direct)) = with_proxy(Loss::Cut).await else { return };
    let change = |name| {
        let change = Change::advance(Some(0), 0..0, dialogue(0..1));
        change.with_request(RequestId::new(name).unwrap())
    };
    proxy.lose_next_answer();
    // The proxy does not permit another connection.
    let error = store.commit(&id(), change("sent")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownOutcome, "{error}");
    assert!(!error.is_retryable());
    let UnknownCommit { id, request, cause, .. } = error.detail().unwrap();
    assert_eq!((request.as_str(), cause.kind()), ("sent", ErrorKind::Connection), "{error}");
    assert_eq!(direct.commit_state(id, request).await.unwrap(), CommitState::Committed);

    let error = store.commit(id, change("not sent")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    let request = RequestId::new("not sent").unwrap();
    assert_eq!(direct.commit_state(id, &request).await.unwrap(), CommitState::NotFound);
    assert_eq!(direct.get_messages(id).await.unwrap(), dialogue(0..1));
}

#[tokio::test]
async fn redis_unversioned_commit_is_applied_once() {
    is_applied_once(Loss::Cut, |_| Change::advance(None, 0..0, dialogue(2..3)), 2).await;
    is_applied_once(Loss::Cut, |_| Change::replace(None, dialogue(0..3).into()), 0).await;
}
