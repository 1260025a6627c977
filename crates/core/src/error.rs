//! The error type of the framework, and the reasons for its form.
//!
//! # One opaque type
//!
//! A call of an AI service passes through templates, guardrails, a chat memory, retrieval, a model
//! behind a network, tools, and a parser of the answer. Each of them can fail, and many of them are
//! traits that an application may implement. With one error enum per area, every trait and every
//! caller would convert between enums, and every new failure would be a breaking change. The
//! framework has one [`Error`] instead. Its fields are private, so more data can be added later,
//! and it is one pointer wide, so a `Result` stays small.
//!
//! # Kinds are for decisions
//!
//! [`ErrorKind`] distinguishes the failures that callers handle differently: wait and retry, reload
//! the conversation, fix the configuration, show a refusal to the user. It does not name the place
//! of the failure. A rate limit is [`ErrorKind::RateLimited`], whichever provider reports it.
//! [`Error::is_retryable`] is derived from the kind, unless the creator of the error overrides it:
//! for example, an exhausted quota, which providers also report with status 429, is not worth a
//! retry. The enum is `#[non_exhaustive]`, because kinds are added.
//!
//! # Details are sources, found by type
//!
//! Some callers need data, for example the text that had arrived before a stream broke
//! (`PartialAnswer`), or the error of every attempt (`FailedAttempts`). Such data is a public error
//! type of its own in the chain of [sources](StdError::source). [`Error::detail`] finds it by its
//! type, at any depth and across errors of other crates. A module can attach a detail without
//! changing the kind or the message of the error, and without a variant in this module. The
//! disadvantage: the compiler cannot list the possible details. Each of these types therefore
//! documents the errors that carry it.
//!
//! # Messages are for people
//!
//! The text of an error is complete without its sources: it names the cause and, where one is
//! known, the remedy. `Error::with_hint` appends a remedy after a semicolon, in code with more
//! context than the creator of the error. A report that prints the whole chain of sources may
//! therefore repeat itself. Messages are in lower case and without a full stop, so that they can be
//! part of other messages. They may change in any release: match on the kind, not on the text.

use crate::usage::TokenUsage;
use std::any::Any;
use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

/// Result of every operation of this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A boxed error of any type, used as the [source](StdError::source) of an [`Error`].
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// The error of a failed call of an AI service, a model, a memory or a store.
///
/// [`kind`](Self::kind) classifies the failure, the predicates such as
/// [`is_retryable`](Self::is_retryable) help to decide about it, and [`detail`](Self::detail) finds
/// typed data that a part of the crate attached, for example the tools that had run before a limit
/// was exceeded. More kinds may be added, so match with a wildcard. The type is one pointer wide.
///
/// The text is complete without the sources. Sources are for programs, and may repeat the text.
///
/// # Examples
///
/// ```
/// use ai_services::{Error, ErrorKind};
///
/// let error = Error::new(ErrorKind::RateLimited, "the provider refused the request")
///     .with_status(429);
/// assert!(error.is_retryable());
/// assert_eq!(error.to_string(), "the provider refused the request");
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: Cow<'static, str>,
    source: Option<BoxError>,
    usage: Option<TokenUsage>,
    reply: ProviderReply,
}

/// The parts of the provider's reply that describe an error.
#[derive(Clone, Debug, Default)]
struct ProviderReply {
    status: Option<u16>,
    code: Option<Box<str>>,
    request_id: Option<Box<str>>,
    retry_after: Option<Duration>,
    retryable: Option<bool>,
    attempts: Option<u32>,
}

/// The category of an [`Error`]. Web servers answer with its [`http_status`](Self::http_status).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A component was built or combined incorrectly.
    Configuration,
    /// A template could not be rendered.
    Prompt,
    /// An image, audio, video or PDF document could not be read, or is not of the expected type.
    Media,
    /// The provider rejected the request as invalid (status 400, 404, 422 and similar).
    InvalidRequest,
    /// The provider rejected the API key (status 401 or 403).
    Authentication,
    /// Too many requests or tokens within a period, or the quota is exhausted (status 429).
    RateLimited,
    /// The provider failed or is overloaded (status 5xx).
    Unavailable,
    /// The connection could not be established, or broke.
    Connection,
    /// A time limit was exceeded.
    Timeout,
    /// The provider's answer violates its protocol, or was truncated.
    InvalidResponse,
    /// The model or the provider's filter refused to answer.
    Refused,
    /// The model does not support a feature that the request needs.
    Unsupported,
    /// A tool failed, and the policy is to fail the call.
    Tool,
    /// A limit on tool rounds, tool calls or sizes was exceeded.
    LimitExceeded,
    /// A single turn is larger than the window of the chat memory.
    TurnTooLarge,
    /// The answer could not be converted into the return type of the method.
    Output,
    /// A chat memory or another store failed.
    Store,
    /// Another writer changed the conversation while the turn ran, or has already committed a turn of
    /// the same request.
    Conflict,
    /// The connection to a store broke, a time limit was exceeded, or an answer was unreadable, while a
    /// commit was under way: it is unknown whether the turn was stored. The detail is
    /// [`UnknownCommit`](crate::memory::UnknownCommit).
    UnknownOutcome,
    /// Another call with the same memory id is running, and the service is configured to reject the
    /// second one.
    Busy,
    /// The turn waits for decisions about its tool calls, or for the end of a task. The detail is
    /// [`PendingTurn`](crate::approval::PendingTurn).
    Suspended,
    /// The moderation model flagged the message or the answer.
    Moderation,
    /// Guardrails rejected the message or the answer.
    Guardrail,
}

