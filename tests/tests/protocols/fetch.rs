//! Fetching of media from servers that work, fail, send too much or do not answer.

use ai_services::message::{Content, ImageContent};
use ai_services::providers::{FetchHosts, FetchLimits, fetch_media, http_client_builder};
use ai_services::{Error, ErrorKind, Result};
use ai_services_tests::fault_server::{FaultServer, Step, answer};
use std::time::Duration;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// The test server has a private address.
fn limits() -> FetchLimits {
    FetchLimits::new().hosts(FetchHosts::Any)
}

async fn fetch(url: &str, limits: &FetchLimits) -> Result<Content> {
    let client = http_client_builder().unwrap().no_proxy().build().unwrap();
    fetch_media(&client, url, limits).await
}

async fn fetched(answers: impl IntoIterator<Item = Vec<u8>>) -> Result<Content> {
    let server = FaultServer::answering(answers).await.unwrap();
    fetch(&server.url(), &limits()).await
}

async fn refused(answers: impl IntoIterator<Item = Vec<u8>>) -> Error {
    fetched(answers).await.unwrap_err()
}

#[tokio::test]
async fn image_is_fetched_as_its_bytes() {
    let server =
        FaultServer::answering([answer(200, &[("content-type", "image/png")], PNG)]).await.unwrap();
    let image = fetch(&server.url(), &limits()).await.unwrap();
    assert_eq!(image, ImageContent::bytes(PNG).unwrap().into());
    let request = &server.requests()[0];
    assert!(request.head.starts_with("GET /v1 HTTP/1.1\r\n"), "{}", request.head);
    assert_eq!(request.header("authorization"), None);
}

#[tokio::test]
async fn type_of_the_bytes_and_of_the_header_have_to_agree() {
    assert!(fetched([answer(200, &[], PNG)]).await.is_ok());
    for (content_type, body) in [("text/html", PNG), ("image/png", b"<html>"), ("audio/wav", PNG)] {
        let error = refused([answer(200, &[("content-type", content_type)], body)]).await;
        assert_eq!(error.kind(), ErrorKind::Media);
        let start = format!("the bytes are declared as `{content_type}`, but are");
        assert!(error.to_string().starts_with(&start), "{error}");
    }
}

#[tokio::test]
async fn statuses_determine_whether_a_retry_is_useful() {
    for (status, kind, retryable) in [
        (404, ErrorKind::Media, false),
        (206, ErrorKind::Media, false),
        (429, ErrorKind::RateLimited, true),
        (503, ErrorKind::Unavailable, true),
    ] {
        let error = refused([answer(status, &[("content-type", "image/png")], PNG)]).await;
        assert_eq!((error.kind(), error.is_retryable()), (kind, retryable));
        assert_eq!(error.status(), Some(status));
        assert_eq!(error.to_string(), format!("`127.0.0.1` answered with status {status}"));
    }
}

#[tokio::test]
async fn redirects_are_followed_within_limits() {
    let to = |location| answer(302, &[("location", location)], "");
    let image = answer(200, &[("content-type", "image/png")], PNG);
    assert!(fetched([to("/elsewhere"), to("again"), image]).await.is_ok());

    let error = refused(std::iter::repeat_n(to("/loop"), 6)).await;
    assert_eq!(error.to_string(), "more than 5 redirects");
    for (location, message) in [
        ("file:///etc/passwd", "unsupported scheme `file`: use http or https"),
        ("gopher://example.org", "unsupported scheme `gopher`: use http or https"),
        ("http://", "a redirect without a valid `location` header"),
    ] {
        assert_eq!(refused([to(location)]).await.to_string(), message);
    }
}

#[tokio::test]
async fn private_host_is_not_connected_to() {
    let server = FaultServer::start([]).await.unwrap();
    let error = fetch(&server.url(), &FetchLimits::new()).await.unwrap_err();
    assert_eq!(error.to_string(), "`127.0.0.1` is not a public host; `FetchHosts::Any` allows all");
    for url in ["ftp://example.org/a.png", "data:image/png;base64,iVBO", "example.org/a.png"] {
        let error = fetch(url, &limits()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Media, "{error}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn body_beyond_the_limit_is_not_read() {
    let small = limits().max_bytes(PNG.len() - 1);
    let announced = FaultServer::answering([answer(200, &[], PNG)]).await.unwrap();
    let error = fetch(&announced.url(), &small).await.unwrap_err();
    assert_eq!(error.to_string(), "the media are larger than 15 bytes, the limit of this call");

    let head = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec();
    let endless = FaultServer::start([vec![Step::Request, Step::Send(head), Step::Flood]]);
    let endless = endless.await.unwrap();
    let error = fetch(&endless.url(), &limits().max_bytes(1 << 20)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Media);
    endless.hung_up(1).await;

    let exact = FaultServer::answering([answer(200, &[], PNG)]).await.unwrap();
    assert!(fetch(&exact.url(), &limits().max_bytes(PNG.len())).await.is_ok());
}

#[tokio::test]
async fn stalled_or_truncated_download_is_an_error() {
    let part = answer(200, &[], PNG)[..50].to_vec();
    let stalls = FaultServer::start([vec![Step::Request, Step::Send(part.clone()), Step::Hang]]);
    let stalls = stalls.await.unwrap();
    let hasty = limits().timeout(Duration::from_millis(50));
    let error = fetch(&stalls.url(), &hasty).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    stalls.hung_up(1).await;

    let breaks = FaultServer::start([vec![Step::Request, Step::Send(part), Step::Close]]);
    let breaks = breaks.await.unwrap();
    let error = fetch(&breaks.url(), &limits()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection);
}

#[tokio::test]
async fn errors_do_not_contain_the_url() {
    let server = FaultServer::answering([answer(404, &[], "")]).await.unwrap();
    let url = format!("{}/a.png?signature=canary", server.url());
    let error = fetch(&url, &limits()).await.unwrap_err();
    assert!(!format!("{error:?}").contains("canary"), "{error:?}");
    drop(server);
    let error = fetch(&url, &limits()).await.unwrap_err();
    assert!(!format!("{error:?}").contains("canary"), "{error:?}");
}
