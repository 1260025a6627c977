//! Rate limits.

use super::{asking, failing, streamed};
use ai_services::combinators::{RateLimitedModel, RateLimiter, RateLimiterBuilder};
use ai_services::message::ChatMessage;
use ai_services::model::{
    ChatModel, ChatRequest, ChatRequestParameters, ModelStreamEvent, TokenUsage,
};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{Error, ErrorKind};
use futures_util::StreamExt;
use futures_util::future::join_all;
use proptest::prelude::*;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

const MINUTE: u64 = 60;

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn limited(limiter: RateLimiterBuilder, model: &ScriptedChatModel) -> RateLimitedModel {
    RateLimitedModel::new(model.clone(), limiter.build().unwrap())
}

/// Time and text of a request.
type LogEntry = (Instant, String);

/// A model that takes a second per request, and a log of its requests.
fn logging_model() -> (ScriptedChatModel, Arc<Mutex<Vec<LogEntry>>>) {
    let log: Arc<Mutex<Vec<LogEntry>>> = Arc::default();
    let model_log = Arc::clone(&log);
    let model = ScriptedChatModel::from_fn(move |_, request| {
        let text = request.messages().next().and_then(ChatMessage::text).unwrap().to_owned();
        model_log.lock().unwrap().push((Instant::now(), text));
        ScriptedAnswer::text("ok").after(seconds(1))
    });
    (model, log)
}

/// Creates a request with about `input` tokens of input and a limit of `output` tokens.
fn sized(input: usize, output: u32) -> ChatRequest {
    ChatRequest::builder()
        .messages([ChatMessage::user("word".repeat(input - 7))])
        .parameters(ChatRequestParameters::new().max_output_tokens(output))
        .build()
}

#[tokio::test(start_paused = true)]
async fn requests_wait_in_order_for_the_window() {
    let (model, log) = logging_model();
    let model = limited(RateLimiter::builder().requests_per_minute(2), &model);
    let started = Instant::now();
    let requests: Vec<_> = (0..5).map(|n| asking(&n.to_string())).collect();
    let answers = join_all(requests.iter().map(|request| model.chat(request))).await;
    assert!(answers.iter().all(Result::is_ok));
    let log = log.lock().unwrap();
    let times: Vec<_> = log.iter().map(|(at, _)| (*at - started).as_secs()).collect();
    let texts: Vec<_> = log.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(times, [0, 0, MINUTE, MINUTE, 2 * MINUTE]);
    assert_eq!(texts, ["0", "1", "2", "3", "4"]);
}

#[tokio::test(start_paused = true)]
async fn large_request_is_not_overtaken() {
    let (model, log) = logging_model();
    let model = limited(RateLimiter::builder().tokens_per_minute(100), &model);
    let requests = [sized(60, 1), sized(70, 1), sized(10, 1)];
    join_all(requests.iter().map(|request| model.chat(request))).await;
    let lengths: Vec<_> = log.lock().unwrap().iter().map(|(_, text)| text.len() / 4).collect();
    assert_eq!(lengths, [53, 63, 3]);
}

#[tokio::test(start_paused = true)]
async fn concurrent_requests_are_limited() {
    let (model, log) = logging_model();
    let model = limited(RateLimiter::builder().concurrency(2), &model);
    let started = Instant::now();
    let requests: Vec<_> = (0..6).map(|n| asking(&n.to_string())).collect();
    join_all(requests.iter().map(|request| model.chat(request))).await;
    let times: Vec<_> =
        log.lock().unwrap().iter().map(|(at, _)| (*at - started).as_secs()).collect();
    assert_eq!(times, [0, 0, 1, 1, 2, 2]);
}

#[tokio::test(start_paused = true)]
async fn reported_tokens_replace_the_estimate() {
    let answer = || ScriptedAnswer::text("ok").with_usage(TokenUsage::new(5, 5));
    let script = ScriptedChatModel::new([answer(), answer(), answer()]);
    let model = limited(RateLimiter::builder().tokens_per_minute(100), &script);
    let started = Instant::now();
    for _ in 0..3 {
        model.chat(&sized(20, 60)).await.unwrap();
    }
    assert_eq!(started.elapsed().as_secs(), 0, "10 + 10 + 80 is the limit");
}

#[tokio::test(start_paused = true)]
async fn waiting_request_is_sent_after_a_correction() {
    let slow = ScriptedAnswer::text("ok").with_usage(TokenUsage::new(5, 5)).after(seconds(3));
    let script = ScriptedChatModel::new([slow, ScriptedAnswer::text("ok")]);
    let model = limited(RateLimiter::builder().tokens_per_minute(100), &script);
    let started = Instant::now();
    let (first, second) = (sized(20, 60), sized(20, 60));
    let (_, at) = tokio::join!(model.chat(&first), async {
        model.chat(&second).await.unwrap();
        started.elapsed().as_secs()
    });
    assert_eq!(at, 3);
}

