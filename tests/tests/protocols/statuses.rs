//! HTTP statuses, with and without streaming.

use super::start;
use ai_services::ErrorKind;
use ai_services::model::PartialAnswer;
use ai_services_tests::fault_server::Step::{Hang, Request, Send};
use ai_services_tests::fault_server::{FaultServer, interim, once, redirect};
use ai_services_tests::protocols::{Exchange, exchanges};
use std::time::Duration;

/// Statuses, the kind of their error, and whether they are retried.
const STATUSES: &[(&[u16], ErrorKind, bool)] = &[
    (&[300, 301, 302, 303, 304, 307, 308], ErrorKind::InvalidResponse, false),
    (&[400, 404, 405, 410, 413, 415, 418, 422, 431, 451, 499], ErrorKind::InvalidRequest, false),
    (&[401, 403], ErrorKind::Authentication, false),
    // An empty account. A retry is useless.
    (&[402], ErrorKind::RateLimited, false),
    (&[408], ErrorKind::Timeout, true),
    (&[429], ErrorKind::RateLimited, true),
    (&[409, 500, 501, 502, 503, 504, 520, 524, 529, 599, 999], ErrorKind::Unavailable, true),
];

fn statuses() -> impl Iterator<Item = (u16, ErrorKind, bool)> {
    let of = |(statuses, kind, again): &(&'static [u16], ErrorKind, bool)| {
        let (kind, again) = (*kind, *again);
        statuses.iter().map(move |status| (*status, kind, again))
    };
    STATUSES.iter().flat_map(of)
}

/// A server that sends this answer to every request.
async fn always(bytes: &[u8]) -> FaultServer {
    start([(); 8].map(|()| vec![Request, Send(bytes.to_vec())])).await
}

#[tokio::test]
async fn status_determines_kind_and_retries() {
    for exchange in exchanges() {
        let body = (exchange.protocol.error)("no");
        for (status, kind, again) in statuses() {
            let context = format!("{exchange:?} {status}");
            let server = always(&once(status, &[("x-request-id", "r-1")], &body)).await;
            let model = exchange.client_with(&server, |client| client.max_retries = 2);
            let error = exchange.ask(&*model).await.unwrap_err();
            assert_eq!((error.kind(), error.status()), (kind, Some(status)), "{context}");
            assert_eq!(error.is_retryable(), again, "{context}");
            let attempts = if again { 3 } else { 1 };
            assert_eq!(error.attempts(), Some(attempts), "{context}");
            assert_eq!(server.requests().len(), attempts as usize, "{context}");
            assert_eq!(error.request_id(), Some("r-1"), "{context}");
            let is_redirect = kind == ErrorKind::InvalidResponse;
            assert!(is_redirect || error.to_string().ends_with(": no"), "{context}: {error}");
            assert!(error.detail::<PartialAnswer>().is_none(), "{context}");
        }
    }
}

#[tokio::test]
async fn error_that_cannot_succeed_is_not_retried() {
    for message in [
        "tools param requires --jinja flag",
        "Cannot use both json_schema and grammar",
        "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
        "input (570 tokens) is too large to process. increase the physical batch size",
        "the request exceeds the available context size, try increasing it",
    ] {
        for exchange in exchanges() {
            let server = always(&once(500, &[], (exchange.protocol.error)(message))).await;
            let model = exchange.client_with(&server, |client| client.max_retries = 2);
            let error = exchange.ask(&*model).await.unwrap_err();
            let context = format!("{exchange:?} {message}");
            assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{context}");
            assert_eq!((error.attempts(), error.is_retryable()), (Some(1), false), "{context}");
        }
    }
}

