//! What happens when the server or the network fails.

use super::{client, completion, hello, hi};
use ai_services::model::ChatModel;
use ai_services::providers::{http_client_builder, reqwest};
use ai_services::{Error, ErrorKind};
use ai_services_tests::fault_server::Step::{Close, Flood, Hang, Pause, Request, Reset, Send};
use ai_services_tests::fault_server::{FaultServer, Step, answer};
use serde_json::json;
use std::time::{Duration, Instant};

async fn start(scripts: impl IntoIterator<Item = Vec<Step>>) -> FaultServer {
    FaultServer::start(scripts).await.unwrap()
}

/// The error of a client that never retries.
async fn error_of(bytes: Vec<u8>) -> Error {
    let server = start([vec![Request, Send(bytes)]]).await;
    client(&server).max_retries(0).build().unwrap().chat(&hello()).await.unwrap_err()
}

/// How many requests a client with two retries sends if the first answer is this one.
async fn requests_after(status: u16, headers: &[(&str, &str)], body: &str) -> usize {
    let server = FaultServer::answering([answer(status, headers, body), hi()]).await.unwrap();
    let answered = client(&server).build().unwrap().chat(&hello()).await;
    assert_eq!(answered.is_ok(), server.requests().len() == 2);
    server.requests().len()
}

#[tokio::test]
async fn status_decides_the_kind_of_error() {
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
async fn filtered_request_is_refused() {
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
async fn passing_failures_are_retried() {
    for status in [408, 409, 429, 500, 502, 503, 529] {
        assert_eq!(requests_after(status, &[], "").await, 2, "{status}");
    }
    assert_eq!(requests_after(400, &[("x-should-retry", "true")], "").await, 2);
}

#[tokio::test]
async fn lasting_failures_are_not_retried() {
    for status in [304, 400, 401, 402, 403, 404, 413, 422] {
        assert_eq!(requests_after(status, &[], "").await, 1, "{status}");
    }
    assert_eq!(requests_after(503, &[("x-should-retry", "false")], "").await, 1);
    for code in ["insufficient_quota", "credit_balance_exhausted", "billing_hard_limit_reached"] {
        let body = json!({ "error": { "message": "no", "code": code } }).to_string();
        assert_eq!(requests_after(429, &[], &body).await, 1, "{code}");
        assert!(!error_of(answer(429, &[], body)).await.is_retryable());
    }
}

#[tokio::test]
async fn attempts_are_counted() {
    let answers = [answer(503, &[], ""), answer(429, &[], ""), hi()];
    let server = FaultServer::answering(answers).await.unwrap();
    let response = client(&server).build().unwrap().chat(&hello()).await.unwrap();
    assert_eq!(response.attempts, Some(3));
    let bodies: Vec<_> = server.requests().into_iter().map(|request| request.body).collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]));

    let server = FaultServer::answering([(); 3].map(|()| answer(503, &[], ""))).await.unwrap();
    let error = client(&server).build().unwrap().chat(&hello()).await.unwrap_err();
    assert_eq!((error.attempts(), error.kind()), (Some(3), ErrorKind::Unavailable));
}

#[tokio::test]
async fn provider_decides_how_long_to_wait() {
    // With a pause of an hour between attempts only the header can make this quick.
    for (name, value) in [
        ("retry-after-ms", "5"),
        ("retry-after", "0.005"),
        ("retry-after", "0"),
        ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ] {
        let server = FaultServer::answering([answer(429, &[(name, value)], ""), hi()]).await;
        let server = server.unwrap();
        let model = client(&server).retry_delay(Duration::from_secs(3600)).build().unwrap();
        let response = model.chat(&hello()).await.unwrap();
        assert_eq!(response.attempts, Some(2), "{name}: {value}");
    }
}

#[tokio::test]
async fn too_long_a_wait_is_left_to_the_caller() {
    let server = FaultServer::answering([answer(429, &[("retry-after", "61")], ""), hi()]).await;
    let server = server.unwrap();
    let error = client(&server).build().unwrap().chat(&hello()).await.unwrap_err();
    assert_eq!((error.attempts(), error.is_retryable()), (Some(1), true));
    assert_eq!(error.retry_after(), Some(Duration::from_secs(61)));
}

#[tokio::test]
async fn connection_lost_before_an_answer_is_retried() {
    let partial_head = b"HTTP/1.1 200 OK\r\ncontent-".to_vec();
    for first in [
        vec![Reset],
        vec![Close],
        vec![Request, Reset],
        vec![Request, Close],
        vec![Request, Send(partial_head), Close],
    ] {
        let server = start([first.clone(), vec![Request, Send(hi())]]).await;
        let response = client(&server).build().unwrap().chat(&hello()).await;
        assert_eq!(response.unwrap().attempts, Some(2), "{first:?}");
        assert_eq!(server.connections(), 2);
    }
}

#[tokio::test]
async fn pooled_connection_that_turns_out_to_be_closed_is_replaced() {
    for end in [Close, Reset] {
        let first = vec![Request, Send(hi()), Request, end];
        let server = start([first, vec![Request, Send(hi())]]).await;
        let model = client(&server).build().unwrap();
        assert_eq!(model.chat(&hello()).await.unwrap().attempts, Some(1));
        assert_eq!(model.chat(&hello()).await.unwrap().attempts, Some(2));
    }
    // Closed before the second request: whether the client notices in time is chance.
    let server = start([(); 8].map(|()| vec![Request, Send(hi()), Close])).await;
    let model = client(&server).build().unwrap();
    for _ in 0..4 {
        assert!(model.chat(&hello()).await.is_ok());
    }
}

