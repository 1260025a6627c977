//! Answers with status 200 and unexpected content.

use super::start;
use ai_services::ErrorKind;
use ai_services_tests::fault_server::Step::{Request, Send};
use ai_services_tests::fault_server::{answer, chunked, gzip_bomb, once, until_close};
use ai_services_tests::protocols::{Exchange, Mode, exchanges};

/// Content types that servers send.
const CONTENT_TYPES: [&str; 6] = [
    "application/json",
    "application/json; charset=utf-8",
    "text/plain",
    "text/html",
    "application/octet-stream",
    "not a type",
];

#[tokio::test]
async fn answer_with_any_content_type_is_read() {
    for exchange in exchanges() {
        for content_type in CONTENT_TYPES {
            let bytes = answer(200, &[("content-type", content_type)], exchange.body());
            exchange.ask_once(bytes).await.assert_whole(&exchange, content_type);
        }
        exchange.ask_once(answer(200, &[], exchange.body())).await.assert_whole(&exchange, "none");
    }
}

#[tokio::test]
async fn document_instead_of_a_stream_is_read() {
    for exchange in exchanges().filter(|exchange| exchange.mode == Mode::Stream) {
        let whole = Exchange { mode: Mode::Whole, ..exchange };
        for content_type in ["application/json", "text/plain"] {
            let bytes = answer(200, &[("content-type", content_type)], whole.body());
            exchange.ask_once(bytes).await.assert_whole(&exchange, content_type);
        }
    }
}

#[tokio::test]
async fn stream_instead_of_a_document_is_an_error() {
    for exchange in exchanges().filter(|exchange| exchange.mode == Mode::Whole) {
        let stream = Exchange { mode: Mode::Stream, ..exchange };
        let outcome = exchange.ask_once(stream.answer()).await;
        assert_eq!(outcome.kind(), Some(ErrorKind::InvalidResponse), "{exchange:?}");
    }
}

#[tokio::test]
async fn error_with_status_200_is_an_error() {
    for exchange in exchanges() {
        let body = (exchange.protocol.error)("no");
        for content_type in CONTENT_TYPES {
            let server =
                start([vec![Request, Send(once(200, &[("content-type", content_type)], &body))]])
                    .await;
            let model = exchange.client_with(&server, |client| client.max_retries = 2);
            let error = exchange.ask(&*model).await.unwrap_err();
            let context = format!("{exchange:?} {content_type}: {error:?}");
            let kinds = [
                ErrorKind::Unavailable,
                ErrorKind::InvalidResponse,
                ErrorKind::InvalidRequest,
                ErrorKind::RateLimited,
            ];
            assert!(kinds.contains(&error.kind()), "{context}");
            assert!(error.to_string().ends_with(": no"), "{context}");
            assert_eq!(error.attempts(), Some(1), "{context}");
        }
    }
}

#[tokio::test]
async fn invalid_answer_is_an_error() {
    for exchange in exchanges() {
        for body in [
            "",
            " \r\n\t ",
            "<!doctype html><title>Sign in</title>",
            "null",
            "true",
            "0",
            "\"text\"",
            "[]",
            "{}",
            "[{}]",
            "{\"a\":",
            "data: {}\n\n",
            "data: null\n\n",
            ": ping\n\n",
            "event: x\nid: 1\n\n",
        ] {
            for content_type in ["application/json", "text/html", exchange.protocol.stream_type] {
                let bytes = once(200, &[("content-type", content_type)], body);
                let outcome = exchange.ask_once(bytes).await;
                let context = format!("{exchange:?} {content_type} {body:?}");
                assert!(!outcome.is_ok(), "{context}: {outcome:?}");
                assert_eq!(outcome.kind(), Some(ErrorKind::InvalidResponse), "{context}");
                assert_eq!(outcome.unwrap_err().status(), Some(200), "{context}");
            }
        }
    }
}

#[tokio::test]
async fn page_of_a_proxy_is_quoted() {
    for exchange in exchanges() {
        let page = "<html>\nSign in";
        let bytes = once(200, &[("content-type", "text/html")], page);
        let error = exchange.ask_once(bytes).await.unwrap_err().to_string();
        assert_eq!(error, "the answer is not JSON (text/html): <html>\\nSign in", "{exchange:?}");
        let empty = exchange.ask_once(once(200, &[], "")).await.unwrap_err().to_string();
        assert_eq!(empty, "the answer is empty", "{exchange:?}");
    }
}

#[tokio::test]
async fn text_that_is_not_utf_8_is_never_part_of_an_answer() {
    for exchange in exchanges() {
        let body = exchange.body().into_bytes();
        for at in (0..body.len()).step_by(7) {
            let mut damaged = body.clone();
            damaged.insert(at, 0xff);
            let bytes = once(200, &[("content-type", exchange.content_type())], damaged);
            let outcome = exchange.ask_once(bytes).await;
            let context = format!("{exchange:?} {at}");
            let said = &outcome.content;
            assert!(!format!("{said:?}").contains('\u{fffd}'), "{context}: {said:?}");
            let kinds = [None, Some(ErrorKind::InvalidResponse)];
            assert!(kinds.contains(&outcome.kind()), "{context}: {:?}", outcome.end);
        }
    }
}

#[tokio::test]
async fn compressed_answer_is_not_requested_and_not_unpacked() {
    for exchange in exchanges() {
        let bomb = gzip_bomb();
        for content_type in [exchange.content_type(), "application/octet-stream"] {
            let headers = [("content-type", content_type), ("content-encoding", "gzip")];
            let server = start([vec![Request, Send(once(200, &headers, &bomb))]]).await;
            // The unpacked answer would be too large, which is a different error.
            let model = exchange.client_with(&server, |client| {
                (client.max_response_bytes, client.max_stream_bytes) = (2 << 20, 2 << 20);
            });
            let error = exchange.ask(&*model).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{exchange:?}: {error}");
            assert!(!error.to_string().contains("larger"), "{exchange:?}: {error}");
            assert_eq!(server.requests()[0].header("accept-encoding"), None, "{exchange:?}");
        }
    }
}

#[tokio::test]
async fn limit_of_an_answer_is_exact() {
    for exchange in exchanges() {
        let (content_type, body) = (exchange.content_type(), exchange.body());
        for bytes in [
            exchange.answer(),
            chunked(content_type, &body, 23),
            until_close("1.1", content_type, &body),
        ] {
            for (limit, is_read) in [(body.len(), true), (body.len() - 1, false)] {
                let server = start([vec![Request, Send(bytes.clone())]]).await;
                let model = exchange.client_with(&server, |client| {
                    (client.max_response_bytes, client.max_stream_bytes) = (limit, limit);
                });
                let outcome = exchange.ask(&*model).await;
                let end = &outcome.end;
                assert_eq!(outcome.is_ok(), is_read, "{exchange:?} {limit}: {end:?}");
            }
        }
    }
}