impl Error {
    /// Creates an error of `kind`. Write the message in lower case and without a full stop.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            source: None,
            usage: None,
            reply: ProviderReply::default(),
        }))
    }

    /// Creates an error of the kind [`ErrorKind::Configuration`].
    pub fn configuration(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Configuration, message)
    }

    /// Sets the cause of the error.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Appends a hint about the remedy to the message, after a semicolon.
    #[doc(hidden)]
    #[must_use]
    pub fn with_hint(mut self, hint: &str) -> Self {
        self.0.message = format!("{}; {hint}", self.0.message).into();
        self
    }

    /// Inserts an error between this one and its source.
    #[doc(hidden)]
    #[must_use]
    pub fn map_source(mut self, between: impl FnOnce(Option<BoxError>) -> BoxError) -> Self {
        self.0.source = Some(between(self.0.source.take()));
        self
    }

    /// Sets the tokens that were used before the error.
    #[must_use]
    pub fn with_usage(mut self, usage: TokenUsage) -> Self {
        self.0.usage = Some(usage).filter(|usage| !usage.is_empty());
        self
    }

    /// Sets the HTTP status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.0.reply.status = Some(status);
        self
    }

    /// Sets the provider's own error code, for example `insufficient_quota`.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<Box<str>>) -> Self {
        self.0.reply.code = Some(code.into());
        self
    }

    /// Sets the provider's id of the request.
    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<Box<str>>) -> Self {
        self.0.reply.request_id = Some(id.into());
        self
    }

    /// Sets the delay that the provider requested before the next attempt.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.0.reply.retry_after = Some(wait);
        self
    }

    /// Overrides the value that [`is_retryable`](Self::is_retryable) derives from the kind.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.0.reply.retryable = Some(retryable);
        self
    }

    /// Sets the number of times the request was sent.
    #[must_use]
    pub fn with_attempts(mut self, attempts: u32) -> Self {
        self.0.reply.attempts = Some(attempts);
        self
    }

    /// Creates another error of this kind with the same provider reply.
    #[doc(hidden)]
    #[must_use]
    pub fn replied(&self, message: impl Into<Cow<'static, str>>) -> Self {
        let mut error = Self::new(self.0.kind, message);
        error.0.reply = self.0.reply.clone();
        error
    }

    /// Returns the category of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns whether the same call may succeed later without any change.
    ///
    /// `true` for rate limits, unavailable providers, broken connections, timeouts, conflicts and
    /// busy conversations, unless overridden by [`with_retryable`](Self::with_retryable), for
    /// example because the provider sent its own indication. `false` for an
    /// [unknown outcome](ErrorKind::UnknownOutcome): a second call might store the turn twice.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.reply.retryable.unwrap_or(matches!(
            self.0.kind,
            ErrorKind::RateLimited
                | ErrorKind::Unavailable
                | ErrorKind::Connection
                | ErrorKind::Timeout
                | ErrorKind::Conflict
                | ErrorKind::Busy
        ))
    }

    /// Returns the delay that the provider requested before the next attempt.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.reply.retry_after
    }

    /// Returns the tokens used before the error, over all model calls of the turn.
    #[must_use]
    pub fn usage(&self) -> Option<&TokenUsage> {
        self.0.usage.as_ref()
    }

    /// Returns the HTTP status of the provider's answer.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.reply.status
    }

    /// Returns the provider's own error code.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.0.reply.code.as_deref()
    }

    /// Returns the provider's id of the request. The provider's support can find the request by it.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.0.reply.request_id.as_deref()
    }

    /// Returns the number of times the request was sent, if it was sent over a network.
    #[must_use]
    pub fn attempts(&self) -> Option<u32> {
        self.0.reply.attempts
    }

    /// Returns the first error of type `T` in the chain of sources.
    #[must_use]
    pub fn detail<T: StdError + 'static>(&self) -> Option<&T> {
        let mut source = self.source();
        while let Some(error) = source {
            if let Some(found) = error.downcast_ref::<T>() {
                return Some(found);
            }
            source = error.source();
        }
        None
    }
}

/// Returns the message of a panic.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message")
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, message, source, usage, reply } = &*self.0;
        let mut out = f.debug_struct("Error");
        out.field("kind", kind).field("message", message);
        if let Some(source) = source {
            out.field("source", source);
        }
        if let Some(usage) = usage {
            out.field("usage", usage);
        }
        if reply.status.is_some() || reply.attempts.is_some() {
            out.field("reply", reply);
        }
        out.finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_one_pointer_wide() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }

    #[test]
    fn detail_is_found_in_the_source_chain() {
        let io = std::io::Error::other(Error::new(ErrorKind::Store, "inner"));
        let error = Error::new(ErrorKind::Tool, "outer").with_source(io);
        assert!(error.detail::<std::io::Error>().is_some());
        assert!(error.detail::<fmt::Error>().is_none());
    }

    #[test]
    fn retryable_flag_overrides_the_kind() {
        let error = Error::new(ErrorKind::RateLimited, "no quota left").with_retryable(false);
        assert!(!error.is_retryable());
    }
}
