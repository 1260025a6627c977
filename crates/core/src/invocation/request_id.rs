//! The identity of one request of the application.

use crate::error::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// Identifies one request of the application, for example by the `Idempotency-Key` of an HTTP
/// request or by the id of a job.
///
/// A service reads it from the [`InvocationContext`](super::InvocationContext) of a call and stores
/// it with the turn, so that [`ChatMemoryStore::commit_state`] finds out later whether the turn of the
/// request was stored. A repetition gets the stored answer while the history contains it; later it fails with
/// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict). A store applies at most one turn of each request, as far back as it remembers
/// the requests of a conversation: see [`commit_state`].
///
/// [`ChatMemoryStore::commit_state`]: crate::memory::ChatMemoryStore::commit_state
/// [`commit_state`]: crate::memory::ChatMemoryStore::commit_state
///
/// # Examples
///
/// ```
/// use ai_services::InvocationContext;
/// use ai_services::memory::RequestId;
///
/// # fn main() -> ai_services::Result<()> {
/// let request = RequestId::new("order-77")?;
/// let context = InvocationContext::new().with(request.clone());
/// assert_eq!(context.get::<RequestId>(), Some(&request));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// Creates an id from a text that no other request of the same conversation has.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) for an empty text,
    /// because all requests without an id would share it.
    pub fn new(id: impl Into<Arc<str>>) -> Result<Self> {
        let id = id.into();
        if id.is_empty() {
            return Err(Error::configuration("a request id must not be empty"));
        }
        Ok(Self(id))
    }

    /// Creates an id from random numbers.
    pub(crate) fn from_numbers(numbers: [u64; 2]) -> Self {
        let [first, second] = numbers;
        Self(format!("{first:016x}{second:016x}").into())
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn empty_request_id_is_rejected() {
        assert_eq!(RequestId::new("").unwrap_err().kind(), ErrorKind::Configuration);
        assert_eq!(RequestId::new("a").unwrap().as_str(), "a");
    }
}
