//! Failed attempts at a request, and their token usage.

use super::TokenUsage;
use crate::error::{Error, ErrorKind};
use std::fmt;

/// The tokens that one model used.
///
/// # Examples
///
/// ```
/// use ai_services::model::{AnswerOrigin, ChatResponse, ModelUsage};
///
/// fn report(response: &ChatResponse) {
///     if let AnswerOrigin::Attempts(usages) = &response.origin {
///         for ModelUsage { model, usage, .. } in usages {
///             println!("{model}: {:?} tokens", usage.total());
///         }
///     }
/// }
/// # report(&ChatResponse::new(ai_services::message::AiMessage::new("Hi.")));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelUsage {
    /// The name of the model.
    pub model: Box<str>,
    /// The tokens that the model used.
    pub usage: TokenUsage,
}

impl ModelUsage {
    /// Creates the usage of one model.
    #[must_use]
    pub fn new(model: impl Into<Box<str>>, usage: TokenUsage) -> Self {
        Self { model: model.into(), usage }
    }

    /// Returns the usage that an error reports, by model. `model` is the name of the model that was
    /// called.
    #[doc(hidden)]
    pub fn of_error(error: &Error, model: &str) -> Vec<Self> {
        match (error.detail::<FailedAttempts>(), error.usage()) {
            (Some(failed), _) => {
                let attempts = failed.attempts.iter();
                attempts
                    .flat_map(|attempt| Self::of_error(&attempt.error, &attempt.model))
                    .collect()
            }
            (None, Some(usage)) => vec![Self::new(model, *usage)],
            (None, None) => Vec::new(),
        }
    }
}

/// A failed attempt at a request.
#[derive(Debug)]
#[non_exhaustive]
pub struct FailedAttempt {
    /// The name of the model that was called.
    pub model: Box<str>,
    /// The error of the attempt.
    pub error: Error,
}

impl FailedAttempt {
    pub(crate) fn new(model: &str, error: Error) -> Self {
        Self { model: model.into(), error }
    }

    /// Returns the number of times the request was sent in this attempt.
    pub(super) fn send_count(&self) -> u32 {
        self.error.attempts().unwrap_or(1)
    }
}

/// All attempts at a request that failed, in order.
///
/// A [detail](Error::detail) of errors of the models in [`combinators`](crate::combinators) that
/// make more than one attempt. The error itself has the kind of the last attempt and the usage of
/// all attempts.
///
/// # Examples
///
/// ```
/// use ai_services::Error;
/// use ai_services::model::FailedAttempts;
///
/// fn report(error: &Error) {
///     for attempt in error.detail::<FailedAttempts>().iter().flat_map(|failed| &failed.attempts) {
///         eprintln!("{}: {}", attempt.model, attempt.error);
///     }
/// }
/// # report(&Error::new(ai_services::ErrorKind::Timeout, "too late"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct FailedAttempts {
    /// The attempts. At least one.
    pub attempts: Vec<FailedAttempt>,
}

impl FailedAttempts {
    /// Returns the error of a request that failed after `earlier` attempts and the last one.
    pub(crate) fn into_error(mut earlier: Vec<FailedAttempt>, last: FailedAttempt) -> Error {
        if earlier.is_empty() {
            return last.error;
        }
        earlier.push(last);
        let failed = Self { attempts: earlier };
        let add_usage =
            |sum, attempt: &FailedAttempt| sum + attempt.error.usage().copied().unwrap_or_default();
        let usage = failed.attempts.iter().fold(TokenUsage::default(), add_usage);
        let sent =
            failed.attempts.iter().map(FailedAttempt::send_count).fold(0, u32::saturating_add);
        let message = failed.to_string();
        let error = match failed.attempts.last() {
            Some(last) => last.error.replied(message),
            None => Error::new(ErrorKind::Unavailable, message),
        };
        error.with_usage(usage).with_attempts(sent).with_source(failed)
    }
}

/// Consecutive attempts with the same model and the same error are printed once.
impl fmt::Display for FailedAttempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "all {} attempts failed", self.attempts.len())?;
        let mut rest = self
            .attempts
            .iter()
            .map(|FailedAttempt { model, error }| format!("`{model}`: {error}"))
            .collect::<Vec<_>>();
        rest.dedup();
        for (index, description) in rest.iter().enumerate() {
            write!(f, "{} {description}", if index == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

impl std::error::Error for FailedAttempts {
    /// Returns the error of the last attempt.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.attempts.last().map(|attempt| &attempt.error as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(model: &str, tokens: u64) -> FailedAttempt {
        let error = Error::new(ErrorKind::Unavailable, format!("{model} is down"));
        FailedAttempt::new(model, error.with_usage(TokenUsage::new(tokens, 0)))
    }

    #[test]
    fn error_lists_all_attempts() {
        let error = FailedAttempts::into_error(vec![failed("a", 1)], failed("b", 2));
        assert_eq!(error.to_string(), "all 2 attempts failed: `a`: a is down; `b`: b is down");
        let same = FailedAttempts::into_error(vec![failed("a", 1)], failed("a", 2));
        assert_eq!(same.to_string(), "all 2 attempts failed: `a`: a is down");
        assert_eq!((same.kind(), same.attempts()), (ErrorKind::Unavailable, Some(2)));
        assert_eq!(same.detail::<FailedAttempts>().unwrap().attempts.len(), 2);
    }
}
