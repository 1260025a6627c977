//! Stalled, slow and endless answers, and callers that cancel.

use super::start;
use ai_services::ErrorKind;
use ai_services_tests::PATIENCE;
use ai_services_tests::fault_server::Step::{Flood, Hang, Request, Send, Trickle};
use ai_services_tests::fault_server::{FaultServer, Step, once, until_close};
use ai_services_tests::protocols::Client;
use ai_services_tests::protocols::{Exchange, Mode, exchanges, hello};
use futures_util::StreamExt;
use futures_util::future::join_all;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Time limit of a wait.
const LIMIT: Duration = Duration::from_millis(200);
/// Tolerance on a busy machine.
const LATE: Duration = Duration::from_secs(1);

/// Sends a request with this client and asserts that it times out in time.
async fn assert_left(exchange: Exchange, steps: Vec<Step>, set_up: fn(&mut Client<'_>)) {
    let context = format!("{exchange:?} {:?}", steps.last());
    let server = start([steps]).await;
    let model = exchange.client_with(&server, set_up);
    let begin = Instant::now();
    let outcome = exchange.ask(&*model).await;
    let took = begin.elapsed();
    outcome.assert_whole_or_error(&exchange, &context);
    let error = outcome.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Timeout, Some(1)), "{context}");
    assert!(error.is_retryable(), "{context}: {error:?}");
    // The message names the limit.
    assert!(error.to_string().ends_with(&format!("{LIMIT:?}")), "{context}: {error}");
    assert!((LIMIT..LIMIT + LATE).contains(&took), "{context}: {took:?}");
    // If the request was not sent in time, there is no connection to close.
    timeout(PATIENCE, server.deserted()).await.unwrap();
}

/// Every position at which a server can stall.
fn stalls(exchange: &Exchange) -> Vec<Vec<Step>> {
    let answer = exchange.answer();
    let head = answer.len() - exchange.body().len();
    let cut = |at: usize| vec![Request, Send(answer[..at].to_vec()), Hang];
    vec![
        vec![Hang],
        vec![Request, Hang],
        cut(10),
        cut(head),
        cut(head + 1),
        cut((head + answer.len()) / 2),
        // A complete end mark would end the stream.
        cut(answer.len() - 12),
    ]
}

#[tokio::test]
async fn silent_server_times_out_at_the_timeout() {
    for exchange in exchanges() {
        let left = |steps| assert_left(exchange, steps, |client| client.timeout = LIMIT);
        join_all(stalls(&exchange).into_iter().map(left)).await;
    }
}

#[tokio::test]
async fn silent_server_times_out_at_the_deadline() {
    for exchange in exchanges() {
        let set_up: fn(&mut Client<'_>) = |client| {
            (client.deadline, client.max_retries) = (Some(LIMIT), 3);
        };
        let left = |steps| assert_left(exchange, steps, set_up);
        join_all(stalls(&exchange).into_iter().map(left)).await;
    }
}

