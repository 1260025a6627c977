//! JSON of recorded errors.

use ai_services_core::combinators::canonical::WireUsage;
use ai_services_core::{Error, ErrorKind};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The JSON form of an [`Error`], without its sources.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WireError {
    kind: Box<str>,
    message: Box<str>,
    retryable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_id: Option<Box<str>>,
    /// In seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
    #[serde(default, skip_serializing_if = "WireUsage::is_empty")]
    usage: WireUsage,
}

impl WireError {
    pub(super) fn of(error: &Error) -> Self {
        Self {
            kind: format!("{:?}", error.kind()).into(),
            message: error.to_string().into(),
            retryable: error.is_retryable(),
            status: error.status(),
            code: error.code().map(Into::into),
            request_id: error.request_id().map(Into::into),
            retry_after: error.retry_after().map(|wait| wait.as_secs_f64()),
            attempts: error.attempts(),
            usage: error.usage().copied().unwrap_or_default().into(),
        }
    }

    pub(super) fn kind(&self) -> Option<ErrorKind> {
        ErrorKind::ALL.into_iter().find(|kind| format!("{kind:?}") == *self.kind)
    }

    pub(super) fn to_error(&self) -> Error {
        let kind = self.kind().unwrap_or(ErrorKind::Unavailable);
        let mut error = Error::new(kind, self.message.to_string())
            .with_retryable(self.retryable)
            .with_usage(self.usage.into());
        if let Some(status) = self.status {
            error = error.with_status(status);
        }
        if let Some(code) = &self.code {
            error = error.with_code(code.clone());
        }
        if let Some(id) = &self.request_id {
            error = error.with_request_id(id.clone());
        }
        if let Some(attempts) = self.attempts {
            error = error.with_attempts(attempts);
        }
        match self.retry_after.and_then(|wait| Duration::try_from_secs_f64(wait).ok()) {
            Some(wait) => error.with_retry_after(wait),
            None => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::model::TokenUsage;

    #[test]
    fn error_round_trip_keeps_all_fields() {
        for kind in ErrorKind::ALL {
            let error = Error::new(kind, "wrong")
                .with_status(503)
                .with_code("c")
                .with_request_id("r")
                .with_retry_after(Duration::from_millis(1500))
                .with_attempts(3)
                .with_usage(TokenUsage::new(1, 2));
            let again = WireError::of(&error).to_error();
            assert_eq!((again.kind(), again.to_string()), (kind, "wrong".to_owned()));
            assert_eq!(again.is_retryable(), error.is_retryable());
            assert_eq!((again.status(), again.code()), (Some(503), Some("c")));
            assert_eq!((again.request_id(), again.attempts()), (Some("r"), Some(3)));
            assert_eq!((again.retry_after(), again.usage()), (error.retry_after(), error.usage()));
        }
    }
}
