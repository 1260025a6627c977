//! Mapping of failed requests and bodies to [`Error`].

use super::error_body::ErrorBody;
use super::retry::{self, RetryDecision};
use super::{AttemptTimeout, Limits};
use ai_services_core::{BoxError, Error, ErrorKind};
use reqwest::Response;
use reqwest::header::{HeaderMap, HeaderValue};
use std::borrow::Cow;
use std::error::Error as StdError;
use std::io;

/// Maximum length of a provider's message in an error, in characters.
const MAX_MESSAGE: usize = 1000;
/// Maximum length of an excerpt of a body, a code or an id in an error, in characters.
const MAX_EXCERPT: usize = 200;

/// Google's code for an invalid key, sent with status 400.
const INVALID_KEY_CODE: &str = "API_KEY_INVALID";

/// Parts of messages, in lower case, that determine the kind of an error because its status does not. A retry
/// would fail again.
const DECISIVE_MESSAGES: [(u16, &str, ErrorKind); 8] = [
    // xAI, and gateways to Google without its code.
    (400, "incorrect api key", ErrorKind::Authentication),
    (400, "invalid api key", ErrorKind::Authentication),
    (400, "api key not valid", ErrorKind::Authentication),
    // llama.cpp, for requests that the server or its model cannot process.
    (500, "is too large to process", ErrorKind::InvalidRequest),
    (500, "exceeds the available context size", ErrorKind::InvalidRequest),
    (500, "requires --jinja flag", ErrorKind::InvalidRequest),
    (500, "cannot use both", ErrorKind::InvalidRequest),
    (500, "not supported", ErrorKind::InvalidRequest),
];

/// A failed attempt, with the decision about a retry.
pub(super) struct AttemptFailure {
    pub(super) error: Error,
    pub(super) decision: RetryDecision,
}

impl AttemptFailure {
    /// Maps the error of an attempt without an answer.
    pub(super) fn of_sending(
        error: reqwest::Error,
        limits: &Limits,
        timeout: AttemptTimeout,
    ) -> Self {
        let error = error.without_url();
        if error.is_timeout() {
            // After the deadline there is no time for another attempt.
            let decision =
                if timeout.is_deadline { RetryDecision::Never } else { RetryDecision::Backoff };
            return Self { error: timeout_error(error, limits, timeout), decision };
        }
        let (kind, summary, decision) = if error.is_builder() {
            (ErrorKind::Configuration, "the request cannot be built", RetryDecision::Never)
        } else if find::<hyper::Error>(&error).is_some_and(hyper::Error::is_parse) {
            (ErrorKind::InvalidResponse, "the answer is not HTTP", RetryDecision::Never)
        } else if error.is_connect() {
            (ErrorKind::Connection, "the server cannot be reached", RetryDecision::Backoff)
        } else {
            (
                ErrorKind::Connection,
                "the connection failed before the answer arrived",
                RetryDecision::Backoff,
            )
        };
        let message = format!("{summary}: {}", root(&error));
        Self { error: Error::new(kind, message).with_source(error), decision }
    }

    /// Maps an answer whose status is not 2xx.
    pub(super) fn of_status(response: &Response, body: &[u8], secrets: &HeaderMap) -> Self {
        let (status, headers) = (response.status(), response.headers());
        let parsed = ErrorBody::parse(body);
        let code = parsed.as_ref().and_then(|body| body.code.as_deref());
        let body_delay = parsed.as_ref().and_then(|body| body.retry_after);
        let wait = retry::retry_after(headers).or(body_delay);
        let text = parsed.as_ref().and_then(|body| body.message.as_deref());
        let (kind, decision) = match text.and_then(|text| kind_of_message(status.as_u16(), text)) {
            Some(kind) => (kind, RetryDecision::Never),
            None => {
                (kind_of(status.as_u16(), code), retry::retry_decision(status, headers, code, wait))
            }
        };
        let text = if status.is_redirection() {
            "redirects are not followed; check the base URL".to_owned()
        } else {
            text.map_or_else(|| excerpt(body, secrets), |text| quote(text, MAX_MESSAGE, secrets))
        };
        let separator = if text.is_empty() { "" } else { ": " };
        let summary = summary(kind);
        let mut error = Error::new(kind, format!("{summary} (status {status}){separator}{text}"))
            .with_status(status.as_u16());
        if let Some(code) = code {
            error = error.with_code(quote(code, MAX_EXCERPT, secrets));
        }
        error = with_request_id(error, request_id(headers), secrets);
        if let Some(wait) = wait {
            error = error.with_retry_after(wait);
        }
        // `x-should-retry` and codes for an empty account override the default of the kind.
        if (decision != RetryDecision::Never) != error.is_retryable() {
            error = error.with_retryable(decision != RetryDecision::Never);
        }
        Self { error, decision }
    }
}