#[tokio::test]
async fn stalled_stream_times_out_at_the_idle_timeout() {
    for exchange in exchanges().filter(|exchange| exchange.mode == Mode::Stream) {
        let set_up: fn(&mut Client<'_>) = |client| client.stream_idle_timeout = LIMIT;
        let left = |steps| assert_left(exchange, steps, set_up);
        // Before the head, only the timeout of the attempt applies.
        join_all(stalls(&exchange).into_iter().skip(3).map(left)).await;
    }
}

#[tokio::test]
async fn slow_loris_times_out_at_the_deadline() {
    for exchange in exchanges() {
        // Each pause is below the idle timeout, but the whole answer takes seconds.
        let pause = Duration::from_millis(5);
        let (mut head, body) = (exchange.answer(), exchange.body());
        head.truncate(head.len() - body.len());
        let slow_head = vec![Request, Trickle([&*head, body.as_bytes()].concat(), pause)];
        let slow_body = vec![Request, Send(head), Trickle(body.into(), pause)];
        let set_up: fn(&mut Client<'_>) = |client| client.deadline = Some(LIMIT);
        let left = |steps| assert_left(exchange, steps, set_up);
        join_all([slow_head, slow_body].map(left)).await;
    }
}

#[tokio::test]
async fn slow_answer_in_time_is_read() {
    let read = async |exchange: Exchange| {
        let server = start([vec![Request, Trickle(exchange.answer(), Duration::ZERO)]]).await;
        exchange.ask(&*exchange.client(&server)).await.assert_whole(&exchange, "byte by byte");
    };
    join_all(exchanges().map(read)).await;
}

#[tokio::test]
async fn silent_server_is_retried() {
    let asked = async |exchange: Exchange| {
        let server = start([vec![Request, Hang], vec![Request, Send(exchange.answer())]]).await;
        let model = exchange.client_with(&server, |client| {
            // The second attempt needs part of the time.
            (client.timeout, client.max_retries) = (10 * LIMIT, 1);
        });
        let outcome = exchange.ask(&*model).await;
        outcome.assert_whole(&exchange, "second attempt");
        assert_eq!(outcome.end.unwrap().attempts, Some(2), "{exchange:?}");
        timeout(PATIENCE, server.hung_up(1)).await.unwrap();
    };
    join_all(exchanges().map(asked)).await;
}

#[tokio::test]
async fn dropped_call_closes_the_connection() {
    for exchange in exchanges() {
        let head = exchange.answer()[..40].to_vec();
        for steps in [vec![Request, Hang], vec![Request, Send(head), Hang]] {
            let server = start([steps]).await;
            let model = exchange.client(&server);
            tokio::select! {
                _ = exchange.ask(&*model) => unreachable!("the server does not answer"),
                () = server.received(1) => {}
            }
            timeout(PATIENCE, server.hung_up(1)).await.unwrap();
        }
    }
}

/// A server that sends the start of a stream and continues with `then`.
async fn beginning(exchange: &Exchange, then: Step) -> FaultServer {
    let body = exchange.body();
    let begun = until_close("1.1", exchange.content_type(), &body[..body.len() * 3 / 4]);
    start([vec![Request, Send(begun), then]]).await
}

#[tokio::test]
async fn dropped_stream_closes_the_connection() {
    for exchange in exchanges().filter(|exchange| exchange.mode == Mode::Stream) {
        let server = beginning(&exchange, Hang).await;
        let (model, request) = (exchange.client(&server), hello());
        let mut events = model.stream(&request);
        // The first piece arrives before the second is sent.
        assert!(timeout(PATIENCE, events.next()).await.unwrap().unwrap().is_ok(), "{exchange:?}");
        drop(events);
        timeout(PATIENCE, server.hung_up(1)).await.unwrap();
    }
}

#[tokio::test]
async fn slow_reader_causes_back_pressure() {
    for exchange in exchanges().filter(|exchange| exchange.mode == Mode::Stream) {
        let server = beginning(&exchange, Flood).await;
        let (model, request) = (exchange.client(&server), hello());
        let mut events = model.stream(&request);
        assert!(events.next().await.unwrap().is_ok(), "{exchange:?}");
        server.stuck().await;
        // Size of the socket buffers of both sides; the client does not read ahead.
        assert!(server.flooded() < 16 << 20, "{exchange:?}: {}", server.flooded());
        drop(events);
        timeout(PATIENCE, server.hung_up(1)).await.unwrap();
    }
}

#[tokio::test]
async fn end_of_the_body_has_a_short_time_limit() {
    for exchange in exchanges().filter(|exchange| exchange.mode == Mode::Stream) {
        let mut bytes = once(200, &[("content-type", exchange.content_type())], exchange.body());
        // The server announces one byte more.
        let length = exchange.body().len();
        let announced = (length + 1).to_string();
        let text = String::from_utf8(bytes).unwrap().replacen(&length.to_string(), &announced, 1);
        bytes = text.into();
        let server = start([vec![Request, Send(bytes), Hang]]).await;
        let model = exchange.client_with(&server, |client| client.stream_idle_timeout = LIMIT);
        let begin = Instant::now();
        let outcome = exchange.ask(&*model).await;
        assert!(begin.elapsed() < LIMIT + LATE, "{exchange:?}");
        // Without an end mark, the client has to wait for the end of the body.
        outcome.assert_whole_or_error(&exchange, "no end");
        assert!(matches!(outcome.kind(), None | Some(ErrorKind::Timeout)), "{exchange:?}");
        timeout(PATIENCE, server.hung_up(1)).await.unwrap();
    }
}
