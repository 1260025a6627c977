//! The error of a request, as a client sees it.

use ai_services_core::{Error, ErrorKind};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use std::borrow::Cow;
use std::time::Duration;

/// The error of a request, as a client sees it: without the server's configuration.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: Cow<'static, str>,
    retry_after: Option<Duration>,
}

/// The body of an error, in OpenAI's form.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorBody<'a> {
    error: ErrorObject<'a>,
}

#[derive(Debug, Serialize)]
struct ErrorObject<'a> {
    message: &'a str,
    r#type: &'static str,
    param: Option<()>,
    code: &'static str,
}

impl Problem {
    pub(crate) fn new(
        status: StatusCode,
        code: &'static str,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { status, code, message: message.into(), retry_after: None }
    }

    /// An error in the request.
    pub(crate) fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    /// More requests than the server runs at once.
    pub(crate) fn busy() -> Self {
        let mut problem =
            Self::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", "the server is busy");
        problem.retry_after = Some(Duration::from_secs(1));
        problem
    }

    /// The time limit of a request.
    pub(crate) fn timeout() -> Self {
        Self::new(StatusCode::GATEWAY_TIMEOUT, "timeout", "the answer took too long")
    }

    /// A message for a conversation whose last turn waits.
    pub(crate) fn earlier_turn_waits() -> Self {
        Self::new(
            StatusCode::CONFLICT,
            "suspended",
            "an earlier turn of the conversation waits; decide about it before the next message",
        )
    }

    /// The error of a call, with the application's text for it.
    pub(crate) fn of_call(error: &Error, message: Option<String>) -> Self {
        let kind = error.kind();
        // A turn that waits is not a success of these protocols.
        let status = match kind {
            ErrorKind::Suspended => StatusCode::CONFLICT,
            _ => StatusCode::from_u16(kind.http_status())
                .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        };
        let (code, text) = describe(kind);
        let message = message.map_or(Cow::Borrowed(text), Cow::Owned);
        Self { status, code, message, retry_after: error.retry_after() }
    }

    pub(crate) fn body(&self) -> ErrorBody<'_> {
        let r#type = match self.status.as_u16() {
            401 => "authentication_error",
            429 | 503 => "rate_limit_error",
            400..=499 => "invalid_request_error",
            _ => "server_error",
        };
        ErrorBody {
            error: ErrorObject { message: &self.message, r#type, param: None, code: self.code },
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_string(&self.body()).unwrap_or_default();
        let json = HeaderValue::from_static("application/json");
        let mut response = (self.status, [(header::CONTENT_TYPE, json)], body).into_response();
        if let Some(wait) = self.retry_after {
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// Returns the code and the text of a kind of error.
fn describe(kind: ErrorKind) -> (&'static str, &'static str) {
    match kind {
        ErrorKind::Suspended => ("suspended", "the turn waits for approval"),
        ErrorKind::Media => ("invalid_media", "the media of the message cannot be read"),
        ErrorKind::Conflict => ("conflict", "the conversation was changed meanwhile"),
        ErrorKind::Busy => ("busy", "the conversation is being answered already"),
        ErrorKind::TurnTooLarge => ("message_too_long", "the message is too long"),
        ErrorKind::Refused => ("refused", "the model refused to answer"),
        ErrorKind::Moderation => ("moderation", "the message was rejected by moderation"),
        ErrorKind::Guardrail => ("guardrail", "the message or its answer was rejected"),
        ErrorKind::LimitExceeded => ("limit_exceeded", "the answer exceeded a limit of the server"),
        ErrorKind::RateLimited | ErrorKind::Unavailable => {
            ("unavailable", "the model is not available now")
        }
        ErrorKind::Timeout => ("timeout", "the answer took too long"),
        ErrorKind::UnknownOutcome => (
            "unknown_outcome",
            "it is unknown whether the turn was stored; load the conversation again",
        ),
        ErrorKind::Connection | ErrorKind::InvalidResponse | ErrorKind::Output => {
            ("bad_answer", "the model gave no usable answer")
        }
        _ => ("internal_error", "the server failed to answer"),
    }
}