/// Returns the error that a body reports despite a 2xx status.
pub(super) fn error_in_body(body: &[u8], secrets: &HeaderMap) -> Error {
    let parsed = ErrorBody::parse(body).unwrap_or_default();
    let status = parsed.number.filter(|number| (400..600).contains(number));
    let code = parsed.code.as_deref();
    let text = parsed.message.as_deref();
    let kind = match status {
        Some(status) => text
            .and_then(|text| kind_of_message(status, text))
            .unwrap_or_else(|| kind_of(status, code)),
        None => kind_of_code(code.unwrap_or_default()),
    };
    let text =
        text.map_or_else(|| excerpt(body, secrets), |text| quote(text, MAX_MESSAGE, secrets));
    let mut error = Error::new(kind, format!("{}: {text}", summary(kind)));
    if let Some(status) = status {
        error = error.with_status(status);
    }
    if let Some(wait) = parsed.retry_after {
        error = error.with_retry_after(wait);
    }
    if let Some(code) = code {
        if retry::is_out_of_credit(code) {
            error = error.with_retryable(false);
        }
        error = error.with_code(quote(code, MAX_EXCERPT, secrets));
    }
    error
}

/// Returns the error of a connection that failed in the middle of an answer.
pub(super) fn broken_body(
    error: reqwest::Error,
    limits: &Limits,
    timeout: AttemptTimeout,
) -> Error {
    let error = error.without_url();
    if error.is_timeout() {
        return timeout_error(error, limits, timeout);
    }
    let is_malformed = find::<io::Error>(&error).is_some_and(|error| {
        matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)
    });
    let kind = if is_malformed { ErrorKind::InvalidResponse } else { ErrorKind::Connection };
    let message = format!("the answer was cut off: {}", root(&error));
    Error::new(kind, message).with_source(error)
}

/// Returns the error of a body that is not the expected JSON.
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

/// Hides secrets in a JSON error, whose message may repeat an unexpected value.
pub(super) fn parse_error(error: serde_json::Error, secrets: &HeaderMap) -> BoxError {
    let text = error.to_string();
    let hidden = hide(&text, secrets);
    if hidden == text { error.into() } else { hidden.into_owned().into() }
}

/// Returns the error of a time limit that ended an attempt.
fn timeout_error(error: reqwest::Error, limits: &Limits, timeout: AttemptTimeout) -> Error {
    let message = match (timeout.is_deadline, limits.deadline) {
        (true, Some(deadline)) => format!("no answer within the deadline of {deadline:?}"),
        _ if error.is_connect() => "no connection within the connect timeout".to_owned(),
        _ => format!("no answer within the timeout of {:?}", limits.timeout),
    };
    Error::new(ErrorKind::Timeout, message).with_source(error)
}

/// Returns the kind of an error whose status is ambiguous, from its message.
fn kind_of_message(status: u16, text: &str) -> Option<ErrorKind> {
    let mut decisive = DECISIVE_MESSAGES.iter().filter(|(own, ..)| *own == status).peekable();
    decisive.peek()?;
    let text = text.to_ascii_lowercase();
    decisive.find(|(_, part, _)| text.contains(part)).map(|(.., kind)| *kind)
}

/// Returns the kind of a status. The code wins for filtered content and invalid keys.
fn kind_of(status: u16, code: Option<&str>) -> ErrorKind {
    match status {
        _ if code.is_some_and(is_filtered) => ErrorKind::Refused,
        400 if code == Some(INVALID_KEY_CODE) => ErrorKind::Authentication,
        401 | 403 => ErrorKind::Authentication,
        408 => ErrorKind::Timeout,
        // 402: empty account of a gateway to several providers. 432 and 433: plan and spending limits of
        // Tavily.
        402 | 429 | 432 | 433 => ErrorKind::RateLimited,
        409 | 500.. => ErrorKind::Unavailable,
        400..=499 => ErrorKind::InvalidRequest,
        _ => ErrorKind::InvalidResponse,
    }
}

