//! The connection settings of all clients, and the setters for them.

use crate::http::{self, CONNECT_TIMEOUT, Limits, Proxies, Server};
use ai_services_core::{Error, Result};
use reqwest::Url;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT,
};
use secrecy::{ExposeSecret, SecretString};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The address of a server, the credentials for it, and the limits of a request.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) api_key: Option<SecretString>,
    pub(crate) base_url: Option<String>,
    pub(crate) limits: Limits,
    pub(crate) connect_timeout: Duration,
    pub(crate) headers: Vec<(String, SecretString)>,
    pub(crate) http_client: Option<reqwest::Client>,
    pub(crate) proxies: Proxies,
}

impl Default for Connection {
    fn default() -> Self {
        Self {
            api_key: None,
            base_url: None,
            limits: Limits::default(),
            connect_timeout: CONNECT_TIMEOUT,
            headers: Vec::new(),
            http_client: None,
            proxies: Proxies::default(),
        }
    }
}

impl Connection {
    /// Returns whether neither a key nor a base URL was set, so that the environment is read.
    pub(crate) fn is_unset(&self) -> bool {
        self.api_key.is_none() && self.base_url.is_none()
    }

    /// Returns the base URL, or `default`.
    pub(crate) fn base(&self, default: &str) -> Result<Url> {
        base_url(self.base_url.as_deref().unwrap_or(default))
    }

    /// Returns the key without surrounding white space, unless it is empty.
    pub(crate) fn key(&self) -> Option<&str> {
        let key = self.api_key.as_ref()?.expose_secret().trim();
        (!key.is_empty()).then_some(key)
    }

    /// Returns the server at `base`. Each request carries the headers `own` and those of the
    /// connection, which win.
    pub(crate) fn server(self, base: Url, own: HeaderMap) -> Result<Arc<Server>> {
        let json = HeaderValue::from_static("application/json");
        let agent = concat!("ai-services/", env!("CARGO_PKG_VERSION"));
        let mut headers = HeaderMap::from_iter([
            (CONTENT_TYPE, json.clone()),
            (ACCEPT, json),
            (USER_AGENT, HeaderValue::from_static(agent)),
        ]);
        headers.extend(own);
        for (name, value) in &self.headers {
            let header = name.parse::<HeaderName>().map_err(|source| {
                Error::configuration(format!("invalid header name `{}`", name.escape_debug()))
                    .with_source(source)
            })?;
            headers.insert(header, secret(value.expose_secret(), name)?);
        }
        let client = match self.http_client {
            Some(client) => client,
            None => http::client(&base, self.connect_timeout, self.proxies)?,
        };
        Ok(Server::new(client, base, headers, self.limits))
    }

    /// Returns a header with the key as a bearer token, if there is a key.
    pub(crate) fn bearer_headers(&self) -> Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        if let Some(key) = self.key() {
            headers.insert(AUTHORIZATION, secret(&format!("Bearer {key}"), "the API key")?);
        }
        Ok(headers)
    }

    /// Returns whether a header of this name was set.
    pub(crate) fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name))
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The base URL is left out: it may contain a key.
        f.debug_struct("Connection")
            .field("api_key", &self.api_key)
            .field("limits", &self.limits)
            .field("connect_timeout", &self.connect_timeout)
            .field("proxies", &self.proxies)
            .finish_non_exhaustive()
    }
}