#[tokio::test]
async fn wrong_key_with_status_400_is_an_authentication_error() {
    let xai = r#"{"code":"Client specified an invalid argument","error":"Incorrect API key provided: sk***. You can obtain an API key from https://console.x.ai."}"#;
    for exchange in exchanges() {
        let google = (exchange.protocol.error)("API key not valid. Please pass a valid API key.");
        for body in [xai, &google] {
            let error = exchange.ask_once(once(400, &[], body)).await.unwrap_err();
            let context = format!("{exchange:?} {body}");
            assert_eq!(
                (error.kind(), error.status()),
                (ErrorKind::Authentication, Some(400)),
                "{context}"
            );
            assert!(!error.is_retryable(), "{context}");
        }
        let other = (exchange.protocol.error)("the API key parameter must be a string");
        let error = exchange.ask_once(once(400, &[], other)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{exchange:?}");
    }
}

#[tokio::test]
async fn error_contains_the_retry_delay() {
    for exchange in exchanges() {
        let body = (exchange.protocol.error)("no");
        for (status, kind, again) in statuses() {
            let headers = [("retry-after", "7")];
            let error = exchange.ask_once(once(status, &headers, &body)).await.unwrap_err();
            let context = format!("{exchange:?} {status}");
            assert_eq!((error.kind(), error.attempts()), (kind, Some(1)), "{context}");
            assert_eq!(error.is_retryable(), again, "{context}");
            assert_eq!(error.retry_after(), Some(Duration::from_secs(7)), "{context}");
        }
    }
}

#[tokio::test]
async fn retry_sends_the_same_bytes() {
    for exchange in exchanges() {
        let body = (exchange.protocol.error)("no");
        let scripts = [once(503, &[], &body), once(429, &[], ""), exchange.answer()];
        let server = start(scripts.map(|answer| vec![Request, Send(answer)])).await;
        let model = exchange.client_with(&server, |client| client.max_retries = 2);
        let outcome = exchange.ask(&*model).await;
        outcome.assert_whole(&exchange, "third attempt");
        assert_eq!(outcome.end.unwrap().attempts, Some(3), "{exchange:?}");
        let requests = server.requests();
        let line = |index: usize| requests[index].head.lines().next().unwrap().to_owned();
        for again in [1, 2] {
            assert_eq!(requests[0].body, requests[again].body, "{exchange:?}");
            assert_eq!(line(0), line(again), "{exchange:?}");
        }
    }
}

#[tokio::test]
async fn every_success_is_read() {
    for exchange in exchanges() {
        for status in [200, 201, 202, 203, 206, 299] {
            let headers = [("content-type", exchange.content_type())];
            let outcome = exchange.ask_once(once(status, &headers, exchange.body())).await;
            outcome.assert_whole(&exchange, &status.to_string());
        }
        // These statuses have no body.
        for status in [204, 205] {
            let answer = format!("HTTP/1.1 {status} Status\r\nconnection: close\r\n\r\n");
            let server = start([vec![Request, Send(answer.into())]]).await;
            let error = exchange.ask(&*exchange.client(&server)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{exchange:?} {error}");
            assert_eq!((error.status(), error.attempts()), (Some(status), Some(1)), "{exchange:?}");
        }
    }
}

#[tokio::test]
async fn interim_answers_are_not_the_answer() {
    for exchange in exchanges() {
        for before in [vec![100], vec![103], vec![102, 103, 103]] {
            let mut bytes = before.iter().flat_map(|status| interim(*status)).collect::<Vec<_>>();
            bytes.extend(exchange.answer());
            exchange.ask_once(bytes).await.assert_whole(&exchange, &format!("{before:?}"));
        }
        // The client did not request a protocol upgrade.
        let upgrade =
            b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n";
        let server = start([vec![Request, Send(upgrade.to_vec()), Hang]]).await;
        let outcome = exchange.ask(&*exchange.client(&server)).await;
        assert!(!outcome.is_ok(), "{exchange:?}");
        outcome.assert_whole_or_error(&exchange, "101");
    }
}

#[tokio::test]
async fn redirect_is_not_followed() {
    for exchange in exchanges() {
        let other = FaultServer::answering([exchange.answer()]).await.unwrap();
        for status in [301, 302, 303, 307, 308] {
            let location = format!("{}/secret-path", other.origin());
            let error = exchange.ask_once(redirect(status, &location)).await.unwrap_err();
            let what = (error.kind(), error.status());
            assert_eq!(what, (ErrorKind::InvalidResponse, Some(status)), "{exchange:?}");
            assert!(!format!("{error:?} {error}").contains("secret-path"), "{exchange:?}");
        }
        assert_eq!(other.connections(), 0, "{exchange:?}: {:?}", other.requests());
    }
}

#[tokio::test]
async fn unknown_error_format_is_quoted() {
    let quoted = async |exchange: &Exchange, body: &[u8]| {
        let error = exchange.ask_once(once(502, &[], body)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{exchange:?}");
        error.to_string()
    };
    for exchange in exchanges() {
        let page = quoted(&exchange, b"<html>\r\nBad Gateway").await;
        assert!(page.ends_with(": <html>\\r\\nBad Gateway"), "{exchange:?}: {page}");
        let empty = quoted(&exchange, b"").await;
        assert!(empty.ends_with(')'), "{exchange:?}: {empty}");
        let binary = quoted(&exchange, &[0xff; 300]).await;
        assert!(binary.contains('\u{fffd}'), "{exchange:?}: {binary}");
        let long = quoted(&exchange, &[b'y'; 100_000]).await;
        assert!(long.len() < 400, "{exchange:?}: {long}");
    }
}

#[tokio::test]
async fn error_with_an_endless_body_keeps_its_kind() {
    for exchange in exchanges() {
        let head = b"HTTP/1.1 401 No\r\ncontent-length: 9\r\n\r\n".to_vec();
        let server = start([vec![Request, Send(head), Hang]]).await;
        let limit = Duration::from_millis(100);
        let model = exchange.client_with(&server, |client| client.timeout = limit);
        let error = exchange.ask(&*model).await.unwrap_err();
        assert_eq!((error.kind(), error.status()), (ErrorKind::Authentication, Some(401)));
    }
}
