//! Retries and their back-off.

use super::start;
use ai_services::ErrorKind;
use ai_services_tests::fault_server::Step::{Request, Send};
use ai_services_tests::fault_server::{FaultServer, once};
use ai_services_tests::protocols::exchanges;
use std::time::{Duration, Instant};

/// A server that fails once.
async fn failing(status: u16, headers: &[(&str, &str)], answer: Vec<u8>) -> FaultServer {
    let first = once(status, headers, "");
    start([first, answer].map(|answer| vec![Request, Send(answer)])).await
}

#[tokio::test]
async fn retry_delay_of_the_provider_wins() {
    // The back-off is one hour, so only the header can shorten the wait.
    let hour = Duration::from_secs(3600);
    for exchange in exchanges() {
        for (status, name, value) in [
            (429, "retry-after-ms", "5"),
            (429, "Retry-After-Ms", "0.5"),
            (503, "retry-after", "0.005"),
            (529, "retry-after", "0"),
            (500, "Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ] {
            let server = failing(status, &[(name, value)], exchange.answer()).await;
            let model = exchange.client_with(&server, |client| {
                (client.max_retries, client.retry_delay) = (1, hour);
            });
            let outcome = exchange.ask(&*model).await;
            outcome.assert_whole(&exchange, value);
            assert_eq!(outcome.end.unwrap().attempts, Some(2), "{exchange:?} {name}: {value}");
        }
    }
}

#[tokio::test]
async fn retry_delay_of_the_provider_is_waited_for() {
    for exchange in exchanges() {
        let wait = Duration::from_millis(60);
        let server = failing(429, &[("retry-after-ms", "60")], exchange.answer()).await;
        let model = exchange.client_with(&server, |client| client.max_retries = 1);
        let begin = Instant::now();
        exchange.ask(&*model).await.assert_whole(&exchange, "after a pause");
        assert!(begin.elapsed() >= wait, "{exchange:?}: {:?}", begin.elapsed());
    }
}

#[tokio::test]
async fn too_long_retry_delay_is_an_error() {
    for exchange in exchanges() {
        for (name, value, at_least) in [
            ("retry-after", "61", 61),
            ("retry-after", "3600.5", 3600),
            ("retry-after-ms", "61000", 61),
            ("retry-after", "Fri, 31 Dec 2100 23:59:59 GMT", 1_000_000),
        ] {
            let server = failing(429, &[(name, value)], exchange.answer()).await;
            let model = exchange.client_with(&server, |client| client.max_retries = 5);
            let error = exchange.ask(&*model).await.unwrap_err();
            let context = format!("{exchange:?} {name}: {value}: {error:?}");
            assert_eq!((error.kind(), error.attempts()), (ErrorKind::RateLimited, Some(1)));
            assert!(error.is_retryable(), "{context}");
            let wait = error.retry_after().unwrap();
            assert!(wait >= Duration::from_secs(at_least), "{context}");
            assert_eq!(server.requests().len(), 1, "{context}");
        }
    }
}

#[tokio::test]
async fn invalid_retry_delay_is_ignored() {
    for exchange in exchanges() {
        for value in ["-1", "NaN", "inf", "1e400", "soon", "", "99999999999999999999"] {
            let server = failing(503, &[("retry-after", value)], exchange.answer()).await;
            let model = exchange.client_with(&server, |client| client.max_retries = 1);
            exchange.ask(&*model).await.assert_whole(&exchange, value);
        }
    }
}

#[tokio::test]
async fn provider_can_forbid_or_request_retries() {
    for exchange in exchanges() {
        for (status, told, attempts) in
            [(400, "true", 2), (401, "true", 2), (503, "false", 1), (429, "false", 1)]
        {
            let headers = [("x-should-retry", told)];
            let server = failing(status, &headers, exchange.answer()).await;
            let model = exchange.client_with(&server, |client| client.max_retries = 1);
            let outcome = exchange.ask(&*model).await;
            assert_eq!(server.requests().len(), attempts, "{exchange:?} {status} {told}");
            match outcome.end {
                Ok(response) => assert_eq!(response.attempts, Some(2), "{exchange:?} {status}"),
                Err(error) => assert!(!error.is_retryable(), "{exchange:?} {status}"),
            }
        }
    }
}

#[tokio::test]
async fn retry_delay_beyond_the_deadline_fails_at_once() {
    for exchange in exchanges() {
        let server = failing(503, &[("retry-after", "50")], exchange.answer()).await;
        let model = exchange.client_with(&server, |client| {
            (client.max_retries, client.deadline) = (5, Some(Duration::from_secs(30)));
        });
        let begin = Instant::now();
        let error = exchange.ask(&*model).await.unwrap_err();
        // The error is the cause and not the deadline.
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::Unavailable, Some(1)));
        assert!(begin.elapsed() < Duration::from_secs(15), "{exchange:?}");
    }
}