#[tokio::test]
async fn server_that_is_not_there_is_a_connection_error() {
    let server = start([]).await;
    let builder = client(&server);
    drop(server);
    // The port is closed only when the server's task has ended.
    tokio::task::yield_now().await;
    let error = builder.build().unwrap().chat(&hello()).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Connection, Some(3)), "{error}");
    assert!(error.is_retryable());
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

#[tokio::test]
async fn answer_that_is_not_http_is_not_retried() {
    let server = start([vec![Request, Send(b"SSH-2.0-OpenSSH\r\n\r\n".to_vec())]]).await;
    let error = client(&server).build().unwrap().chat(&hello()).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidResponse, Some(1)), "{error}");
}

/// One answer as servers frame it: by length, in chunks, until the connection closes.
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
                    // The last bytes of a chunked body say nothing that matters.
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
async fn answer_that_breaks_after_its_head_is_not_requested_again() {
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
async fn answer_in_single_bytes_is_read() {
    for whole in framings() {
        let bytes = whole.iter().map(|byte| Send(vec![*byte]));
        let server = start([[Request].into_iter().chain(bytes).collect()]).await;
        let response = client(&server).build().unwrap().chat(&hello()).await.unwrap();
        assert_eq!(response.message.text(), Some("Hé."));
    }
}

#[tokio::test]
async fn redirect_is_not_followed() {
    let other = FaultServer::answering([hi()]).await.unwrap();
    for status in [301, 302, 307, 308] {
        let location = format!("{}/secret-path", other.url());
        let error = error_of(answer(status, &[("location", &location)], "")).await;
        assert_eq!((error.kind(), error.status()), (ErrorKind::InvalidResponse, Some(status)));
        assert!(!format!("{error:?}").contains("secret-path"));
    }
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn endless_answer_is_abandoned_at_the_limit() {
    let endless = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    let announced = b"HTTP/1.1 200 OK\r\ncontent-length: 10737418240\r\n\r\n".to_vec();
    let failing = b"HTTP/1.1 500 No\r\n\r\n".to_vec();
    for (head, kind) in [
        (endless, ErrorKind::InvalidResponse),
        (announced, ErrorKind::InvalidResponse),
        (failing, ErrorKind::Unavailable),
    ] {
        let server = start([vec![Request, Send(head), Flood]]).await;
        let error = client(&server).max_retries(0).build().unwrap().chat(&hello()).await;
        assert_eq!(error.unwrap_err().kind(), kind);
        server.hung_up(1).await;
    }
}

#[tokio::test]
async fn limit_of_an_answer_is_exact() {
    let json = completion(json!({ "content": "Hé." })).to_string();
    for framed in framings() {
        for (limit, is_read) in [(json.len(), true), (json.len() - 1, false)] {
            let server = start([vec![Request, Send(framed.clone())]]).await;
            let model = client(&server).max_response_bytes(limit).build().unwrap();
            assert_eq!(model.chat(&hello()).await.is_ok(), is_read);
        }
    }
}

#[tokio::test]
async fn silent_server_is_left_at_the_timeout_and_asked_again() {
    let server = start([vec![Request, Hang], vec![Request, Send(hi())]]).await;
    let model = client(&server).timeout(Duration::from_millis(40)).build().unwrap();
    assert_eq!(model.chat(&hello()).await.unwrap().attempts, Some(2));
    server.hung_up(1).await;
}

#[tokio::test]
async fn answer_that_stalls_is_a_timeout_and_not_requested_again() {
    let mut cut = hi();
    cut.truncate(cut.len() - 1);
    let server = start([vec![Request, Send(cut), Hang], vec![Request, Send(hi())]]).await;
    let model = client(&server).timeout(Duration::from_millis(40)).build().unwrap();
    let error = model.chat(&hello()).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Timeout, Some(1)));
    assert_eq!(error.to_string(), "no answer within the timeout of 40ms");
}

#[tokio::test]
async fn deadline_ends_the_call_with_all_its_retries() {
    let begin = Instant::now();
    let server = start([vec![Request, Hang], vec![Request, Hang]]).await;
    let model = client(&server).deadline(Duration::from_millis(30)).build().unwrap();
    let error = model.chat(&hello()).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Timeout, Some(1)));
    assert_eq!(error.to_string(), "no answer within the deadline of 30ms");
    server.hung_up(1).await;

    // A pause that would end after the deadline is not begun, and its cause is reported.
    let server = FaultServer::answering([answer(503, &[("retry-after", "50")], "")]).await.unwrap();
    let model = client(&server).deadline(Duration::from_secs(20)).build().unwrap();
    let error = model.chat(&hello()).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Unavailable, Some(1)));
    assert!(begin.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn slow_answer_within_the_limits_is_read() {
    let mut head = hi();
    let tail = head.split_off(20);
    let pause = Pause(Duration::from_millis(5));
    let server = start([vec![Request, Send(head), pause, Send(tail)]]).await;
    assert!(client(&server).build().unwrap().chat(&hello()).await.is_ok());
}

#[tokio::test]
async fn dropped_call_closes_the_connection() {
    let server = start([vec![Request, Hang]]).await;
    let model = client(&server).build().unwrap();
    let request = hello();
    tokio::select! {
        _ = model.chat(&request) => unreachable!("the server does not answer"),
        () = server.received(1) => {}
    }
    tokio::time::timeout(Duration::from_secs(5), server.hung_up(1)).await.unwrap();
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
