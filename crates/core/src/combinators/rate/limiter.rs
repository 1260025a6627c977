//! The rate limiter and its queue.

use super::window::Window;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{ApproximateCounter, Counted, TokenCountEstimator};
use crate::model::{AnswerOrigin, ChatRequest, ChatResponse};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

/// Rate limits that one or several [`RateLimitedModel`](super::RateLimitedModel)s share.
///
/// | limit | applies to |
/// |---|---|
/// | [`requests_per_minute`](RateLimiterBuilder::requests_per_minute) | requests that started within the last 60 seconds |
/// | [`tokens_per_minute`](RateLimiterBuilder::tokens_per_minute) | their tokens: an estimate, replaced by the reported usage once the model has answered |
/// | [`concurrency`](RateLimiterBuilder::concurrency) | running requests; a stream runs until its end |
///
/// Limits apply to a sliding 60-second window. A limit that is not set is not enforced. Waiting requests are
/// sent in first-in, first-out order: small requests do not overtake a large one.
///
/// If the provider rejects a request with `retry-after`, no request is sent until that time has passed.
///
/// # Examples
///
/// ```
/// use ai_services::combinators::{RateLimitedModel, RateLimiter};
/// use ai_services::testing::ScriptedChatModel;
///
/// # fn main() -> ai_services::Result<()> {
/// let account = RateLimiter::builder()
///     .requests_per_minute(500)
///     .tokens_per_minute(30_000)
///     .concurrency(16)
///     .build()?;
/// let small = RateLimitedModel::new(ScriptedChatModel::replies(["1"]), account.clone());
/// let large = RateLimitedModel::new(ScriptedChatModel::replies(["2"]), account);
/// # let _ = (small, large);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RateLimiter(Arc<Inner>);

struct Inner {
    window: Mutex<Window>,
    /// Queue of waiting requests, in order of arrival. The owner of the lock is the next to send.
    queue: tokio::sync::Mutex<()>,
    /// Notifies the first request of the queue of changes of the window.
    changed: Notify,
    slots: Option<Arc<Semaphore>>,
    settings: RateLimiterBuilder,
}

impl RateLimiter {
    /// Starts building a limiter, without limits.
    pub fn builder() -> RateLimiterBuilder {
        RateLimiterBuilder::default()
    }

    /// Waits until a request may be sent.
    pub(super) async fn admit(&self, request: &ChatRequest) -> Result<Admission> {
        let tokens = self.estimate(request)?;
        let deadline = self.0.settings.max_wait.and_then(|wait| Instant::now().checked_add(wait));
        let waiting = self.wait(tokens, deadline);
        match deadline {
            None => waiting.await,
            Some(at) => match timeout_at(at, waiting).await {
                Ok(admitted) => admitted,
                Err(_) => Err(self.wait_error(self.window().ready_at(tokens))),
            },
        }
    }

    async fn wait(&self, tokens: u64, deadline: Option<Instant>) -> Result<Admission> {
        let _first = self.0.queue.lock().await;
        let slot = match &self.0.slots {
            None => None,
            // The semaphore is never closed.
            Some(slots) => Arc::clone(slots).acquire_owned().await.ok(),
        };
        loop {
            let outcome = self.window().try_take(tokens, Instant::now());
            let ready = match outcome {
                Ok(number) => {
                    return Ok(Admission { limiter: self.clone(), number, _slot: slot });
                }
                Err(ready) => ready,
            };
            if deadline.is_some_and(|deadline| ready > deadline) {
                return Err(self.wait_error(Some(ready)));
            }
            // After a change or a timeout, the window is checked again.
            let _ = timeout_at(ready, self.0.changed.notified()).await;
        }
    }

    fn wait_error(&self, ready: Option<Instant>) -> Error {
        let wait = self.0.settings.max_wait.unwrap_or_default();
        let error = Error::new(
            ErrorKind::RateLimited,
            format!("the request would wait longer than {wait:?} for the rate limit"),
        );
        let left = ready.map(|ready| ready.saturating_duration_since(Instant::now()));
        match left.filter(|left| !left.is_zero()) {
            Some(left) => error.with_retry_after(left),
            None => error,
        }
    }

    /// Estimates the tokens of a request and its answer. Fails if the input alone exceeds the limit.
    fn estimate(&self, request: &ChatRequest) -> Result<u64> {
        let settings = &self.0.settings;
        let Some(max) = settings.tokens_per_minute else { return Ok(0) };
        let estimator = &settings.estimator;
        let mut input = estimator.overhead();
        for message in request.messages() {
            input = input.saturating_add(estimator.message(message)?);
        }
        for tool in request.tools().as_slice() {
            let schema = tool.parameters.as_ref().map(|schema| schema.as_value().to_string());
            let texts = [&*tool.name, &*tool.description, schema.as_deref().unwrap_or_default()];
            let tokens = texts.map(|text| estimator.text(text));
            input = tokens.into_iter().fold(input, usize::saturating_add);
        }
        let input = input as u64;
        if input > max {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                format!("the request has about {input} tokens; the limit is {max} per minute"),
            ));
        }
        let output = request.parameters().max_output_tokens;
        let output = output.unwrap_or(settings.expected_output_tokens);
        Ok(input.saturating_add(output.into()).min(max))
    }

    /// Locks the window. Code under the lock cannot panic, so that a poisoned lock is safe to use.
    fn window(&self) -> MutexGuard<'_, Window> {
        self.0.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A permit to send one request. Dropping it frees its slot; the request still counts for its minute.
