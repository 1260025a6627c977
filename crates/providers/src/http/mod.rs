//! HTTP for the clients of providers: JSON requests, answers of limited size, retries, and errors that
//! quote the provider without secrets.
//!
//! A [`Server`] holds the state that all requests to one provider share. An [`Endpoint`] is one of its
//! URLs.

#![cfg_attr(
    not(all(feature = "openai", feature = "gemini", feature = "ollama")),
    allow(dead_code, unused_imports, reason = "not every provider needs all of it")
)]

mod answer;
mod body;
mod client;
mod error_body;
mod error_mapping;
mod retry;
mod stream;

#[cfg(test)]
mod tests;

pub(crate) use answer::Answer;
pub(crate) use client::{CONNECT_TIMEOUT, Proxies, Tls, client, client_builder};
#[cfg(feature = "_fuzzing")]
pub(crate) use stream::in_memory;
pub(crate) use stream::{Event, Events, Framing, Streamed};

use ai_services_core::Result;
use ai_services_core::model::ModelEndpoint;
use bytes::Bytes;
use error_mapping::AttemptFailure;
use reqwest::header::HeaderMap;
use reqwest::{Client, Method, Request, Response, Url};
use retry::Retry;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tracing::info;

/// Time limits, size limits and retries of an [`Endpoint`].
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Timeout of one attempt, from connecting to the last byte, for streams too.
    pub(crate) timeout: Duration,
    /// Time limit of a call, with all retries and back-off delays.
    pub(crate) deadline: Option<Duration>,
    /// Maximum size of an answer that is one document.
    pub(crate) max_response_bytes: usize,
    /// Maximum size of a streamed answer, including the framing of its events.
    pub(crate) max_stream_bytes: usize,
    /// Maximum time without data from a stream.
    pub(crate) stream_idle_timeout: Duration,
    /// Maximum number of retries of a request.
    pub(crate) max_retries: u32,
    /// Back-off delay before the first retry. Doubles with each retry.
    pub(crate) retry_delay: Duration,
    /// Maximum delay that a provider may request.
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

/// A provider's server, with the state that all requests share.
pub(crate) struct Server {
    client: Client,
    base: Url,
    settings: Arc<Settings>,
    retry: Retry,
}

/// The settings of a server that its answers need, too.
#[derive(Debug)]
struct Settings {
    headers: HeaderMap,
    limits: Limits,
}

impl Server {
    /// Creates a server. Secret values of `headers` must be marked as sensitive.
    pub(crate) fn new(client: Client, base: Url, headers: HeaderMap, limits: Limits) -> Arc<Self> {
        let retry = Retry::new(&limits);
        Arc::new(Self { client, base, settings: Arc::new(Settings { headers, limits }), retry })
    }

    /// Returns the endpoint whose path is that of the base URL followed by `path`. The query of the base
    /// URL is kept.
    ///
    /// Slashes in `path` separate segments. Other characters that a path cannot contain are escaped.
    pub(crate) fn endpoint(self: &Arc<Self>, path: &str) -> Endpoint {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        Endpoint { server: Arc::clone(self), url }
    }
}

/// One URL of a server that exchanges JSON.
#[derive(Clone)]
pub(crate) struct Endpoint {
    server: Arc<Server>,
    url: Url,
}

impl Endpoint {
    /// Returns the URL, which may contain a key.
    #[cfg(test)]
    pub(crate) fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Returns the address of the server, for traces.
    pub(crate) fn of_provider<'a>(&'a self, provider: &'a str) -> ModelEndpoint<'a> {
        let endpoint = ModelEndpoint::new(provider);
        match self.url.host_str() {
            Some(host) => endpoint.with_server(host, self.url.port_or_known_default()),
            None => endpoint,
        }
    }

    /// Adds a pair to the query of the URL.
    pub(crate) fn with_query(mut self, name: &str, value: &str) -> Self {
        self.url.query_pairs_mut().append_pair(name, value);
        self
    }