/// Returns the kind of an error without a status, from the words in its code.
fn kind_of_code(code: &str) -> ErrorKind {
    // Google's codes are in capitals.
    let code = &*code.to_ascii_lowercase();
    let contains_any = |parts: &[&str]| parts.iter().any(|part| code.contains(part));
    match () {
        () if is_filtered(code) => ErrorKind::Refused,
        () if retry::is_out_of_credit(code)
            || contains_any(&["rate_limit", "resource_exhausted"]) =>
        {
            ErrorKind::RateLimited
        }
        () if contains_any(&["auth", "api_key", "permission"]) => ErrorKind::Authentication,
        () if contains_any(&[
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
        () if contains_any(&["timeout"]) => ErrorKind::Timeout,
        () if contains_any(&["server", "overloaded", "unavailable", "internal", "api_error"]) => {
            ErrorKind::Unavailable
        }
        () => ErrorKind::InvalidResponse,
    }
}

/// Returns `true` for the codes of content filters.
fn is_filtered(code: &str) -> bool {
    code == "content_filter" || code.ends_with("policy_violation") || code.ends_with("bio_policy")
}

/// Returns the beginning of the message for an error of this kind.
fn summary(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Authentication => "the provider rejected the API key",
        ErrorKind::RateLimited => "the provider's rate limit or quota was exceeded",
        ErrorKind::Unavailable => "the provider is not available",
        ErrorKind::Timeout => "the provider timed out",
        ErrorKind::Refused => "the provider's filter refused the request",
        ErrorKind::InvalidRequest => "the provider rejected the request",
        _ => "the provider returned an error",
    }
}

/// Returns the provider's id of a request.
pub(super) fn request_id(headers: &HeaderMap) -> Option<&HeaderValue> {
    headers.get("x-request-id").or_else(|| headers.get("request-id"))
}

/// Adds the id of the request to an error, if there is one.
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

/// Returns the sources of an error, the nearest first.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    let mut next = error.source();
    std::iter::from_fn(move || {
        let cause = next?;
        next = cause.source();
        Some(cause)
    })
}

/// Returns the first source of type `T`.
fn find<T: StdError + 'static>(error: &reqwest::Error) -> Option<&T> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

/// Returns the message of the innermost source, which is the most specific one.
fn root(error: &reqwest::Error) -> String {
    causes(error).last().map_or_else(|| error.to_string(), ToString::to_string)
}

/// Returns the beginning of a body as one line.
fn excerpt(body: &[u8], secrets: &HeaderMap) -> String {
    let body = body.trim_ascii_start();
    // The extra length of a secret keeps a secret at the end of the excerpt whole, so that it is hidden.
    let max = 4 * MAX_EXCERPT + secrets_in(secrets).map(str::len).max().unwrap_or(0);
    let start = body.get(..max).unwrap_or(body);
    quote(&String::from_utf8_lossy(start), MAX_EXCERPT, secrets)
}

/// Returns at most `max` characters of foreign text, with secrets hidden and control characters escaped.
fn quote(text: &str, max: usize, secrets: &HeaderMap) -> String {
    clean(&hide(text, secrets), max)
}

/// Returns an excerpt of foreign text, like [`quote`].
#[cfg(feature = "web-search")]
pub(super) fn quote_short(text: &str, secrets: &HeaderMap) -> String {
    quote(text, MAX_EXCERPT, secrets)
}

/// Returns at most `max` characters, with control characters escaped.
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

/// Replaces secrets, which some servers echo.
fn hide<'a>(text: &'a str, headers: &HeaderMap) -> Cow<'a, str> {
    secrets_in(headers).fold(text.into(), |text, secret| {
        if text.contains(secret) { text.replace(secret, "[secret]").into() } else { text }
    })
}

/// Returns the values of sensitive headers. Values of less than 4 bytes are left out: they may be part of
/// any word.
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
    fn secret_is_hidden_wherever_text_is_truncated() {
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
    fn secret_in_a_json_error_is_hidden() {
        let mut value = HeaderValue::from_static("sk-canary-7f3a9c");
        value.set_sensitive(true);
        let secrets = HeaderMap::from_iter([(reqwest::header::AUTHORIZATION, value)]);
        let error = |json| serde_json::from_str::<u32>(json).unwrap_err();
        let shown = |json| parse_error(error(json), &secrets).to_string();
        let secret = r#"invalid type: string "[secret]", expected u32 at line 1 column 18"#;
        assert_eq!(shown(r#""sk-canary-7f3a9c""#), secret);
        assert_eq!(shown("true"), error("true").to_string());
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
        let codes = ["UNAUTHENTICATED", "INVALID_ARGUMENT", "UNAVAILABLE", "RESOURCE_EXHAUSTED"];
        assert_eq!(codes.map(kind_of_code), [A, I, U, ErrorKind::RateLimited]);
    }

    #[test]
    fn code_decides_the_kind_without_a_status() {
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
