//! HTTP as clients of providers need it: one JSON request, one answer of limited size, retries in
//! between, and errors that say what the provider said but never a key.

#![cfg_attr(
    not(feature = "openai"),
    allow(dead_code, unused_imports, reason = "nobody sends without a provider")
)]

mod answer;
mod body;
mod client;
mod fault;
mod retry;
mod said;
mod stream;

#[cfg(test)]
mod tests;

pub(crate) use answer::Answer;
pub(crate) use client::{CONNECT_TIMEOUT, Tls, client, client_builder};
#[cfg(feature = "_fuzzing")]
pub(crate) use stream::given;
pub(crate) use stream::{Event, Events, Streamed};

use crate::error::{Error, Result};
use bytes::Bytes;
use fault::Fault;
use reqwest::header::HeaderMap;
use reqwest::{Client, Method, Request, Response, Url};
use retry::Retry;
use std::fmt;
use std::time::Duration;
use tokio::time::Instant;
use tracing::debug;

/// Time limits, size limits and retries of an [`Endpoint`].
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// The longest attempt, from connecting to the last byte, of a stream too.
    pub(crate) timeout: Duration,
    /// The longest call, all attempts and pauses together.
    pub(crate) deadline: Option<Duration>,
    /// The largest answer that comes as one document.
    pub(crate) max_response_bytes: usize,
    /// The largest answer that comes in events, with everything around them.
    pub(crate) max_stream_bytes: usize,
    /// The longest time in which nothing of a stream comes.
    pub(crate) stream_idle_timeout: Duration,
    /// How many times a request is sent again.
    pub(crate) max_retries: u32,
    /// The pause before the first retry; doubled for each further one.
    pub(crate) retry_delay: Duration,
    /// The longest pause that a provider may ask for.
    pub(crate) max_retry_after: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(600),
            deadline: None,
            max_response_bytes: 16 << 20,
            max_stream_bytes: 64 << 20,
            stream_idle_timeout: Duration::from_secs(300),
            max_retries: 2,
            retry_delay: Duration::from_millis(500),
            max_retry_after: Duration::from_secs(60),
        }
    }
}

/// One URL to which JSON is posted, with everything that does not change between requests.
pub(crate) struct Endpoint {
    client: Client,
    url: Url,
    headers: HeaderMap,
    limits: Limits,
    retry: Retry,
}

impl Endpoint {
    /// An endpoint. Values of `headers` that are secret must be marked as sensitive.
    pub(crate) fn new(client: Client, url: Url, headers: HeaderMap, limits: Limits) -> Self {
        Self { client, url, headers, retry: Retry::new(&limits), limits }
    }

    /// Sends a JSON body and reads the answer of a status 2xx.
    pub(crate) async fn post(&self, body: Vec<u8>) -> Result<Answer> {
        let (mut response, attempts, ends) = self.open(body).await?;
        let limit = self.limits.max_response_bytes;
        let read = body::read(&mut response, Bytes::new(), limit).await;
        let answer = Answer::of(&response, attempts);
        match read {
            Ok(body) => Ok(answer.with_body(body)),
            Err(broken) => Err(answer.annotate(broken.into_error(&self.limits, ends))),
        }
    }

    /// Sends a JSON body and reads the answer of a status 2xx event by event. Once the answer has
    /// begun nothing is sent again.
    pub(crate) async fn stream(&self, body: Vec<u8>) -> Result<Streamed<'_>> {
        let (response, attempts, ends) = self.open(body).await?;
        stream::open(response, attempts, &self.limits, &self.headers, ends).await
    }

    /// Sends a JSON body until the head of an answer with status 2xx is there.
    async fn open(&self, body: Vec<u8>) -> Result<(Response, u32, Ends)> {
        let body = Bytes::from(body);
        let deadline = self.limits.deadline.and_then(|limit| Instant::now().checked_add(limit));
        let mut attempts = 0;
        loop {
            attempts += 1;
            let ends = Ends::of(self.limits.timeout, deadline);
            let fault = match self.attempt(body.clone(), ends).await {
                Ok(response) => {
                    self.retry.succeeded();
                    return Ok((response, attempts, ends));
                }
                Err(fault) => fault,
            };
            let Some(delay) = self.retry.delay(fault.repeat, attempts, deadline) else {
                return Err(fault.error.with_attempts(attempts));
            };
            debug!(
                attempt = attempts,
                delay_ms = delay.as_millis() as u64,
                status = fault.error.status(),
                kind = ?fault.error.kind(),
                "request failed and is sent again"
            );
            tokio::time::sleep(delay).await;
        }
    }

    async fn attempt(&self, body: Bytes, ends: Ends) -> Result<Response, Fault> {
        let mut request = Request::new(Method::POST, self.url.clone());
        request.headers_mut().clone_from(&self.headers);
        *request.timeout_mut() = Some(ends.timeout);
        *request.body_mut() = Some(body.into());
        let mut response = match self.client.execute(request).await {
            Ok(response) => response,
            Err(error) => return Err(Fault::of_sending(error, &self.limits, ends)),
        };
        if response.status().is_success() {
            return Ok(response);
        }
        let body = body::read_some(&mut response).await;
        Err(Fault::of_status(&response, &body, &self.headers))
    }

    /// The error for an answer of status 2xx that consists of an error.
    pub(crate) fn error_in(&self, answer: &Answer) -> Error {
        answer.annotate(fault::error_in_body(&answer.body, &self.headers))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither headers nor the URL's query: both may hold keys.
        f.debug_struct("Endpoint")
            .field("host", &self.url.host_str())
            .field("path", &self.url.path())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// How long an attempt may take, and which limit that is.
#[derive(Clone, Copy, Debug)]
struct Ends {
    timeout: Duration,
    is_deadline: bool,
}

impl Ends {
    fn of(timeout: Duration, deadline: Option<Instant>) -> Self {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        match left {
            Some(left) if left < timeout => Self { timeout: left, is_deadline: true },
            _ => Self { timeout, is_deadline: false },
        }
    }
}
