//! From everything that can go wrong with a request to the crate's error.

use super::error_body::ErrorBody;
use super::retry::{self, Repeat};
use super::{Ends, Limits};
use ai_services_core::{BoxError, Error, ErrorKind};
use reqwest::Response;
use reqwest::header::{HeaderMap, HeaderValue};
use std::borrow::Cow;
use std::error::Error as StdError;
use std::io;

/// The longest text of a provider that is repeated in an error, in characters.
const MAX_SAID: usize = 1000;
/// The longest piece of a body that is not JSON, in characters.
const MAX_EXCERPT: usize = 200;

/// What Google says of a wrong key, with status 400.
const WRONG_KEY: &str = "API_KEY_INVALID";

/// What llama.cpp says of a text that is longer than its batches, with status 500.
const TOO_LONG: &str = "is too large to process";

/// A failed attempt.
pub(super) struct FailedAttempt {
    pub(super) error: Error,
    pub(super) repeat: Repeat,
}

impl FailedAttempt {
    /// No head of an answer came.
    pub(super) fn of_sending(error: reqwest::Error, limits: &Limits, ends: Ends) -> Self {
        let error = error.without_url();
        if error.is_timeout() {
            // After the deadline there is no time for another attempt.
            let repeat = if ends.is_deadline { Repeat::Never } else { Repeat::Soon };
            return Self { error: timeout(error, limits, ends), repeat };
        }
        let (kind, what, repeat) = if error.is_builder() {
            (ErrorKind::Configuration, "the request cannot be built", Repeat::Never)
        } else if find::<hyper::Error>(&error).is_some_and(hyper::Error::is_parse) {
            (ErrorKind::InvalidResponse, "the answer is not HTTP", Repeat::Never)
        } else if error.is_connect() {
            (ErrorKind::Connection, "the server cannot be reached", Repeat::Soon)
        } else {
            (ErrorKind::Connection, "the connection broke before an answer came", Repeat::Soon)
        };
        let message = format!("{what}: {}", root(&error));
        Self { error: Error::new(kind, message).with_source(error), repeat }
    }

    /// An answer came, with a status other than 2xx.
    pub(super) fn of_status(response: &Response, body: &[u8], secrets: &HeaderMap) -> Self {
        let (status, headers) = (response.status(), response.headers());
        let said = ErrorBody::parse(body);
        let code = said.as_ref().and_then(|said| said.code.as_deref());
        let told = said.as_ref().and_then(|said| said.retry_after);
        let wait = retry::retry_after(headers).or(told);
        let text = said.as_ref().and_then(|said| said.message.as_deref());
        let (kind, repeat) = match text {
            // No pause makes it shorter.
            Some(text) if text.contains(TOO_LONG) => (ErrorKind::InvalidRequest, Repeat::Never),
            _ => (kind_of(status.as_u16(), code), retry::repeat(status, headers, code, wait)),
        };
        let text = if status.is_redirection() {
            "the server redirects, which is not followed; check the base URL".to_owned()
        } else {
            text.map_or_else(|| excerpt(body, secrets), |text| quote(text, MAX_SAID, secrets))
        };
        let separator = if text.is_empty() { "" } else { ": " };
        let what = what(kind);
        let mut error = Error::new(kind, format!("{what} (status {status}){separator}{text}"))
            .with_status(status.as_u16());
        if let Some(code) = code {
            error = error.with_code(quote(code, MAX_EXCERPT, secrets));
        }
        error = with_request_id(error, request_id(headers), secrets);
        if let Some(wait) = wait {
            error = error.with_retry_after(wait);
        }
        // The provider's word, or an empty account, counts more than the kind.
        if (repeat != Repeat::Never) != error.is_retryable() {
            error = error.with_retryable(repeat != Repeat::Never);
        }
        Self { error, repeat }
    }
}

