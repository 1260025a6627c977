//! HTTP as clients of providers need it: one JSON request, one answer of limited size, retries in
//! between, and errors that say what the provider said but never a key.

#![cfg_attr(
    not(feature = "openai"),
    allow(dead_code, unused_imports, reason = "nobody sends without a provider")
)]

mod body;
mod client;
mod fault;
mod retry;
mod said;

#[cfg(test)]
mod tests;

pub(crate) use client::{CONNECT_TIMEOUT, Tls, client, client_builder};

use crate::error::{Error, Result};
use bytes::Bytes;
use fault::Fault;
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Client, Method, Request, Response, Url};
use retry::Retry;
use std::fmt;
use std::time::Duration;
use tokio::time::Instant;
use tracing::debug;

/// Time limits, size limits and retries of an [`Endpoint`].
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// The longest attempt, from connecting to the last byte.
    pub(crate) timeout: Duration,
    /// The longest call, all attempts and pauses together.
    pub(crate) deadline: Option<Duration>,
    pub(crate) max_response_bytes: usize,
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
        let read = body::read(&mut response, self.limits.max_response_bytes).await;
        let answer = Answer::of(&response, attempts);
        match read {
            Ok(body) => Ok(Answer { body, ..answer }),
            Err(broken) => Err(answer.annotate(broken.into_error(&self.limits, ends))),
        }
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

/// An answer with status 2xx.
pub(crate) struct Answer {
    pub(crate) body: Bytes,
    pub(crate) attempts: u32,
    status: u16,
    request_id: Option<HeaderValue>,
    content_type: Option<HeaderValue>,
}

impl Answer {
    fn of(response: &Response, attempts: u32) -> Self {
        Self {
            body: Bytes::new(),
            attempts,
            status: response.status().as_u16(),
            request_id: fault::request_id(response.headers()).cloned(),
            content_type: response.headers().get(reqwest::header::CONTENT_TYPE).cloned(),
        }
    }

    /// The same error with what is known of the answer.
    pub(crate) fn annotate(&self, error: Error) -> Error {
        let error = match error.status() {
            Some(_) => error,
            None => error.with_status(self.status),
        };
        let error = error.with_attempts(self.attempts);
        match self.request_id.as_ref().and_then(|id| id.to_str().ok()) {
            Some(id) => error.with_request_id(id),
            None => error,
        }
    }

    /// The error for a body that is not the JSON it should be.
    pub(crate) fn unreadable(&self, error: serde_json::Error) -> Error {
        let content_type = self.content_type.as_ref().and_then(|value| value.to_str().ok());
        self.annotate(fault::unreadable(error, &self.body, content_type))
    }
}
