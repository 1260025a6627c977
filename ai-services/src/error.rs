//! The one error type of the crate.

use crate::usage::TokenUsage;
use std::any::Any;
use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

/// Result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A boxed error of any type, kept as the [source](StdError::source) of an [`Error`].
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// Why a call of an AI service, a model, a memory or a store failed.
///
/// The type is one word wide. [`kind`](Self::kind) says what went wrong, the predicates say what can
/// be done about it, and [`detail`](Self::detail) finds typed data that a part of the crate
/// attached, for example the tools that had run before a limit was exceeded. More kinds may be
/// added, so match with a wildcard.
///
/// The text says all that a person needs; sources are for programs, and may repeat it.
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
    reply: Reply,
}

/// What the provider said beside the error itself.
#[derive(Clone, Debug, Default)]
struct Reply {
    status: Option<u16>,
    code: Option<Box<str>>,
    request_id: Option<Box<str>>,
    retry_after: Option<Duration>,
    retryable: Option<bool>,
    attempts: Option<u32>,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A part was built or combined wrongly.
    Configuration,
    /// A template could not be rendered.
    Prompt,
    /// An image, a recording, a film or a document could not be read, or is not what it should be.
    Media,
    /// The provider refused the request as wrong (status 400, 404, 422 and the like).
    InvalidRequest,
    /// The provider refused the key (status 401 or 403).
    Authentication,
    /// Too many requests or tokens in a time, or no quota left (status 429).
    RateLimited,
    /// The provider failed or is overloaded (status 5xx).
    Unavailable,
    /// The connection could not be made, or broke.
    Connection,
    /// A time limit passed.
    Timeout,
    /// The provider's answer is not what its protocol promises, or was cut off.
    InvalidResponse,
    /// The model or the provider's filter refused to answer.
    Refused,
    /// The model cannot do what was asked of it.
    Unsupported,
    /// A tool failed, and the policy is to fail the call.
    Tool,
    /// A limit on tool rounds, tool calls or sizes was exceeded.
    LimitExceeded,
    /// One turn alone is larger than the window of the chat memory.
    TurnTooLarge,
    /// The answer could not be turned into the method's return type.
    Output,
    /// A chat memory failed, or a store.
    Memory,
    /// Somebody else changed the conversation while the turn ran.
    Conflict,
    /// Another call on the same memory id is running, and the service is set to reject.
    Busy,
    /// The message or the answer was flagged by the moderation model.
    Moderation,
    /// Guardrails rejected the message or the answer.
    Guardrail,
}

impl Error {
    /// An error of `kind` with a message in lower case, without a full stop.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            source: None,
            usage: None,
            reply: Reply::default(),
        }))
    }

    pub(crate) fn configuration(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Configuration, message)
    }

    /// Keeps what caused the error.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Says behind the message what to do about it.
    #[cfg(any(feature = "ollama", feature = "web-search"))]
    pub(crate) fn with_hint(mut self, hint: &str) -> Self {
        self.0.message = format!("{}; {hint}", self.0.message).into();
        self
    }

    /// Puts an error between this one and its source.
    pub(crate) fn map_source(mut self, between: impl FnOnce(Option<BoxError>) -> BoxError) -> Self {
        self.0.source = Some(between(self.0.source.take()));
        self
    }

    /// Keeps the tokens that were spent before the error.
    #[must_use]
    pub fn with_usage(mut self, usage: TokenUsage) -> Self {
        self.0.usage = Some(usage).filter(|usage| !usage.is_empty());
        self
    }

    /// Keeps the HTTP status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.0.reply.status = Some(status);
        self
    }

    /// Keeps the provider's own error code, for example `insufficient_quota`.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<Box<str>>) -> Self {
        self.0.reply.code = Some(code.into());
        self
    }

    /// Keeps the provider's id of the request.
    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<Box<str>>) -> Self {
        self.0.reply.request_id = Some(id.into());
        self
    }

    /// Keeps how long the provider asked to wait.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.0.reply.retry_after = Some(wait);
        self
    }

    /// Overrides what [`is_retryable`](Self::is_retryable) derives from the kind.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.0.reply.retryable = Some(retryable);
        self
    }

    /// Keeps how many times the request was sent.
    #[must_use]
    pub fn with_attempts(mut self, attempts: u32) -> Self {
        self.0.reply.attempts = Some(attempts);
        self
    }

    /// Another error of this kind, with the same reply of the provider.
    pub(crate) fn replied(&self, message: impl Into<Cow<'static, str>>) -> Self {
        let mut error = Self::new(self.0.kind, message);
        error.0.reply = self.0.reply.clone();
        error
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the same call may succeed later without any change.
    ///
    /// True for rate limits, unavailable providers, broken connections, timeouts, conflicts and
    /// busy conversations, unless the provider said otherwise.
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

    /// How long the provider asked to wait before the next attempt.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.reply.retry_after
    }

    /// The tokens spent before the error, over all model calls of the turn.
    #[must_use]
    pub fn usage(&self) -> Option<&TokenUsage> {
        self.0.usage.as_ref()
    }

    /// The HTTP status of the provider's answer.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.reply.status
    }

    /// The provider's own error code.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.0.reply.code.as_deref()
    }

    /// The provider's id of the request, for its support.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.0.reply.request_id.as_deref()
    }

    /// How many times the request was sent, if it was sent over a network.
    #[must_use]
    pub fn attempts(&self) -> Option<u32> {
        self.0.reply.attempts
    }

    /// Finds an error of type `T` in the chain of sources.
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

/// What a panic said.
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
    fn error_is_one_word_wide() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }

    #[test]
    fn detail_is_found_in_the_chain() {
        let io = std::io::Error::other(Error::new(ErrorKind::Memory, "inner"));
        let error = Error::new(ErrorKind::Tool, "outer").with_source(io);
        assert!(error.detail::<std::io::Error>().is_some());
        assert!(error.detail::<fmt::Error>().is_none());
    }

    #[test]
    fn provider_overrides_what_is_retryable() {
        let error = Error::new(ErrorKind::RateLimited, "no quota left").with_retryable(false);
        assert!(!error.is_retryable());
    }
}
