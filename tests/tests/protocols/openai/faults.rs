//! Failures of the server or the network that are specific to this protocol.

use super::{client, completion, hello, hi};
use ai_services::model::ChatModel;
use ai_services::providers::{http_client_builder, reqwest};
use ai_services::{Error, ErrorKind};
use ai_services_tests::fault_server::Step::{Close, Hang, Request, Reset, Send};
use ai_services_tests::fault_server::{FaultServer, Step, answer};
use serde_json::json;
use std::time::Duration;

async fn start(scripts: impl IntoIterator<Item = Vec<Step>>) -> FaultServer {
    FaultServer::start(scripts).await.unwrap()
}

/// Returns the error of a client that never retries.
async fn error_of(bytes: Vec<u8>) -> Error {
    let server = start([vec![Request, Send(bytes)]]).await;
    client(&server).max_retries(0).build().unwrap().chat(&hello()).await.unwrap_err()
}

#[tokio::test]
async fn status_determines_the_kind_of_error() {
    for (status, kind, retryable) in [
        (400, ErrorKind::InvalidRequest, false),
        (401, ErrorKind::Authentication, false),
        (402, ErrorKind::RateLimited, false),
        (403, ErrorKind::Authentication, false),
        (404, ErrorKind::InvalidRequest, false),
        (408, ErrorKind::Timeout, true),
        (409, ErrorKind::Unavailable, true),
        (413, ErrorKind::InvalidRequest, false),
        (422, ErrorKind::InvalidRequest, false),
        (429, ErrorKind::RateLimited, true),
        (500, ErrorKind::Unavailable, true),
        (503, ErrorKind::Unavailable, true),
        (529, ErrorKind::Unavailable, true),
    ] {
        let body = json!({ "error": { "message": "no", "type": "t", "code": null } }).to_string();
        let headers = [("x-request-id", "r-1"), ("retry-after", "7")];
        let error = error_of(answer(status, &headers, body)).await;
        assert_eq!((error.kind(), error.status()), (kind, Some(status)));
        assert_eq!((error.code(), error.request_id()), (Some("t"), Some("r-1")));
        assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
        assert_eq!((error.attempts(), error.is_retryable()), (Some(1), retryable), "{status}");
        assert!(error.to_string().ends_with(": no"), "{error}");
    }
}

#[tokio::test]
async fn filtered_request_is_rejected() {
    let body = json!({ "error": { "message": "no", "code": "content_filter" } }).to_string();
    assert_eq!(error_of(answer(400, &[], body)).await.kind(), ErrorKind::Refused);
}

#[tokio::test]
async fn error_body_that_is_not_json_is_quoted() {
    let error = error_of(answer(502, &[], "<html>\r\nBad Gateway")).await;
    assert!(error.to_string().ends_with(": <html>\\r\\nBad Gateway"), "{error}");
    assert_eq!(error_of(answer(502, &[], "")).await.kind(), ErrorKind::Unavailable);
    let long = error_of(answer(502, &[], vec![b'y'; 100_000])).await;
    assert!(long.to_string().len() < 400, "{long}");
}

#[tokio::test]
async fn empty_account_is_not_retried() {
    for code in ["insufficient_quota", "credit_balance_exhausted", "billing_hard_limit_reached"] {
        let body = json!({ "error": { "message": "no", "code": code } }).to_string();
        let server = FaultServer::answering([answer(429, &[], &body), hi()]).await.unwrap();
        client(&server).build().unwrap().chat(&hello()).await.unwrap_err();
        assert_eq!(server.requests().len(), 1, "{code}");
        assert!(!error_of(answer(429, &[], body)).await.is_retryable());
    }
}

#[tokio::test]
async fn tls_needs_no_preparation() {
    let server = start([vec![Send(b"not TLS".to_vec())]]).await;
    let url = server.url().replace("http://", "https://");
    let model = client(&server).base_url(url).max_retries(0).build().unwrap();
    let error = model.chat(&hello()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.to_string().contains("corrupt message"), "{error}");
}

/// One answer in each framing: by length, in chunks, until the connection closes.
fn framings() -> [Vec<u8>; 3] {
    let json = completion(json!({ "content": "Hé." })).to_string();
    let chunks: String =
        json.split_inclusive(',').map(|part| format!("{:x}\r\n{part}\r\n", part.len())).collect();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    [
        answer(200, &[], json.clone()),
        format!("{head}transfer-encoding: chunked\r\n\r\n{chunks}0\r\n\r\n").into_bytes(),
        format!("{head}connection: close\r\n\r\n{json}").into_bytes(),
    ]
}

#[tokio::test]
async fn answer_cut_anywhere_is_whole_or_an_error() {
    for whole in framings() {
        let cuts = (0..=whole.len()).map(|cut| vec![Request, Send(whole[..cut].to_vec())]);
        let server = start(cuts).await;
        let model = client(&server).max_retries(0).build().unwrap();
        for cut in 0..=whole.len() {
            match model.chat(&hello()).await {
                Ok(response) => {
                    // The last bytes of a chunked body are insignificant.
                    assert!(cut + 7 >= whole.len(), "{cut} of {}", whole.len());
                    assert_eq!(response.message.text(), Some("Hé."));
                }
                Err(error) => {
                    assert!(cut < whole.len(), "{error}");
                    let kinds = [ErrorKind::Connection, ErrorKind::InvalidResponse];
                    assert!(kinds.contains(&error.kind()), "{cut}: {error:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn answer_that_breaks_after_its_head_is_not_retried() {
    for end in [Close, Reset] {
        let mut cut = hi();
        cut.truncate(cut.len() - 1);
        let server = start([vec![Request, Send(cut), end], vec![Request, Send(hi())]]).await;
        let error = client(&server).build().unwrap().chat(&hello()).await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::Connection, Some(1)), "{error}");
        assert_eq!((server.requests().len(), error.status()), (1, Some(200)));
    }
    let wrong_chunk = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n".to_vec();
    let server = start([vec![Request, Send(wrong_chunk)], vec![Request, Send(hi())]]).await;
    let error = client(&server).build().unwrap().chat(&hello()).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidResponse, Some(1)), "{error}");
}

#[tokio::test]
async fn stalled_answer_is_a_timeout_and_not_retried() {
    let mut cut = hi();
    cut.truncate(cut.len() - 1);
    let server = start([vec![Request, Send(cut), Hang], vec![Request, Send(hi())]]).await;
    let model = client(&server).timeout(Duration::from_millis(40)).build().unwrap();
    let error = model.chat(&hello()).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Timeout, Some(1)));
    assert_eq!(error.to_string(), "no answer within the timeout of 40ms");
}

#[tokio::test]
async fn client_of_the_application_is_used() {
    let header = (reqwest::header::VIA, reqwest::header::HeaderValue::from_static("proxy"));
    let own = http_client_builder().unwrap().default_headers([header].into_iter().collect());
    let server = FaultServer::answering([hi()]).await.unwrap();
    let model = client(&server).http_client(own.build().unwrap()).build().unwrap();
    model.chat(&hello()).await.unwrap();
    assert_eq!(server.requests()[0].header("via"), Some("proxy"));
}