/// The error for a body with status 2xx that is an error nevertheless.
pub(super) fn error_in_body(body: &[u8], secrets: &HeaderMap) -> Error {
    let said = ErrorBody::parse(body).unwrap_or_default();
    let status = said.number.filter(|number| (400..600).contains(number));
    let code = said.code.as_deref();
    let kind = match status {
        Some(status) => kind_of(status, code),
        None => kind_of_code(code.unwrap_or_default()),
    };
    let text = said.message.as_deref();
    let text = text.map_or_else(|| excerpt(body, secrets), |text| quote(text, MAX_SAID, secrets));
    let mut error = Error::new(kind, format!("{}: {text}", what(kind)));
    if let Some(status) = status {
        error = error.with_status(status);
    }
    if let Some(wait) = said.retry_after {
        error = error.with_retry_after(wait);
    }
    if let Some(code) = code {
        if retry::is_out_of_money(code) {
            error = error.with_retryable(false);
        }
        error = error.with_code(quote(code, MAX_EXCERPT, secrets));
    }
    error
}

/// The error for a connection that broke in the middle of an answer.
pub(super) fn broken_body(error: reqwest::Error, limits: &Limits, ends: Ends) -> Error {
    let error = error.without_url();
    if error.is_timeout() {
        return timeout(error, limits, ends);
    }
    let is_malformed = find::<io::Error>(&error).is_some_and(|error| {
        matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)
    });
    let kind = if is_malformed { ErrorKind::InvalidResponse } else { ErrorKind::Connection };
    let message = format!("the answer was cut off: {}", root(&error));
    Error::new(kind, message).with_source(error)
}

/// The error for a body that is not the JSON it should be.
pub(super) fn unreadable(
    error: serde_json::Error,
    body: &[u8],
    content_type: Option<&str>,
    secrets: &HeaderMap,
) -> Error {
    let message = if body.is_empty() {
        "the answer is empty".to_owned()
    } else if !body.trim_ascii_start().starts_with(b"{") {
        let content_type = quote(content_type.unwrap_or("no content type"), MAX_EXCERPT, secrets);
        format!("the answer is not JSON ({content_type}): {}", excerpt(body, secrets))
    } else if error.is_eof() {
        "the answer was cut off".to_owned()
    } else {
        "the answer does not follow the protocol".to_owned()
    };
    Error::new(ErrorKind::InvalidResponse, message).with_source(parse_error(error, secrets))
}

/// What is wrong with JSON. Parsers repeat the value that they did not expect.
pub(super) fn parse_error(error: serde_json::Error, secrets: &HeaderMap) -> BoxError {
    let text = error.to_string();
    let hidden = hide(&text, secrets);
    if hidden == text { error.into() } else { hidden.into_owned().into() }
}

fn timeout(error: reqwest::Error, limits: &Limits, ends: Ends) -> Error {
    let message = match (ends.is_deadline, limits.deadline) {
        (true, Some(deadline)) => format!("no answer within the deadline of {deadline:?}"),
        _ if error.is_connect() => "no connection within the time for connecting".to_owned(),
        _ => format!("no answer within the timeout of {:?}", limits.timeout),
    };
    Error::new(ErrorKind::Timeout, message).with_source(error)
}

fn kind_of(status: u16, code: Option<&str>) -> ErrorKind {
    match status {
        _ if code.is_some_and(is_filtered) => ErrorKind::Refused,
        400 if code == Some(WRONG_KEY) => ErrorKind::Authentication,
        401 | 403 => ErrorKind::Authentication,
        408 => ErrorKind::Timeout,
        // 402 is an empty account at gateways that sell several models; 432 and 433 are limits of a
        // plan and of spending at Tavily.
        402 | 429 | 432 | 433 => ErrorKind::RateLimited,
        409 | 500.. => ErrorKind::Unavailable,
        400..=499 => ErrorKind::InvalidRequest,
        _ => ErrorKind::InvalidResponse,
    }
}

