//! Caching of answers.

use super::requests::{annotated, are_equal, request};
use super::{asking, failing, streamed, text};
use ai_services::combinators::{
    CacheErrorPolicy, CacheKey, CachedModel, InMemoryResponseCache, ResponseCache,
    StoreResponseCache,
};
use ai_services::memory::{ChatMemoryStore, InMemoryChatMemoryStore, MemoryId};
use ai_services::message::{AiMessage, ChatMessage, CustomMessage, ToolCall};
use ai_services::model::{
    AnswerOrigin, ChatModel, ChatRequest, ChatRequestParameters, ChatResponse, FinishReason,
    TokenUsage,
};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{Error, ErrorKind, Result};
use proptest::prelude::*;
use std::time::Duration;

fn in_memory(model: &ScriptedChatModel) -> CachedModel {
    CachedModel::new(model.clone(), InMemoryResponseCache::new())
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[tokio::test]
async fn cached_answer_has_no_usage() {
    let answer = ScriptedAnswer::text("once").with_usage(TokenUsage::new(10, 5));
    let script = ScriptedChatModel::new([answer]);
    let model = in_memory(&script);
    let first = model.chat(&asking("x")).await.unwrap();
    let second = model.chat(&asking("x")).await.unwrap();
    assert_eq!((first.usage, first.origin), (TokenUsage::new(10, 5), AnswerOrigin::Model));
    assert!(second.usage.is_empty());
    assert_eq!((second.origin, second.message), (AnswerOrigin::Cache, first.message));
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test]
async fn different_requests_are_sent() {
    let script = ScriptedChatModel::from_fn(|number, _| ScriptedAnswer::text(number.to_string()));
    let model = in_memory(&script);
    let warm = ChatRequestParameters::new().temperature(1.0);
    let warm = ChatRequest::builder().messages([ChatMessage::user("x")]).parameters(warm).build();
    for request in [asking("x"), asking("y"), warm] {
        model.chat(&request).await.unwrap();
        model.chat(&request).await.unwrap();
    }
    assert_eq!(script.requests().len(), 3);
}

#[tokio::test]
async fn incomplete_answers_and_errors_are_not_cached() {
    let reason = |reason| ChatResponse::new(AiMessage::new("x")).with_finish_reason(reason);
    let refusal = AiMessage::builder().refusal("no").build();
    for answer in [
        reason(FinishReason::Length).into(),
        reason(FinishReason::ContentFilter).into(),
        ChatResponse::new(AiMessage::new("x")).into(),
        ChatResponse::new(refusal).with_finish_reason(FinishReason::Stop).into(),
        failing(ErrorKind::Unavailable),
    ] {
        let script = ScriptedChatModel::new([answer, ScriptedAnswer::text("whole")]);
        let model = in_memory(&script);
        let _ = model.chat(&asking("x")).await;
        assert_eq!(text(&model.chat(&asking("x")).await.unwrap()), "whole");
    }
}

#[tokio::test]
async fn tool_calls_are_cached() {
    let call = ToolCall::new("1", "clock", "{}");
    let script = ScriptedChatModel::new([ScriptedAnswer::tool_calls([call.clone()])]);
    let model = in_memory(&script);
    model.chat(&asking("x")).await.unwrap();
    assert_eq!(model.chat(&asking("x")).await.unwrap().message.tool_calls(), [call]);
}

#[tokio::test]
async fn cached_requests_and_answers_can_be_selected() {
    let script = ScriptedChatModel::from_fn(|number, _| ScriptedAnswer::text(number.to_string()));
    let model = CachedModel::builder(script.clone(), InMemoryResponseCache::new())
        .cache_request_if(|request| request.message_count() == 1)
        .cache_answer_if(|response| response.message.text() != Some("0"))
        .build();
    for expected in ["0", "1", "1"] {
        assert_eq!(text(&model.chat(&asking("x")).await.unwrap()), expected);
    }
    let two = ChatRequest::new([ChatMessage::user("x"), ChatMessage::ai("y")]);
    for expected in ["2", "3"] {
        assert_eq!(text(&model.chat(&two).await.unwrap()), expected);
    }
}

#[tokio::test]
async fn namespaces_are_separate() {
    let cache = InMemoryResponseCache::new();
    let model = |namespace: &str, answer: &str| {
        CachedModel::builder(ScriptedChatModel::replies([answer]), cache.clone())
            .namespace(namespace)
            .build()
    };
    let (one, other) = (model("one", "1"), model("other", "2"));
    assert_eq!(text(&one.chat(&asking("x")).await.unwrap()), "1");
    assert_eq!(text(&other.chat(&asking("x")).await.unwrap()), "2");
}

#[tokio::test]
async fn streams_and_answers_share_the_cache() {
    let script = ScriptedChatModel::new([ScriptedAnswer::pieces(["a", "b"])]);
    let model = in_memory(&script);
    let (texts, outcome) = streamed(&model, &asking("x")).await;
    assert_eq!(
        (texts, outcome.unwrap().origin),
        (vec!["a".into(), "b".into()], AnswerOrigin::Model)
    );
    assert_eq!(text(&model.chat(&asking("x")).await.unwrap()), "ab");
    let (texts, outcome) = streamed(&model, &asking("x")).await;
    assert_eq!((texts, outcome.unwrap().origin), (vec!["ab".into()], AnswerOrigin::Cache));
}

#[tokio::test]
async fn failed_stream_is_not_cached() {
    let broken = ScriptedAnswer::pieces(["a"]).then_error(ErrorKind::Connection, "broke");
    let script = ScriptedChatModel::new([broken, ScriptedAnswer::text("whole")]);
    let model = in_memory(&script);
    assert!(streamed(&model, &asking("x")).await.1.is_err());
    assert_eq!(text(&model.chat(&asking("x")).await.unwrap()), "whole");
}

#[tokio::test(start_paused = true)]
async fn equal_concurrent_calls_are_sent_once() {
    let slow = ScriptedAnswer::text("once").after(seconds(5));
    let script = ScriptedChatModel::new([slow]);
    let model = in_memory(&script);
    let request = asking("x");
    let (a, b, c) = tokio::join!(model.chat(&request), model.chat(&request), model.chat(&request));
    let origins = [a, b, c].map(|response| response.unwrap().origin);
    assert_eq!(origins, [AnswerOrigin::Model, AnswerOrigin::Cache, AnswerOrigin::Cache]);
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn followers_call_the_model_if_the_leader_fails() {
    let script = ScriptedChatModel::from_fn(|number, _| match number {
        0 => failing(ErrorKind::Unavailable).after(seconds(5)),
        _ => ScriptedAnswer::text("ok").after(seconds(5)),
    });
    let model = in_memory(&script);
    let request = asking("x");
    let started = tokio::time::Instant::now();
    let (a, b, c) = tokio::join!(model.chat(&request), model.chat(&request), model.chat(&request));
    assert!(a.is_err() && b.is_ok() && c.is_ok());
    assert_eq!(started.elapsed(), seconds(10), "the followers run concurrently");
}

#[tokio::test(start_paused = true)]
async fn follower_continues_if_the_leader_is_dropped() {
    let slow = ScriptedAnswer::text("never").after(seconds(100));
    let script = ScriptedChatModel::new([slow, ScriptedAnswer::text("ok")]);
    let model = in_memory(&script);
    let request = asking("x");
    let leader = tokio::time::timeout(seconds(1), model.chat(&request));
    let (leader, follower) = tokio::join!(leader, model.chat(&request));
    assert!(leader.is_err());
    assert_eq!(text(&follower.unwrap()), "ok");
}

#[tokio::test(start_paused = true)]
async fn answers_expire() {
    let script = ScriptedChatModel::replies(["1", "2"]);
    let cache = InMemoryResponseCache::builder().time_to_live(seconds(60)).build();
    let model = CachedModel::new(script, cache);
    for (pause, expected) in [(0, "1"), (59, "1"), (1, "2"), (59, "2")] {
        tokio::time::advance(seconds(pause)).await;
        assert_eq!(text(&model.chat(&asking("x")).await.unwrap()), expected);
    }
}

#[tokio::test]
async fn least_recently_used_answer_is_evicted() {
    let cache = InMemoryResponseCache::builder().max_entries(2).build();
    let key = |text| CacheKey::of(&asking(text), "m", "").unwrap();
    let answer = ChatResponse::new(AiMessage::new("x"));
    for text in ["a", "b"] {
        cache.put(&key(text), &answer).await.unwrap();
    }
    assert!(cache.get(&key("a")).await.unwrap().is_some());
    cache.put(&key("c"), &answer).await.unwrap();
    cache.put(&key("c"), &answer).await.unwrap();
    assert_eq!(cache.len(), 2);
    assert!(cache.get(&key("a")).await.unwrap().is_some());
    assert!(cache.get(&key("b")).await.unwrap().is_none());
}

#[tokio::test]
async fn stored_answers_can_be_shared() {
    let store = InMemoryChatMemoryStore::new();
    let call = ToolCall::new("1", "clock", "{}");
    let message = AiMessage::builder().text("t").thinking("hm").tool_calls([call]).build();
    let mut answer = ChatResponse::new(message)
        .with_usage(TokenUsage::new(3, 4).with_total(Some(9)).with_reasoning(Some(2)))
        .with_finish_reason(FinishReason::ToolExecution);
    (answer.model, answer.id, answer.attempts) = (Some("m".into()), Some("i".into()), Some(2));
    let script = ScriptedChatModel::new([answer.clone().into()]);
    CachedModel::new(script, StoreResponseCache::new(store.clone()))
        .chat(&asking("x"))
        .await
        .unwrap();

    let cache = StoreResponseCache::new(store.clone());
    let key = CacheKey::of(&asking("x"), "scripted", "").unwrap();
    assert_eq!(cache.get(&key).await.unwrap(), Some(answer));
    let later = CachedModel::new(ScriptedChatModel::replies(["no"]), cache);
    assert_eq!(text(&later.chat(&asking("x")).await.unwrap()), "t");
    let expired = StoreResponseCache::new(store).time_to_live(Duration::ZERO);
    assert!(expired.get(&key).await.unwrap().is_none());
}

#[tokio::test]
async fn invalid_entries_are_cache_misses_by_default() {
    let key = CacheKey::of(&asking("x"), "scripted", "").unwrap();
    let id = MemoryId::from(format!("response-cache:{key}"));
    let custom = |json: serde_json::Value| -> ChatMessage {
        CustomMessage::new(json.as_object().unwrap().clone()).into()
    };
    let own = serde_json::json!({
        "format": "ai-services/cached-response", "version": 1, "key": key.to_string(), "stored": 0,
    });
    let mut other = own.clone();
    other["key"] = "other".into();
    for entry in [
        vec![ChatMessage::user("a conversation")],
        vec![ChatMessage::user("1"), ChatMessage::ai("2")],
        vec![custom(serde_json::json!({}))],
        vec![custom(own)],
        vec![custom(other)],
    ] {
        let store = InMemoryChatMemoryStore::new();
        store.update_messages(&id, &entry).await.unwrap();
        let strict = CachedModel::builder(
            ScriptedChatModel::replies(["never"]),
            StoreResponseCache::new(store.clone()),
        );
        let strict = strict.cache_errors(CacheErrorPolicy::Fail).build();
        assert_eq!(strict.chat(&asking("x")).await.unwrap_err().kind(), ErrorKind::Store);
        let script = ScriptedChatModel::replies(["fresh"]);
        let lenient = CachedModel::new(script.clone(), StoreResponseCache::new(store));
        for _ in 0..2 {
            assert_eq!(text(&lenient.chat(&asking("x")).await.unwrap()), "fresh");
        }
        assert_eq!(script.requests().len(), 1, "the entry was replaced");
    }
}

struct FailingCache;

#[ai_services::async_trait]
impl ResponseCache for FailingCache {
    async fn get(&self, _: &CacheKey) -> Result<Option<ChatResponse>> {
        Err(Error::new(ErrorKind::Store, "gone"))
    }

    async fn put(&self, _: &CacheKey, _: &ChatResponse) -> Result<()> {
        Err(Error::new(ErrorKind::Store, "gone"))
    }

    async fn remove(&self, _: &CacheKey) -> Result<()> {
        Err(Error::new(ErrorKind::Store, "gone"))
    }
}

#[tokio::test]
async fn failing_cache_does_not_fail_the_call() {
    let model = CachedModel::new(ScriptedChatModel::replies(["1", "2"]), FailingCache);
    assert_eq!(text(&model.chat(&asking("x")).await.unwrap()), "1");
    assert_eq!(streamed(&model, &asking("x")).await.0, ["2"]);
}

proptest! {
    /// Keys are equal if and only if the requests are equal.
    #[test]
    fn keys_are_equal_only_for_equal_requests(a in request(), b in request()) {
        let key = |request: &ChatRequest| CacheKey::of(request, "m", "n").unwrap();
        prop_assert_eq!(key(&a) == key(&b), are_equal(&a, &b));
        prop_assert_eq!(key(&a), key(&a));
        prop_assert_eq!(key(&a), key(&annotated(&a)));
        prop_assert_ne!(key(&a), CacheKey::of(&a, "m2", "n").unwrap());
        prop_assert_ne!(key(&a), CacheKey::of(&a, "m", "n2").unwrap());
    }
}