/// Returns a header value that is hidden from `Debug` output. An error has `name` and does not
/// repeat the value.
pub(crate) fn secret(value: &str, name: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        Error::configuration(format!("{name} contains characters that a header cannot carry"))
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns an environment variable of the process.
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Returns the trimmed value of an environment variable, unless it is empty.
pub(crate) fn variable(var: impl Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    let value = var(name)?;
    Some(value.trim()).filter(|value| !value.is_empty()).map(str::to_owned)
}

/// Parses a URL to which paths can be appended. Errors do not repeat the URL, which may contain a key.
fn base_url(base: &str) -> Result<Url> {
    let error = |reason: &str| Error::configuration(format!("the base URL {reason}"));
    let mut url = Url::parse(base.trim()).map_err(|source| {
        error("is not a URL, like `http://localhost:8080/v1`").with_source(source)
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(error("must begin with `http://` or `https://`"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(error("must not contain a user name or password; use `header`"));
    }
    if url.fragment().is_some() {
        return Err(error("must not contain a `#`"));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

/// Defines the setters of a builder with the field `connection`.
///
/// `streams` adds the setters for streamed answers. `but timeout` leaves out `timeout`, for builders
/// with another default.
macro_rules! connection_setters {
    (streams) => {
        $crate::protocol::connection::connection_setters!();

        /// Sets the maximum time between two reads of a stream. Default: 300 seconds.
        ///
        /// Comments, with which some servers keep a connection open, reset the timeout. The time
        /// in which the stream is not polled does not count.
        pub fn stream_idle_timeout(mut self, timeout: std::time::Duration) -> Self {
            self.connection.limits.stream_idle_timeout = timeout;
            self
        }

        /// Sets the maximum size of a streamed answer in bytes, including the framing of its
        /// events. Default: 64 MiB. A single event has at most 4 MiB.
        pub fn max_stream_bytes(mut self, bytes: usize) -> Self {
            self.connection.limits.max_stream_bytes = bytes;
            self
        }
    };
    () => {
        /// Sets the timeout of one attempt, from connecting to the last byte, for streams too.
        /// Default: 600 seconds, because reasoning models can be silent for minutes.
        pub fn timeout(mut self, timeout: std::time::Duration) -> Self {
            self.connection.limits.timeout = timeout;
            self
        }

        $crate::protocol::connection::connection_setters!(but timeout);
    };
    (but timeout) => {
        /// Sets the timeout of connecting. Default: 5 seconds. No effect on a custom
        /// [`http_client`](Self::http_client).
        pub fn connect_timeout(mut self, timeout: std::time::Duration) -> Self {
            self.connection.connect_timeout = timeout;
            self
        }

        /// Sets the deadline of a call, with all retries and back-off delays. Default: none.
        pub fn deadline(mut self, deadline: std::time::Duration) -> Self {
            self.connection.limits.deadline = Some(deadline);
            self
        }

        /// Sets the maximum number of retries of a failed request. Default: 2.
        ///
        /// A retry budget keeps retries from overloading a failing server: after the first 100
        /// retries, at most a fifth of all requests are retries.
        pub fn max_retries(mut self, retries: u32) -> Self {
            self.connection.limits.max_retries = retries;
            self
        }

        /// Sets the back-off delay before the first retry. Default: 500 milliseconds.
        ///
        /// The delay doubles with each retry up to 8 seconds, with a jitter of 50–100 %.
        pub fn retry_delay(mut self, delay: std::time::Duration) -> Self {
            self.connection.limits.retry_delay = delay;
            self
        }

        /// Sets the maximum delay that the provider may request, for example with `retry-after`.
        /// Default: 60 seconds.
        ///
        /// If the provider requests a longer delay, the call fails, and the error has the delay as
        /// [`retry_after`](ai_services_core::Error::retry_after).
        pub fn max_retry_after(mut self, wait: std::time::Duration) -> Self {
            self.connection.limits.max_retry_after = wait;
            self
        }

        /// Sets the maximum size of an answer that is not streamed, in bytes. Default: 16 MiB.
        pub fn max_response_bytes(mut self, bytes: usize) -> Self {
            self.connection.limits.max_response_bytes = bytes;
            self
        }

        /// Adds a header to every request. The value is treated as a secret. The header replaces a
        /// header of the client with the same name.
        pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
            let value = secrecy::SecretString::from(value.into());
            self.connection.headers.push((name.into(), value));
            self
        }

        /// Uses the proxies of the system: those of the environment variables `HTTPS_PROXY`,
        /// `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, and of the settings of macOS and Windows.
        /// Default: only if the key and the server come from the environment, too. No effect on a
        /// custom [`http_client`](Self::http_client).
        ///
        /// A proxy can read requests to `http://` servers, with their key.
        pub fn system_proxies(mut self) -> Self {
            self.connection.proxies = $crate::http::Proxies::System;
            self
        }

        /// Sets the HTTP client, for example one with a proxy or a certificate, or one that several
        /// models share.
        ///
        /// Build the client with [`http_client_builder`](crate::http_client_builder). Turn redirects
        /// off in any other client: a redirect sends the key and the conversation to another host.
        pub fn http_client(mut self, client: reqwest::Client) -> Self {
            self.connection.http_client = Some(client);
            self
        }
    };
}

pub(crate) use connection_setters;

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::ErrorKind;

    fn url(base: &str, path: &str) -> Result<String> {
        let connection = Connection { base_url: Some(base.to_owned()), ..Connection::default() };
        let base = connection.base("http://unused")?;
        let server = connection.server(base, HeaderMap::new())?;
        Ok(server.endpoint(path).url().to_owned())
    }

    #[test]
    fn base_url_is_extended() {
        let local = "http://localhost:1/v1/chat/completions";
        let chat = |base| url(base, "chat/completions").unwrap();
        assert_eq!(chat("http://localhost:1/v1"), local);
        assert_eq!(chat(" http://localhost:1/v1// "), local);
        assert_eq!(chat("http://localhost:1"), "http://localhost:1/chat/completions");
        assert_eq!(
            chat("https://x.openai.azure.com/openai/deployments/d?api-version=1"),
            "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=1"
        );
        assert_eq!(url("http://h", "models/a b?c#d").unwrap(), "http://h/models/a%20b%3Fc%23d");
    }

    #[test]
    fn invalid_base_url_is_rejected_without_quoting_it() {
        for base in [
            "",
            "canary",
            "localhost:8080/canary",
            "ftp://canary",
            "http://user:canary@localhost",
            "http://canary@localhost",
            "http://localhost/#canary",
            "http://",
        ] {
            let error = url(base, "").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration, "{base}");
            assert!(!format!("{error:?}{error}").contains("canary"), "{error:?}");
        }
    }
}