/// The kind by the words that providers use, where there is no status.
fn kind_of_code(code: &str) -> ErrorKind {
    // Google writes its words in capitals.
    let code = &*code.to_ascii_lowercase();
    let says = |parts: &[&str]| parts.iter().any(|part| code.contains(part));
    match () {
        () if is_filtered(code) => ErrorKind::Refused,
        () if retry::is_out_of_money(code) || says(&["rate_limit", "resource_exhausted"]) => {
            ErrorKind::RateLimited
        }
        () if says(&["auth", "api_key", "permission"]) => ErrorKind::Authentication,
        () if says(&[
            "invalid_request",
            "invalid_argument",
            "invalid_prompt",
            "not_found",
            "context_length",
            "too_large",
            "image",
        ]) =>
        {
            ErrorKind::InvalidRequest
        }
        () if says(&["timeout"]) => ErrorKind::Timeout,
        () if says(&["server", "overloaded", "unavailable", "internal", "api_error"]) => {
            ErrorKind::Unavailable
        }
        () => ErrorKind::InvalidResponse,
    }
}

fn is_filtered(code: &str) -> bool {
    let says = |word| code.ends_with(word);
    code == "content_filter" || says("policy_violation") || says("bio_policy")
}

fn what(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Authentication => "the provider refused the key",
        ErrorKind::RateLimited => "the provider's limit is reached",
        ErrorKind::Unavailable => "the provider is not available",
        ErrorKind::Timeout => "the provider gave up waiting",
        ErrorKind::Refused => "the provider's filter refused the request",
        ErrorKind::InvalidRequest => "the provider refused the request",
        _ => "the provider answered with an error",
    }
}

/// The provider's id of a request.
pub(super) fn request_id(headers: &HeaderMap) -> Option<&HeaderValue> {
    headers.get("x-request-id").or_else(|| headers.get("request-id"))
}

/// The same error with the id of the request, if there is one.
pub(super) fn with_request_id(
    error: Error,
    id: Option<&HeaderValue>,
    secrets: &HeaderMap,
) -> Error {
    match id.and_then(|id| id.to_str().ok()) {
        Some(id) => error.with_request_id(quote(id, MAX_EXCERPT, secrets)),
        None => error,
    }
}

/// What is behind an error, the nearest first.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    let mut next = error.source();
    std::iter::from_fn(move || {
        let cause = next?;
        next = cause.source();
        Some(cause)
    })
}

/// The first error of type `T` in the chain.
fn find<T: StdError + 'static>(error: &reqwest::Error) -> Option<&T> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

/// The end of the chain, which says what happened.
fn root(error: &reqwest::Error) -> String {
    causes(error).last().map_or_else(|| error.to_string(), ToString::to_string)
}

/// The beginning of a body, fit for one line of text.
fn excerpt(body: &[u8], secrets: &HeaderMap) -> String {
    let body = body.trim_ascii_start();
    // As long as a secret more, so that none of which the beginning is kept is cut.
    let max = 4 * MAX_EXCERPT + secrets_in(secrets).map(str::len).max().unwrap_or(0);
    let start = body.get(..max).unwrap_or(body);
    quote(&String::from_utf8_lossy(start), MAX_EXCERPT, secrets)
}

/// What somebody else says: without secrets, at most `max` characters, control characters escaped.
fn quote(text: &str, max: usize, secrets: &HeaderMap) -> String {
    clean(&hide(text, secrets), max)
}

/// A few words of somebody else.
#[cfg(feature = "web-search")]
pub(super) fn quote_short(text: &str, secrets: &HeaderMap) -> String {
    quote(text, MAX_EXCERPT, secrets)
}

/// At most `max` characters, with control characters escaped.
fn clean(text: &str, max: usize) -> String {
    let mut out = String::new();
    let mut characters = text.trim().chars();
    for character in characters.by_ref().take(max) {
        if character.is_control() {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    if characters.next().is_some() {
        out.push('…');
    }
    out
}

/// The text without secrets, which some servers echo.
fn hide<'a>(text: &'a str, headers: &HeaderMap) -> Cow<'a, str> {
    secrets_in(headers).fold(text.into(), |text, secret| {
        if text.contains(secret) { text.replace(secret, "[secret]").into() } else { text }
    })
}