    /// Posts a JSON body and reads the whole answer.
    pub(crate) async fn post(&self, body: Vec<u8>) -> Result<Answer> {
        self.exchange(Some(body)).await
    }

    /// Gets a document.
    pub(crate) async fn get(&self) -> Result<Answer> {
        self.exchange(None).await
    }

    /// Sends a request and reads the whole answer.
    async fn exchange(&self, body: Option<Vec<u8>>) -> Result<Answer> {
        let (mut response, attempts, timeout) = self.open(body).await?;
        let settings = &self.server.settings;
        let limit = settings.limits.max_response_bytes;
        let read = body::read(&mut response, Bytes::new(), limit).await;
        let answer = Answer::of(&mut response, attempts, Arc::clone(settings));
        match read {
            Ok(body) => Ok(answer.with_body(body)),
            Err(error) => Err(answer.annotate(error.into_error(&settings.limits, timeout))),
        }
    }

    /// Posts a JSON body and streams the answer. The request is retried only before the head of the answer
    /// arrives.
    pub(crate) async fn stream(&self, body: Vec<u8>, framing: Framing) -> Result<Streamed> {
        let (mut response, attempts, timeout) = self.open(Some(body)).await?;
        let answer = Answer::of(&mut response, attempts, Arc::clone(&self.server.settings));
        stream::open(response, answer, framing, timeout).await
    }

    /// Sends a request, with retries, until the head of an answer with a 2xx status arrives.
    async fn open(&self, body: Option<Vec<u8>>) -> Result<(Response, u32, AttemptTimeout)> {
        let Server { settings, retry, .. } = &*self.server;
        let body = body.map(Bytes::from);
        let deadline = settings.limits.deadline.and_then(|limit| Instant::now().checked_add(limit));
        let mut attempts = 0;
        loop {
            attempts += 1;
            let timeout = AttemptTimeout::of(settings.limits.timeout, deadline);
            let failure = match self.attempt(body.clone(), timeout).await {
                Ok(response) => {
                    retry.succeeded();
                    return Ok((response, attempts, timeout));
                }
                Err(failure) => failure,
            };
            let Some(delay) = retry.delay(failure.decision, attempts, deadline) else {
                return Err(failure.error.with_attempts(attempts));
            };
            info!(
                attempt = attempts,
                delay_ms = delay.as_millis() as u64,
                status = failure.error.status(),
                kind = ?failure.error.kind(),
                "retrying a failed request"
            );
            tokio::time::sleep(delay).await;
        }
    }

    /// Sends a request once.
    async fn attempt(
        &self,
        body: Option<Bytes>,
        timeout: AttemptTimeout,
    ) -> Result<Response, AttemptFailure> {
        let Server { client, settings, .. } = &*self.server;
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let mut request = Request::new(method, self.url.clone());
        request.headers_mut().clone_from(&settings.headers);
        *request.timeout_mut() = Some(timeout.duration);
        *request.body_mut() = body.map(Into::into);
        let mut response = match client.execute(request).await {
            Ok(response) => response,
            Err(error) => return Err(AttemptFailure::of_sending(error, &settings.limits, timeout)),
        };
        if response.status().is_success() {
            return Ok(response);
        }
        let body = body::read_error_body(&mut response).await;
        Err(AttemptFailure::of_status(&response, &body, &settings.headers))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The headers, and the path and query of the URL are left out: all may contain keys.
        f.debug_struct("Endpoint")
            .field("host", &self.url.host_str())
            .field("limits", &self.server.settings.limits)
            .finish_non_exhaustive()
    }
}

/// The time limit of one attempt: the timeout, or the rest of the deadline if that is shorter.
#[derive(Clone, Copy, Debug)]
struct AttemptTimeout {
    duration: Duration,
    is_deadline: bool,
}

impl AttemptTimeout {
    /// Returns the limit of an attempt that starts now.
    fn of(timeout: Duration, deadline: Option<Instant>) -> Self {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        match left {
            Some(left) if left < timeout => Self { duration: left, is_deadline: true },
            _ => Self { duration: timeout, is_deadline: false },
        }
    }
}
