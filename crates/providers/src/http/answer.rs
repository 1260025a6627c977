//! An answer that came, and what its head said.

use super::{Settings, error_mapping};
use ai_services_core::{Error, ErrorKind};
use bytes::Bytes;
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use std::sync::Arc;

/// An answer with status 2xx.
pub(crate) struct Answer {
    pub(crate) body: Bytes,
    pub(crate) attempts: u32,
    status: u16,
    request_id: Option<HeaderValue>,
    content_type: Option<HeaderValue>,
    pub(super) settings: Arc<Settings>,
}

impl Answer {
    pub(super) fn of(response: &Response, attempts: u32, settings: Arc<Settings>) -> Self {
        Self {
            body: Bytes::new(),
            attempts,
            status: response.status().as_u16(),
            request_id: error_mapping::request_id(response.headers()).cloned(),
            content_type: response.headers().get(CONTENT_TYPE).cloned(),
            settings,
        }
    }

    pub(super) fn with_body(mut self, body: Bytes) -> Self {
        self.body = body;
        self
    }

    /// The same error with what is known of the answer.
    pub(crate) fn annotate(&self, error: Error) -> Error {
        let error = match error.status() {
            Some(_) => error,
            None => error.with_status(self.status),
        };
        let error = error.with_attempts(self.attempts);
        error_mapping::with_request_id(error, self.request_id.as_ref(), &self.settings.headers)
    }

    /// The error for a body that consists of an error, although its status is 2xx.
    pub(crate) fn reported(&self) -> Error {
        self.reported_in(&self.body)
    }

    /// The error that a part of the answer consists of.
    pub(crate) fn reported_in(&self, data: &[u8]) -> Error {
        self.annotate(error_mapping::error_in_body(data, &self.settings.headers))
    }

    /// What the server says, fit for an error: short, on one line, without secrets.
    #[cfg(feature = "web-search")]
    pub(crate) fn quote(&self, text: &str) -> String {
        error_mapping::quote_short(text, &self.settings.headers)
    }

    /// The error for a body that is not the JSON it should be.
    pub(crate) fn unreadable(&self, error: serde_json::Error) -> Error {
        let secrets = &self.settings.headers;
        self.annotate(error_mapping::unreadable(error, &self.body, self.content_type(), secrets))
    }

    /// The error for a part of the answer that is not the JSON it should be.
    pub(super) fn unreadable_part(&self, error: serde_json::Error) -> Error {
        let source = error_mapping::parse_error(error, &self.settings.headers);
        let message = "the answer does not follow the protocol";
        Error::new(ErrorKind::InvalidResponse, message).with_source(source)
    }

    /// Whether its head says that it consists of events.
    pub(super) fn is_event_stream(&self) -> bool {
        const EVENTS: &str = "text/event-stream";
        let start = self.content_type().and_then(|value| value.get(..EVENTS.len()));
        start.is_some_and(|start| start.eq_ignore_ascii_case(EVENTS))
    }

    fn content_type(&self) -> Option<&str> {
        self.content_type.as_ref()?.to_str().ok()
    }
}