/// The values of sensitive headers. What is shorter is no secret, and may be part of any word.
fn secrets_in(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.values().filter(|value| value.is_sensitive());
    let secrets = values.filter_map(|value| value.to_str().ok());
    let secrets = secrets.map(|secret| secret.strip_prefix("Bearer ").unwrap_or(secret));
    secrets.filter(|secret| secret.len() >= 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpt_is_short_and_without_control_characters() {
        let body = format!("a\r\n\u{1b}[2J{}", "x".repeat(900));
        let text = excerpt(body.as_bytes(), &HeaderMap::new());
        assert!(text.starts_with("a\\r\\n\\u{1b}[2J"), "{text}");
        assert!(text.ends_with('…') && text.chars().count() < 250);
    }

    #[test]
    fn secret_is_hidden_wherever_a_text_is_cut() {
        let mut value = HeaderValue::from_static("Bearer sk-canary-7f3a9c");
        value.set_sensitive(true);
        let secrets = HeaderMap::from_iter([(reqwest::header::AUTHORIZATION, value)]);
        for filler in ["x", "😀"] {
            for before in 0..=MAX_EXCERPT {
                let body = format!("{}sk-canary-7f3a9c", filler.repeat(before));
                let text = excerpt(body.as_bytes(), &secrets);
                assert!(!text.contains("sk"), "{before}: {text}");
            }
        }
    }

    #[test]
    fn value_that_was_not_expected_is_not_repeated_if_it_is_a_secret() {
        let mut value = HeaderValue::from_static("sk-canary-7f3a9c");
        value.set_sensitive(true);
        let secrets = HeaderMap::from_iter([(reqwest::header::AUTHORIZATION, value)]);
        let wrong = |json| serde_json::from_str::<u32>(json).unwrap_err();
        let shown = |json| parse_error(wrong(json), &secrets).to_string();
        let secret = r#"invalid type: string "[secret]", expected u32 at line 1 column 18"#;
        assert_eq!(shown(r#""sk-canary-7f3a9c""#), secret);
        assert_eq!(shown("true"), wrong("true").to_string());
    }

    #[test]
    fn status_decides_the_kind() {
        let kinds = [400, 401, 403, 404, 408, 413, 422, 429, 500, 503, 529, 307]
            .map(|status| kind_of(status, None));
        use ErrorKind::{Authentication as A, InvalidRequest as I, Unavailable as U};
        let rest = [ErrorKind::Timeout, ErrorKind::RateLimited, ErrorKind::InvalidResponse];
        assert_eq!(kinds, [I, A, A, I, rest[0], I, I, rest[1], U, U, U, rest[2]]);
        assert_eq!(kind_of(400, Some("content_filter")), ErrorKind::Refused);
        assert_eq!(kind_of(400, Some("API_KEY_INVALID")), A);
        let words = ["UNAUTHENTICATED", "INVALID_ARGUMENT", "UNAVAILABLE", "RESOURCE_EXHAUSTED"];
        assert_eq!(words.map(kind_of_code), [A, I, U, ErrorKind::RateLimited]);
    }

    #[test]
    fn code_decides_the_kind_where_there_is_no_status() {
        use ErrorKind::{Authentication, InvalidRequest, RateLimited, Timeout, Unavailable};
        let kinds = [
            ("authentication_error", Authentication),
            ("permission_error", Authentication),
            ("invalid_api_key", Authentication),
            ("rate_limit_error", RateLimited),
            ("billing_error", RateLimited),
            ("invalid_request_error", InvalidRequest),
            ("request_too_large", InvalidRequest),
            ("not_found_error", InvalidRequest),
            ("timeout_error", Timeout),
            ("overloaded_error", Unavailable),
            ("api_error", Unavailable),
            ("server_error", Unavailable),
            ("something_new", ErrorKind::InvalidResponse),
        ];
        for (code, kind) in kinds {
            assert_eq!(kind_of_code(code), kind, "{code}");
        }
    }
}
