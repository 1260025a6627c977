//! Successful answers, with the relevant parts of their headers.

use super::{Settings, error_mapping};
use ai_services_core::{Error, ErrorKind};
use bytes::Bytes;
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use std::sync::Arc;

/// An answer with a 2xx status.
pub(crate) struct Answer {
    pub(crate) body: Bytes,
    pub(crate) attempts: u32,
    status: u16,
    /// All headers, because most answers need none of them.
    headers: HeaderMap,
    pub(super) settings: Arc<Settings>,
}

impl Answer {
    /// Creates an answer without a body from the status of a response and its headers, which are removed
    /// from the response.
    pub(super) fn of(response: &mut Response, attempts: u32, settings: Arc<Settings>) -> Self {
        Self {
            body: Bytes::new(),
            attempts,
            status: response.status().as_u16(),
            headers: std::mem::take(response.headers_mut()),
            settings,
        }
    }

    /// Sets the body.
    pub(super) fn with_body(mut self, body: Bytes) -> Self {
        self.body = body;
        self
    }

    /// Adds the status, unless the error has one, the number of attempts and the request id to an error.
    pub(crate) fn annotate(&self, error: Error) -> Error {
        let error = if error.status().is_some() { error } else { error.with_status(self.status) };
        let error = error.with_attempts(self.attempts);
        let request_id = error_mapping::request_id(&self.headers);
        error_mapping::with_request_id(error, request_id, &self.settings.headers)
    }

    /// Returns the error that the body reports despite the 2xx status.
    pub(crate) fn reported(&self) -> Error {
        self.reported_in(&self.body)
    }

    /// Returns the error that a part of the answer reports.
    pub(crate) fn reported_in(&self, data: &[u8]) -> Error {
        self.annotate(error_mapping::error_in_body(data, &self.settings.headers))
    }

    /// Shortens text of the server to one line for an error message, with secrets hidden.
    #[cfg(feature = "web-search")]
    pub(crate) fn quote(&self, text: &str) -> String {
        error_mapping::quote_short(text, &self.settings.headers)
    }

    /// Returns the error of a body that is not the expected JSON.
    pub(crate) fn unreadable(&self, error: serde_json::Error) -> Error {
        let secrets = &self.settings.headers;
        self.annotate(error_mapping::unreadable(error, &self.body, self.content_type(), secrets))
    }

    /// Returns the error of a part of the answer that is not the expected JSON.
    pub(super) fn unreadable_part(&self, error: serde_json::Error) -> Error {
        let source = error_mapping::parse_error(error, &self.settings.headers);
        let message = "the answer does not follow the protocol";
        Error::new(ErrorKind::InvalidResponse, message).with_source(source)
    }

    /// Returns `true` if the content type is that of server-sent events.
    pub(super) fn is_event_stream(&self) -> bool {
        const EVENTS: &str = "text/event-stream";
        let start = self.content_type().and_then(|value| value.get(..EVENTS.len()));
        start.is_some_and(|start| start.eq_ignore_ascii_case(EVENTS))
    }

    fn content_type(&self) -> Option<&str> {
        self.headers.get(CONTENT_TYPE)?.to_str().ok()
    }
}
