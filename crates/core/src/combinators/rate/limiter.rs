//! Who may send next.

use super::window::Window;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{ApproximateCounter, Counted, TokenCountEstimator};
use crate::model::{AnswerOrigin, ChatRequest, ChatResponse};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

/// Limits that one or several [`RateLimitedModel`](super::RateLimitedModel)s keep together.
///
/// | limit | counts |
/// |---|---|
/// | [`requests_per_minute`](RateLimiterBuilder::requests_per_minute) | requests that were begun within the last 60 seconds |
/// | [`tokens_per_minute`](RateLimiterBuilder::tokens_per_minute) | their tokens: estimated first, and what the model reported once it has answered |
/// | [`concurrency`](RateLimiterBuilder::concurrency) | requests that are running, a stream until its end |
///
/// The minute slides: none of 60 seconds, wherever it begins, holds more. None is limited unless set.
/// Requests that have to wait do so in the order of asking; a large one is not overtaken by small ones.
///
/// When the provider refuses a request with `retry-after`, nothing is sent until that time has passed.
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
    /// Its owner is the next to send. Waiters get it in the order of asking.
    head: tokio::sync::Mutex<()>,
    /// Tells the head of the queue that the window changed.
    changed: Notify,
    slots: Option<Arc<Semaphore>>,
    settings: RateLimiterBuilder,
}

impl RateLimiter {
    /// Starts a limiter without limits.
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
                Err(_) => Err(self.too_long(self.window().ready_at(tokens))),
            },
        }
    }

    async fn wait(&self, tokens: u64, deadline: Option<Instant>) -> Result<Admission> {
        let _head = self.0.head.lock().await;
        let slot = match &self.0.slots {
            None => None,
            // Nobody closes the semaphore.
            Some(slots) => Arc::clone(slots).acquire_owned().await.ok(),
        };
        loop {
            let taken = self.window().take(tokens, Instant::now());
            let ready = match taken {
                Ok(number) => {
                    return Ok(Admission { limiter: self.clone(), number, _slot: slot });
                }
                Err(ready) => ready,
            };
            if deadline.is_some_and(|deadline| ready > deadline) {
                return Err(self.too_long(Some(ready)));
            }
            // Either way it is tried again.
            let _ = timeout_at(ready, self.0.changed.notified()).await;
        }
    }

    fn too_long(&self, ready: Option<Instant>) -> Error {
        let wait = self.0.settings.max_wait.unwrap_or_default();
        let error = Error::new(
            ErrorKind::RateLimited,
            format!("the request would have to wait for longer than {wait:?} to keep the limits"),
        );
        let left = ready.map(|ready| ready.saturating_duration_since(Instant::now()));
        match left.filter(|left| !left.is_zero()) {
            Some(left) => error.with_retry_after(left),
            None => error,
        }
    }

    /// The tokens that a request will take.
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
                format!("the request has about {input} tokens; the limit is {max} a minute"),
            ));
        }
        let output = request.parameters().max_output_tokens;
        let output = output.unwrap_or(settings.expected_output_tokens);
        Ok(input.saturating_add(output.into()).min(max))
    }

    /// No code that can panic runs while it is locked.
    fn window(&self) -> MutexGuard<'_, Window> {
        self.0.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is being sent. Dropping it frees its slot; as a request of this minute it counts on.
pub(super) struct Admission {
    limiter: RateLimiter,
    number: u64,
    _slot: Option<OwnedSemaphorePermit>,
}

impl Admission {
    /// The model has answered.
    pub(super) fn answered(self, response: &ChatResponse) {
        match (&response.origin, response.usage.total()) {
            (AnswerOrigin::Cache, _) => self.correct(0),
            (_, Some(total)) => self.correct(total),
            (_, None) => {}
        }
    }

    /// The model has failed.
    pub(super) fn failed(self, error: &Error) {
        let is_refused = error.kind() == ErrorKind::RateLimited;
        if let Some(wait) = error.retry_after().filter(|_| is_refused) {
            let wait = wait.min(self.limiter.0.settings.max_pause);
            if let Some(until) = Instant::now().checked_add(wait) {
                self.limiter.window().pause(until);
            }
        }
        match error.usage().and_then(|usage| usage.total()) {
            Some(total) => self.correct(total),
            None if is_refused => self.correct(0),
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
    /// Sets how many requests may begin within 60 seconds.
    pub fn requests_per_minute(mut self, requests: u32) -> Self {
        self.requests_per_minute = Some(requests);
        self
    }

    /// Sets how many tokens the requests that begin within 60 seconds may have, answers included.
    pub fn tokens_per_minute(mut self, tokens: u64) -> Self {
        self.tokens_per_minute = Some(tokens);
        self
    }

    /// Sets how many requests may run at once.
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.concurrency = Some(requests);
        self
    }

    /// Sets how long a request may have to wait. One that would wait for longer fails as soon as that
    /// is known, with [`ErrorKind::RateLimited`] and, if it can be told, the time after which it would
    /// have been sent. Unlimited by default.
    pub fn max_wait(mut self, wait: Duration) -> Self {
        self.max_wait = Some(wait);
        self
    }

    /// Sets for how long a provider's `retry-after` may stop everything: 5 minutes by default.
    pub fn max_pause(mut self, pause: Duration) -> Self {
        self.max_pause = pause;
        self
    }

    /// Sets how many tokens an answer is expected to have when the request does not limit them: 500 by
    /// default. Corrected by what the model reports.
    pub fn expected_output_tokens(mut self, tokens: u32) -> Self {
        self.expected_output_tokens = tokens;
        self
    }

    /// Sets who estimates the tokens of requests: the [`ApproximateCounter`] by default.
    pub fn estimator(mut self, estimator: impl TokenCountEstimator + 'static) -> Self {
        self.estimator = Counted::new(estimator);
        self
    }

    /// The limiter.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`] if a limit is 0.
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
            head: tokio::sync::Mutex::default(),
            changed: Notify::new(),
            slots: self.concurrency.map(slots),
            settings: self,
        })))
    }
}