#[tokio::test(start_paused = true)]
async fn request_above_the_limit_per_minute_is_an_error() {
    let script = ScriptedChatModel::replies(["never"]);
    let model = limited(RateLimiter::builder().tokens_per_minute(100), &script);
    let error = model.chat(&sized(200, 1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(script.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn cancelled_waits_do_not_count() {
    let script = ScriptedChatModel::replies(["1", "2", "3"]);
    let model = limited(RateLimiter::builder().requests_per_minute(1), &script);
    let request = asking("x");
    model.chat(&request).await.unwrap();
    let started = Instant::now();
    for _ in 0..3 {
        assert!(timeout(seconds(1), model.chat(&request)).await.is_err());
    }
    model.chat(&request).await.unwrap();
    assert_eq!(started.elapsed().as_secs(), MINUTE);
    assert_eq!(script.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn cancelled_request_frees_its_slot() {
    let slow = ScriptedAnswer::text("slow").after(seconds(1000));
    let script = ScriptedChatModel::new([slow, ScriptedAnswer::text("fast")]);
    let model = limited(RateLimiter::builder().concurrency(1), &script);
    let request = asking("x");
    assert!(timeout(seconds(1), model.chat(&request)).await.is_err());
    assert!(timeout(seconds(1), model.chat(&request)).await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn stream_keeps_its_slot_until_its_end() {
    let script = ScriptedChatModel::replies(["1", "2", "3"]);
    let model = limited(RateLimiter::builder().concurrency(1), &script);
    let request = asking("x");
    let mut events = model.stream(&request);
    assert!(matches!(events.next().await, Some(Ok(ModelStreamEvent::Text(_)))));
    assert!(timeout(seconds(1), model.chat(&request)).await.is_err());
    assert!(matches!(events.next().await, Some(Ok(ModelStreamEvent::Completed(_)))));
    // The stream has ended, although it was not dropped.
    assert!(model.chat(&request).await.is_ok());
    drop(model.stream(&request));
    let mut dropped = model.stream(&request);
    assert!(dropped.next().await.is_some());
    drop(dropped);
    let (_, outcome) = timeout(seconds(1), streamed(&model, &request)).await.unwrap();
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Configuration, "the script has ended");
}

#[tokio::test(start_paused = true)]
async fn retry_after_pauses_all_models_of_a_limiter() {
    let refused = Error::new(ErrorKind::RateLimited, "slow down").with_retry_after(seconds(20));
    let first = ScriptedChatModel::new([refused.into()]);
    let second = ScriptedChatModel::replies(["ok"]);
    let limiter = RateLimiter::builder().build().unwrap();
    let first = RateLimitedModel::new(first, limiter.clone());
    let second = RateLimitedModel::new(second, limiter);
    let started = Instant::now();
    first.chat(&asking("x")).await.unwrap_err();
    second.chat(&asking("x")).await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 20);
}

#[tokio::test(start_paused = true)]
async fn pause_is_limited() {
    let refused = Error::new(ErrorKind::RateLimited, "slow down");
    let refused = refused.with_retry_after(seconds(1_000_000));
    let script = ScriptedChatModel::new([refused.into(), ScriptedAnswer::text("ok")]);
    let model = limited(RateLimiter::builder().max_pause(seconds(10)), &script);
    let started = Instant::now();
    model.chat(&asking("x")).await.unwrap_err();
    model.chat(&asking("x")).await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn excessive_wait_fails_immediately() {
    let script = ScriptedChatModel::replies(["1", "2"]);
    let limiter = RateLimiter::builder().requests_per_minute(1).max_wait(seconds(5));
    let model = limited(limiter, &script);
    let request = asking("x");
    model.chat(&request).await.unwrap();
    sleep(seconds(10)).await;
    let started = Instant::now();
    let error = model.chat(&request).await.unwrap_err();
    assert_eq!((error.kind(), error.retry_after()), (ErrorKind::RateLimited, Some(seconds(50))));
    assert_eq!(started.elapsed().as_secs(), 0);
    sleep(seconds(45)).await;
    assert!(model.chat(&request).await.is_ok(), "5 seconds are within the limit");
}

#[tokio::test(start_paused = true)]
async fn wait_for_a_slot_has_a_time_limit() {
    let slow = ScriptedAnswer::text("slow").after(seconds(100));
    let script = ScriptedChatModel::new([slow]);
    let model = limited(RateLimiter::builder().concurrency(1).max_wait(seconds(5)), &script);
    let request = asking("x");
    let (first, second, third) =
        tokio::join!(model.chat(&request), model.chat(&request), model.chat(&request));
    assert!(first.is_ok());
    for waited in [second, third] {
        assert_eq!(waited.unwrap_err().kind(), ErrorKind::RateLimited);
    }
}

#[tokio::test(start_paused = true)]
async fn failed_request_still_counts() {
    let script =
        ScriptedChatModel::new([failing(ErrorKind::Unavailable), ScriptedAnswer::text("ok")]);
    let model = limited(RateLimiter::builder().requests_per_minute(1), &script);
    let started = Instant::now();
    model.chat(&asking("x")).await.unwrap_err();
    model.chat(&asking("x")).await.unwrap();
    assert_eq!(started.elapsed().as_secs(), MINUTE);
}

#[test]
fn limits_of_zero_are_errors() {
    for (limiter, name) in [
        (RateLimiter::builder().requests_per_minute(0), "requests_per_minute"),
        (RateLimiter::builder().tokens_per_minute(0), "tokens_per_minute"),
        (RateLimiter::builder().concurrency(0), "concurrency"),
    ] {
        let error = limiter.build().unwrap_err();
        assert_eq!(error.to_string(), format!("`{name}` must be at least 1"));
    }
}

/// One call: start, duration, size, and time limit of the caller, in seconds and tokens.
#[derive(Clone, Debug)]
struct Call {
    begin: u64,
    takes: u64,
    tokens: usize,
    patience: Option<u64>,
}

fn call() -> impl Strategy<Value = Call> {
    (0_u64..100, 0_u64..30, 10_usize..80, prop::option::of(0_u64..100))
        .prop_map(|(begin, takes, tokens, patience)| Call { begin, takes, tokens, patience })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// With arbitrary and cancelled calls, no minute exceeds the limits of requests and tokens, concurrency
    /// stays within its limit, and every waiting call is sent.
    #[test]
    fn limits_hold_in_every_minute(
        calls in prop::collection::vec(call(), 1..30),
        (requests, concurrency) in (1_u32..6, 1_usize..4),
    ) {
        const TOKENS: u64 = 100;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time().start_paused(true).build().unwrap();
        let sent: Arc<Mutex<Vec<(Instant, u64, usize)>>> = Arc::default();
        let running = Arc::new(Mutex::new(0_usize));
        let outcomes = runtime.block_on(async {
            let limiter = RateLimiter::builder()
                .requests_per_minute(requests)
                .tokens_per_minute(TOKENS)
                .concurrency(concurrency)
                .build()
                .unwrap();
            let futures = calls.iter().map(|call| {
                let (sent, running) = (Arc::clone(&sent), Arc::clone(&running));
                let probe = Probe { sent, running, call: call.clone() };
                let model = RateLimitedModel::new(probe, limiter.clone());
                async move {
                    sleep(seconds(call.begin)).await;
                    let request = sized(call.tokens, 1);
                    match call.patience {
                        None => model.chat(&request).await.map(|_| ()).map_err(|e| e.to_string()),
                        Some(patience) => {
                            let _ = timeout(seconds(patience), model.chat(&request)).await;
                            Ok(())
                        }
                    }
                }
            });
            timeout(seconds(100_000), join_all(futures)).await
        });
        prop_assert!(outcomes.unwrap().into_iter().all(|outcome| outcome.is_ok()));
        let sent = sent.lock().unwrap();
        for (start, _, at_once) in sent.iter() {
            let end = *start + seconds(MINUTE);
            let within = || sent.iter().filter(|(at, ..)| at >= start && *at < end);
            prop_assert!(within().count() <= requests as usize);
            prop_assert!(within().map(|(_, tokens, _)| tokens).sum::<u64>() <= TOKENS);
            prop_assert!(*at_once <= concurrency);
        }
    }
}

/// A model that records the time of each request and the number of running requests.
struct Probe {
    sent: Arc<Mutex<Vec<(Instant, u64, usize)>>>,
    running: Arc<Mutex<usize>>,
    call: Call,
}

struct Running(Arc<Mutex<usize>>);

impl Drop for Running {
    fn drop(&mut self) {
        *self.0.lock().unwrap() -= 1;
    }
}

#[ai_services::async_trait]
impl ChatModel for Probe {
    async fn chat(&self, _: &ChatRequest) -> ai_services::Result<ai_services::model::ChatResponse> {
        let at_once = {
            let mut running = self.running.lock().unwrap();
            *running += 1;
            *running
        };
        let _running = Running(Arc::clone(&self.running));
        let tokens = self.call.tokens as u64 + 1;
        self.sent.lock().unwrap().push((Instant::now(), tokens, at_once));
        sleep(seconds(self.call.takes)).await;
        Ok(ai_services::model::ChatResponse::new(ai_services::message::AiMessage::new("ok")))
    }
}