pub(super) struct Admission {
    limiter: RateLimiter,
    number: u64,
    _slot: Option<OwnedSemaphorePermit>,
}

impl Admission {
    /// Corrects the token count after an answer of the model.
    pub(super) fn record_response(self, response: &ChatResponse) {
        match (&response.origin, response.usage.total()) {
            (AnswerOrigin::Cache, _) => self.correct(0),
            (_, Some(total)) => self.correct(total),
            (_, None) => {}
        }
    }

    /// Corrects the token count after an error of the model, and pauses the limiter as the provider requests.
    pub(super) fn record_error(self, error: &Error) {
        let is_rate_limited = error.kind() == ErrorKind::RateLimited;
        if let Some(wait) = error.retry_after().filter(|_| is_rate_limited) {
            let wait = wait.min(self.limiter.0.settings.max_pause);
            if let Some(until) = Instant::now().checked_add(wait) {
                self.limiter.window().pause(until);
            }
        }
        match error.usage().and_then(|usage| usage.total()) {
            Some(total) => self.correct(total),
            None if is_rate_limited => self.correct(0),
            None => self.limiter.0.changed.notify_one(),
        }
    }

    fn correct(&self, tokens: u64) {
        self.limiter.window().correct(self.number, tokens);
        self.limiter.0.changed.notify_one();
    }
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RateLimiter").field(&self.0.settings).finish()
    }
}

/// Builds a [`RateLimiter`].
#[derive(Clone, Debug)]
#[must_use]
pub struct RateLimiterBuilder {
    requests_per_minute: Option<u32>,
    tokens_per_minute: Option<u64>,
    concurrency: Option<usize>,
    max_wait: Option<Duration>,
    max_pause: Duration,
    expected_output_tokens: u32,
    estimator: Counted,
}

impl Default for RateLimiterBuilder {
    fn default() -> Self {
        Self {
            requests_per_minute: None,
            tokens_per_minute: None,
            concurrency: None,
            max_wait: None,
            max_pause: Duration::from_secs(300),
            expected_output_tokens: 500,
            estimator: Counted::new(ApproximateCounter),
        }
    }
}

impl RateLimiterBuilder {
    /// Sets the maximum number of requests that start within 60 seconds. Default: unlimited.
    pub fn requests_per_minute(mut self, requests: u32) -> Self {
        self.requests_per_minute = Some(requests);
        self
    }

    /// Sets the maximum number of tokens, answers included, of requests that start within 60 seconds.
    /// Default: unlimited.
    pub fn tokens_per_minute(mut self, tokens: u64) -> Self {
        self.tokens_per_minute = Some(tokens);
        self
    }

    /// Sets the maximum number of concurrent requests. Default: unlimited.
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.concurrency = Some(requests);
        self
    }

    /// Sets the maximum time that a request waits. A request that would wait longer fails as soon as this is
    /// certain, with [`ErrorKind::RateLimited`] and, if it is known, the remaining wait as `retry_after`.
    /// Default: unlimited.
    pub fn max_wait(mut self, wait: Duration) -> Self {
        self.max_wait = Some(wait);
        self
    }

    /// Sets the maximum pause after a provider's `retry-after`. Default: 5 minutes.
    pub fn max_pause(mut self, pause: Duration) -> Self {
        self.max_pause = pause;
        self
    }

    /// Sets the estimated tokens of an answer for requests without an output limit. Default: 500. The
    /// estimate is replaced by the usage that the model reports.
    pub fn expected_output_tokens(mut self, tokens: u32) -> Self {
        self.expected_output_tokens = tokens;
        self
    }

    /// Sets the estimator of the tokens of requests. Default: [`ApproximateCounter`].
    pub fn estimator(mut self, estimator: impl TokenCountEstimator + 'static) -> Self {
        self.estimator = Counted::new(estimator);
        self
    }

    /// Builds the limiter.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`] if a limit is 0.
    pub fn build(self) -> Result<RateLimiter> {
        let zero = [
            (self.requests_per_minute == Some(0), "requests_per_minute"),
            (self.tokens_per_minute == Some(0), "tokens_per_minute"),
            (self.concurrency == Some(0), "concurrency"),
        ];
        if let Some((_, name)) = zero.into_iter().find(|(is_zero, _)| *is_zero) {
            return Err(Error::configuration(format!("`{name}` must be at least 1")));
        }
        let max_requests = self.requests_per_minute.and_then(|max| usize::try_from(max).ok());
        let slots = |max: usize| Arc::new(Semaphore::new(max.min(Semaphore::MAX_PERMITS)));
        Ok(RateLimiter(Arc::new(Inner {
            window: Mutex::new(Window::new(max_requests, self.tokens_per_minute)),
            queue: tokio::sync::Mutex::default(),
            changed: Notify::new(),
            slots: self.concurrency.map(slots),
            settings: self,
        })))
    }
}
