//! The error of a request.

use ai_services_core::Error;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;
use std::borrow::Cow;

/// The error of a request, with its text for the page.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    message: Cow<'static, str>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, message: message.into() }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let status = StatusCode::from_u16(error.kind().http_status());
        Self::new(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = json!({ "error": { "message": self.message } }).to_string();
        let json = HeaderValue::from_static("application/json");
        (self.status, [(header::CONTENT_TYPE, json)], body).into_response()
    }
}
