use super::error_body::ErrorBody;
use super::retry::{self, Retry, RetryDecision};
use super::*;
use reqwest::StatusCode;

fn headers<const N: usize>(pairs: [(&'static str, &str); N]) -> HeaderMap {
    pairs.into_iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
}

#[test]
fn retry_after_is_parsed_in_all_forms() {
    let read = |name, value| retry::retry_after(&headers([(name, value)]));
    assert_eq!(read("retry-after-ms", "250"), Some(Duration::from_millis(250)));
    assert_eq!(read("retry-after-ms", "0.5"), Some(Duration::from_micros(500)));
    assert_eq!(read("retry-after", "2"), Some(Duration::from_secs(2)));
    assert_eq!(read("retry-after", "1.5"), Some(Duration::from_millis(1500)));
    assert_eq!(read("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
    assert!(read("retry-after", "Fri, 31 Dec 2100 23:59:59 GMT").unwrap() > Duration::from_secs(1));
    for malformed in ["-1", "NaN", "inf", "1e400", "soon", ""] {
        assert_eq!(read("retry-after", malformed), None, "{malformed}");
    }
    let both = headers([("retry-after-ms", "7"), ("retry-after", "9")]);
    assert_eq!(retry::retry_after(&both), Some(Duration::from_millis(7)));
}

#[test]
fn status_and_headers_decide_on_a_retry() {
    let of = |status, headers: &HeaderMap, code| {
        let status = StatusCode::from_u16(status).unwrap();
        retry::retry_decision(status, headers, code, retry::retry_after(headers))
    };
    let none = HeaderMap::new();
    for status in [408, 409, 429, 500, 502, 503, 529] {
        assert_eq!(of(status, &none, None), RetryDecision::Backoff, "{status}");
    }
    for status in [307, 400, 401, 403, 404, 413, 422] {
        assert_eq!(of(status, &none, None), RetryDecision::Never, "{status}");
    }
    for code in ["insufficient_quota", "credit_balance_exhausted", "billing_hard_limit_reached"] {
        assert_eq!(of(429, &none, Some(code)), RetryDecision::Never, "{code}");
    }
    assert_eq!(of(400, &headers([("x-should-retry", "true")]), None), RetryDecision::Backoff);
    assert_eq!(of(503, &headers([("x-should-retry", "false")]), None), RetryDecision::Never);
    let wait = headers([("retry-after", "3")]);
    assert_eq!(of(503, &wait, None), RetryDecision::After(Duration::from_secs(3)));
}

#[test]
fn back_off_doubles_with_a_jitter_of_half() {
    let retry = Retry::new(&Limits { max_retries: 9, ..Limits::default() });
    for (attempt, full) in [(1, 500), (2, 1000), (3, 2000), (5, 8000), (9, 8000)] {
        let delay = retry.delay(RetryDecision::Backoff, attempt, None).unwrap().as_millis();
        assert!((full / 2..=full).contains(&delay), "{attempt}: {delay}");
    }
    assert_eq!(retry.delay(RetryDecision::Backoff, 10, None), None);
    assert_eq!(retry.delay(RetryDecision::Never, 1, None), None);
}

#[tokio::test(start_paused = true)]
async fn delay_beyond_a_limit_prevents_a_retry() {
    let retry = Retry::new(&Limits::default());
    let after = |seconds| RetryDecision::After(Duration::from_secs(seconds));
    assert_eq!(retry.delay(after(60), 1, None), Some(Duration::from_secs(60)));
    assert_eq!(retry.delay(after(61), 1, None), None);
    let deadline = Instant::now().checked_add(Duration::from_secs(5));
    assert_eq!(retry.delay(after(4), 1, deadline), Some(Duration::from_secs(4)));
    assert_eq!(retry.delay(after(5), 1, deadline), None);
}

#[test]
fn empty_budget_prevents_retries() {
    let retry = Retry::new(&Limits::default());
    let retries =
        (0..1000).filter(|_| retry.delay(RetryDecision::Backoff, 1, None).is_some()).count();
    assert_eq!(retries, 100);
    (0..5).for_each(|_| retry.succeeded());
    assert!(retry.delay(RetryDecision::Backoff, 1, None).is_some());
    assert!(retry.delay(RetryDecision::Backoff, 1, None).is_none());
}

#[test]
fn error_bodies_of_all_providers_are_parsed() {
    let read =
        |body: &str| ErrorBody::parse(body.as_bytes()).map(|error| (error.message, error.code));
    let expected = |message: &str, code: &str| {
        Some((Some(message.to_owned()), (!code.is_empty()).then(|| code.to_owned())))
    };
    let openai = r#"{"error":{"message":"m","type":"invalid_request_error","code":"c"}}"#;
    assert_eq!(read(openai), expected("m", "c"));
    assert_eq!(read(r#"{"error":{"message":"m","type":"t","code":null}}"#), expected("m", "t"));
    assert_eq!(read(r#"[{"error":{"code":404,"message":"m","status":"S"}}]"#), expected("m", "S"));
    assert_eq!(read(r#"{"error":"m"}"#), expected("m", ""));
    assert_eq!(
        read(r#"{"object":"error","message":"m","type":"t","code":400}"#),
        expected("m", "t")
    );
    assert_eq!(read(r#"{"detail":[{"msg":"m"}]}"#), expected(r#"[{"msg":"m"}]"#, ""));
    assert_eq!(read("<html>"), None);
    assert_eq!(read("[]"), None);
}
