//! The record of a rejected answer.

use crate::error::Error;
use crate::model::ChatResponse;
use std::sync::Arc;

/// An answer that was rejected before the turn ended.
///
/// The answer was not a value of the method's type, or output guardrails rejected it. The model was
/// then called again.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RejectedAnswer {
    /// The response of the model.
    pub response: ChatResponse,
    /// The reason. If guardrails rejected the answer, their
    /// [`Rejection`](crate::guardrail::Rejection) is a detail of the error.
    pub error: Arc<Error>,
}

impl RejectedAnswer {
    /// Creates the record of a rejected answer, for a manual implementation of a service.
    #[must_use]
    pub fn new(response: ChatResponse, error: Error) -> Self {
        Self { response, error: Arc::new(error) }
    }
}
