//! Failed authorizations.

#[cfg(feature = "auth")]
use ai_services_core::Error;
use ai_services_core::ErrorKind;
use std::fmt;
use std::sync::Arc;

/// The failure of an authorization by OAuth, for all requests that waited for it. They were not processed.
#[derive(Clone, Debug)]
pub(super) struct Unauthorized {
    pub(super) kind: ErrorKind,
    reason: Arc<str>,
}

impl Unauthorized {
    #[cfg(feature = "auth")]
    pub(super) fn new(error: &Error) -> Self {
        Self { kind: error.kind(), reason: error.to_string().into() }
    }

    /// Returns the failure that an I/O error wraps.
    pub(super) fn of(error: &std::io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for Unauthorized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not authorized: {}", self.reason)
    }
}

impl std::error::Error for Unauthorized {}
