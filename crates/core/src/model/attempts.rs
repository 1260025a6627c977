//! Attempts at a request: the failed ones, and their token usage.

use super::{ChatResponse, TokenUsage};
use crate::error::{Error, ErrorKind};
use std::fmt;

/// The origin of an answer.
///
/// # Examples
///
/// ```
/// use ai_services::message::AiMessage;
/// use ai_services::model::{AnswerOrigin, ChatResponse};
///
/// let response = ChatResponse::new(AiMessage::new("Hi."));
/// assert_eq!(response.origin, AnswerOrigin::Model);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerOrigin {
    /// The model answered the first request. All of the usage belongs to this answer.
    #[default]
    Model,
    /// The model answered after failed attempts. The usage of the response is the sum of these
    /// usages. The last one belongs to the answer itself.
    Attempts(Vec<ModelUsage>),
    /// The answer came from a cache. No model was called, and the answer cost no tokens.
    Cache,
}

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

    /// Returns the usage that a response reports, by model. `model` is the name of the model that
    /// was called.
    #[doc(hidden)]
    pub fn of_response(response: &ChatResponse, model: &str) -> Vec<Self> {
        match &response.origin {
            AnswerOrigin::Model => {
                vec![Self::new(response.model.as_deref().unwrap_or(model), response.usage)]
            }
            AnswerOrigin::Attempts(usages) => usages.clone(),
            AnswerOrigin::Cache => Vec::new(),
        }
    }
}

impl ChatResponse {
    /// Adds the usage and the number of failed attempts that came before this answer of `model`.
    pub(crate) fn after(mut self, failed: &[FailedAttempt], model: &str) -> Self {
        if failed.is_empty() {
            return self;
        }
        let own = ModelUsage::of_response(&self, model);
        let earlier =
            failed.iter().flat_map(|attempt| ModelUsage::of_error(&attempt.error, &attempt.model));
        let mut usages: Vec<ModelUsage> = earlier.collect();
        if !usages.is_empty() {
            usages.extend(own);
            self.usage = usages.iter().fold(TokenUsage::default(), |sum, one| sum + one.usage);
            self.origin = AnswerOrigin::Attempts(usages);
        }
        let sent = failed.iter().map(FailedAttempt::send_count).fold(0, u32::saturating_add);
        self.attempts = Some(self.attempts.unwrap_or(1).saturating_add(sent));
        self
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
    fn send_count(&self) -> u32 {
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
    use crate::message::AiMessage;

    fn failed(model: &str, tokens: u64) -> FailedAttempt {
        let error = Error::new(ErrorKind::Unavailable, format!("{model} is down"));
        FailedAttempt::new(model, error.with_usage(TokenUsage::new(tokens, 0)))
    }

    #[test]
    fn usage_of_nested_attempts_is_counted_once() {
        let inner = FailedAttempts::into_error(vec![failed("a", 1)], failed("b", 2));
        assert_eq!(inner.usage(), Some(&TokenUsage::new(3, 0)));
        let outer = FailedAttempt::new("a", inner);
        let response = ChatResponse::new(AiMessage::new("x")).with_usage(TokenUsage::new(10, 5));
        let response = response.after(&[outer], "c");
        assert_eq!((response.usage, response.attempts), (TokenUsage::new(13, 5), Some(3)));
        let AnswerOrigin::Attempts(usages) = response.origin else { panic!("no attempts") };
        let expected = [("a", 1, 0), ("b", 2, 0), ("c", 10, 5)];
        assert_eq!(usages, expected.map(|(m, i, o)| ModelUsage::new(m, TokenUsage::new(i, o))));
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
