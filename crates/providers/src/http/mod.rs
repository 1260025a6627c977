//! HTTP as clients of providers need it: one JSON request, one answer of limited size, retries in
//! between, and errors that say what the provider said but never a key.
//!
//! A [`Server`] has what all requests to one provider share, an [`Endpoint`] is one URL of it.

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
pub(crate) use client::{CONNECT_TIMEOUT, Tls, client, client_builder};
#[cfg(feature = "_fuzzing")]
pub(crate) use stream::in_memory;
pub(crate) use stream::{Event, Events, Framing, Streamed};

use ai_services_core::Result;
use bytes::Bytes;
use error_mapping::FailedAttempt;
use reqwest::header::HeaderMap;
use reqwest::{Client, Method, Request, Response, Url};
use retry::Retry;
use std::fmt;
use std::sync::Arc;
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

/// A provider's server, with everything that does not change between requests.
pub(crate) struct Server {
    client: Client,
    base: Url,
    settings: Arc<Settings>,
    retry: Retry,
}

/// What an answer needs to know of the server it came from.
#[derive(Debug)]
struct Settings {
    headers: HeaderMap,
    limits: Limits,
}

impl Server {
    /// A server. Values of `headers` that are secret must be marked as sensitive.
    pub(crate) fn new(client: Client, base: Url, headers: HeaderMap, limits: Limits) -> Arc<Self> {
        let retry = Retry::new(&limits);
        Arc::new(Self { client, base, settings: Arc::new(Settings { headers, limits }), retry })
    }

    /// The URL with these segments behind the path of the base URL, whose query is kept. Slashes
    /// separate segments; everything else that a path cannot hold is escaped.
    pub(crate) fn endpoint(self: &Arc<Self>, path: &str) -> Endpoint {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        Endpoint { server: Arc::clone(self), url }
    }
}

/// One URL of a server, for JSON.
#[derive(Clone)]
pub(crate) struct Endpoint {
    server: Arc<Server>,
    url: Url,
}

impl Endpoint {
    /// Where requests go. May contain a key: not for people.
    #[cfg(test)]
    pub(crate) fn url(&self) -> &str {
        self.url.as_str()
    }

    /// The same URL with one more pair in its query.
    pub(crate) fn with_query(mut self, name: &str, value: &str) -> Self {
        self.url.query_pairs_mut().append_pair(name, value);
        self
    }

    /// Sends a JSON body and reads the answer of a status 2xx.
    pub(crate) async fn post(&self, body: Vec<u8>) -> Result<Answer> {
        self.exchange(Some(body)).await
    }

    /// Asks for a document.
    pub(crate) async fn get(&self) -> Result<Answer> {
        self.exchange(None).await
    }

    async fn exchange(&self, body: Option<Vec<u8>>) -> Result<Answer> {
        let (mut response, attempts, ends) = self.open(body).await?;
        let settings = &self.server.settings;
        let limit = settings.limits.max_response_bytes;
        let read = body::read(&mut response, Bytes::new(), limit).await;
        let answer = Answer::of(&response, attempts, Arc::clone(settings));
        match read {
            Ok(body) => Ok(answer.with_body(body)),
            Err(broken) => Err(answer.annotate(broken.into_error(&settings.limits, ends))),
        }
    }

    /// Sends a JSON body and reads the answer of a status 2xx event by event. Once the answer has
    /// begun nothing is sent again.
    pub(crate) async fn stream(&self, body: Vec<u8>, framing: Framing) -> Result<Streamed> {
        let (response, attempts, ends) = self.open(Some(body)).await?;
        let answer = Answer::of(&response, attempts, Arc::clone(&self.server.settings));
        stream::open(response, answer, framing, ends).await
    }

    /// Sends a request until the head of an answer with status 2xx is there.
    async fn open(&self, body: Option<Vec<u8>>) -> Result<(Response, u32, Ends)> {
        let Server { settings, retry, .. } = &*self.server;
        let body = body.map(Bytes::from);
        let deadline = settings.limits.deadline.and_then(|limit| Instant::now().checked_add(limit));
        let mut attempts = 0;
        loop {
            attempts += 1;
            let ends = Ends::of(settings.limits.timeout, deadline);
            let fault = match self.attempt(body.clone(), ends).await {
                Ok(response) => {
                    retry.succeeded();
                    return Ok((response, attempts, ends));
                }
                Err(fault) => fault,
            };
            let Some(delay) = retry.delay(fault.repeat, attempts, deadline) else {
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

    async fn attempt(&self, body: Option<Bytes>, ends: Ends) -> Result<Response, FailedAttempt> {
        let Server { client, settings, .. } = &*self.server;
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let mut request = Request::new(method, self.url.clone());
        request.headers_mut().clone_from(&settings.headers);
        *request.timeout_mut() = Some(ends.timeout);
        *request.body_mut() = body.map(Into::into);
        let mut response = match client.execute(request).await {
            Ok(response) => response,
            Err(error) => return Err(FailedAttempt::of_sending(error, &settings.limits, ends)),
        };
        if response.status().is_success() {
            return Ok(response);
        }
        let body = body::read_some(&mut response).await;
        Err(FailedAttempt::of_status(&response, &body, &settings.headers))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither headers nor the URL's query: both may hold keys.
        f.debug_struct("Endpoint")
            .field("host", &self.url.host_str())
            .field("path", &self.url.path())
            .field("limits", &self.server.settings.limits)
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
