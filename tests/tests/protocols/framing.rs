//! Invalid, outdated and malicious HTTP.

use super::start;
use ai_services::ErrorKind;
use ai_services_tests::PATIENCE;
use ai_services_tests::fault_server::Step::{Finish, Flood, Hang, Request, Send};
use ai_services_tests::fault_server::{header_flood, once, until_close, with_length};
use ai_services_tests::protocols::exchanges;
use tokio::time::timeout;

#[tokio::test]
async fn invalid_http_is_an_error() {
    for exchange in exchanges() {
        for garbage in [
            &b"SSH-2.0-OpenSSH_9.6\r\n\r\n"[..],
            b"220 mail.example.org ESMTP\r\n\r\n",
            b"<html>\r\n\r\n",
            b"HTTP/9.9 200 OK\r\n\r\n",
            b"HTTP/1.1 2000 OK\r\n\r\n",
            b"HTTP/1.1 abc\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            b"HTTP/1.1 200 OK\r\na b: c\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            // An alert of TLS.
            &[0x15, 3, 3, 0, 2, 2, 0x46, 0x0d, 0x0a, 0x0d, 0x0a],
            &[0xff; 64],
            &[0; 64],
        ] {
            let server = start([vec![Request, Send(garbage.to_vec())]]).await;
            let model = exchange.client_with(&server, |client| client.max_retries = 1);
            let outcome = exchange.ask(&*model).await;
            let context = format!("{exchange:?} {:?}", String::from_utf8_lossy(garbage));
            // A retry would fail in the same way.
            let error = outcome.unwrap_err();
            let what = (error.kind(), error.attempts());
            assert_eq!(what, (ErrorKind::InvalidResponse, Some(1)), "{context}: {error:?}");
        }
    }
}

#[tokio::test]
async fn answer_of_http_1_0_is_read() {
    for exchange in exchanges() {
        let bytes = until_close("1.0", exchange.content_type(), exchange.body());
        let server = start([vec![Request, Send(bytes)]]).await;
        exchange.ask(&*exchange.client(&server)).await.assert_whole(&exchange, "HTTP/1.0");
    }
}

#[tokio::test]
async fn wrong_length_is_never_a_shorter_answer() {
    for exchange in exchanges() {
        let body = exchange.body();
        let headers = [("content-type", exchange.content_type()), ("connection", "close")];
        for length in [0, 1, body.len() / 2, body.len() - 20, body.len() + 1, 1 << 40] {
            let server =
                start([vec![Request, Send(with_length(200, &headers, length, &body))]]).await;
            let outcome = exchange.ask(&*exchange.client(&server)).await;
            outcome.assert_whole_or_error(&exchange, &format!("{length} of {}", body.len()));
            assert!(length > body.len() || !outcome.is_ok(), "{exchange:?} {length}");
        }
    }
}

#[tokio::test]
async fn data_after_an_answer_is_not_the_next_answer() {
    for exchange in exchanges() {
        let evil = once(200, &[("content-type", exchange.content_type())], "evil");
        let headers = [("content-type", exchange.content_type())];
        let body = exchange.body();
        let with_more = [with_length(200, &headers, body.len(), body), evil].concat();
        let server =
            start([vec![Request, Send(with_more), Hang], vec![Request, Send(exchange.answer())]])
                .await;
        let model = exchange.client_with(&server, |client| client.max_retries = 1);
        for _ in 0..2 {
            exchange.ask(&*model).await.assert_whole(&exchange, "more than one answer");
        }
    }
}

#[tokio::test]
async fn broken_chunks_are_an_error() {
    for exchange in exchanges() {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {}\r\ntransfer-encoding: chunked\r\n\r\n",
            exchange.content_type()
        );
        let body = exchange.body();
        let half = &body[..body.len() * 2 / 5];
        let first = format!("{:x}\r\n{half}\r\n", half.len());
        for rest in [
            "zz\r\n",
            "-1\r\n",
            "ffffffffffffffffff\r\n",
            "5\r\nabcdefgh\r\n",
            "5;a=b\r\nabc",
            "\r\n\r\n",
            "0\r\n\r\n",
            "",
        ] {
            let bytes = format!("{head}{first}{rest}");
            let server = start([vec![Request, Send(bytes.into()), Finish, Hang]]).await;
            let outcome = exchange.ask(&*exchange.client(&server)).await;
            assert!(!outcome.is_ok(), "{exchange:?} {rest:?}");
            outcome.assert_whole_or_error(&exchange, rest);
            let kinds = [Some(ErrorKind::Connection), Some(ErrorKind::InvalidResponse)];
            assert!(kinds.contains(&outcome.kind()), "{exchange:?} {rest:?}: {:?}", outcome.end);
            assert_eq!(outcome.unwrap_err().attempts(), Some(1), "{exchange:?} {rest:?}");
        }
    }
}

#[tokio::test]
async fn many_headers_are_read_and_too_many_are_an_error() {
    for exchange in exchanges() {
        let outcome = exchange.ask_once(header_flood(50, &exchange.body())).await;
        outcome.assert_whole(&exchange, "50 headers");
        let outcome = exchange.ask_once(header_flood(10_000, &exchange.body())).await;
        assert_eq!(outcome.kind(), Some(ErrorKind::InvalidResponse), "{exchange:?}");
    }
}

#[tokio::test]
async fn endless_head_is_aborted() {
    for exchange in exchanges() {
        for head in ["HTTP/1.1 200 OK\r\nx: ", "HTTP/1.1 200 ", ""] {
            let server = start([vec![Request, Send(head.into()), Flood]]).await;
            let outcome = exchange.ask(&*exchange.client(&server)).await;
            assert_eq!(outcome.kind(), Some(ErrorKind::InvalidResponse), "{exchange:?} {head}");
            timeout(PATIENCE, server.hung_up(1)).await.unwrap();
            assert!(server.flooded() < 16 << 20, "{exchange:?}: {}", server.flooded());
        }
    }
}

#[tokio::test]
async fn answer_before_the_request_was_read_is_an_answer_or_an_error() {
    for exchange in exchanges() {
        let server =
            start([vec![Send(exchange.answer()), Hang], vec![Request, Send(exchange.answer())]])
                .await;
        let outcome = exchange.ask(&*exchange.client(&server)).await;
        outcome.assert_whole_or_error(&exchange, "early answer");
        // An early refusal is an error of the same kind, or a broken connection.
        let body = (exchange.protocol.error)("too large");
        let server = start([vec![Send(once(413, &[], body)), Hang]]).await;
        let outcome = exchange.ask(&*exchange.client(&server)).await;
        let kinds = [Some(ErrorKind::InvalidRequest), Some(ErrorKind::Connection)];
        assert!(kinds.contains(&outcome.kind()), "{exchange:?}: {:?}", outcome.end);
    }
}
