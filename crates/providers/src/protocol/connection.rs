//! How clients reach their servers: what all builders of clients have in common.

use crate::http::{self, CONNECT_TIMEOUT, Limits, Server};
use ai_services_core::{Error, Result};
use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use secrecy::{ExposeSecret, SecretString};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Where a server is, who asks, and how long that may take.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) api_key: Option<SecretString>,
    pub(crate) base_url: Option<String>,
    pub(crate) limits: Limits,
    pub(crate) connect_timeout: Duration,
    pub(crate) headers: Vec<(String, SecretString)>,
    pub(crate) http_client: Option<reqwest::Client>,
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
        }
    }
}

impl Connection {
    /// The base URL, or `default`.
    pub(crate) fn base(&self, default: &str) -> Result<Url> {
        base_url(self.base_url.as_deref().unwrap_or(default))
    }

    /// The key, without blanks around it.
    pub(crate) fn key(&self) -> Option<&str> {
        let key = self.api_key.as_ref()?.expose_secret().trim();
        (!key.is_empty()).then_some(key)
    }

    /// The server at `base`, to which each request carries `own` headers and those that were set,
    /// which win.
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
                Error::configuration(format!("`{}` is no name of a header", name.escape_debug()))
                    .with_source(source)
            })?;
            headers.insert(header, secret(value.expose_secret(), name)?);
        }
        let client = match self.http_client {
            Some(client) => client,
            None => http::client(&base, self.connect_timeout)?,
        };
        Ok(Server::new(client, base, headers, self.limits))
    }

    /// Whether a header of this name was set.
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
            .finish_non_exhaustive()
    }
}

/// A header with the key as a bearer token.
pub(crate) fn bearer(key: &str) -> Result<HeaderValue> {
    secret(&format!("Bearer {key}"), "the API key")
}

/// The value of a header that is shown to nobody. An error names `what`, but does not repeat it.
pub(crate) fn secret(value: &str, what: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        Error::configuration(format!("{what} contains characters that a header cannot carry"))
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// The value of an environment variable, unless it is empty.
pub(crate) fn set(var: impl Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    let value = var(name)?;
    Some(value.trim()).filter(|value| !value.is_empty()).map(str::to_owned)
}

/// A URL to which paths can be appended. Errors do not repeat it: it may contain a key.
fn base_url(base: &str) -> Result<Url> {
    let wrong = |why: &str| Error::configuration(format!("the base URL {why}"));
    let mut url = Url::parse(base.trim()).map_err(|source| {
        wrong("is not a URL, like `http://localhost:8080/v1`").with_source(source)
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("must begin with `http://` or `https://`"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("must not contain a user name or password; use `header`"));
    }
    if url.fragment().is_some() {
        return Err(wrong("must not contain a `#`"));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

/// The setters that all builders with a field `connection` have. With `streams`, also those for
/// answers that come piece by piece; with `but timeout` without the one that builders for other servers
/// than models document differently.
macro_rules! connection_setters {
    (streams) => {
        $crate::protocol::connection::connection_setters!();

        /// Sets how long nothing of a stream may come; 300 s by default. Comments, with which some
        /// servers keep a connection open, count as something, and the time in which a reader does
        /// not ask for more does not count.
        pub fn stream_idle_timeout(mut self, timeout: std::time::Duration) -> Self {
            self.connection.limits.stream_idle_timeout = timeout;
            self
        }

        /// Sets the largest answer that is read as a stream, in bytes, with everything that is sent
        /// around the text; 64 MiB by default. A single event has at most 4 MiB.
        pub fn max_stream_bytes(mut self, bytes: usize) -> Self {
            self.connection.limits.max_stream_bytes = bytes;
            self
        }
    };
    () => {
        /// Sets how long one attempt may take, from connecting to the last byte; 600 s by default,
        /// because reasoning models are silent for minutes. A stream, too, must have ended by then.
        pub fn timeout(mut self, timeout: std::time::Duration) -> Self {
            self.connection.limits.timeout = timeout;
            self
        }

        $crate::protocol::connection::connection_setters!(but timeout);
    };
    (but timeout) => {
        /// Sets how long connecting may take; 5 s by default. Without effect on an
        /// [`http_client`](Self::http_client) of your own.
        pub fn connect_timeout(mut self, timeout: std::time::Duration) -> Self {
            self.connection.connect_timeout = timeout;
            self
        }

        /// Sets how long a call may take with all its retries and pauses; not limited by default.
        pub fn deadline(mut self, deadline: std::time::Duration) -> Self {
            self.connection.limits.deadline = Some(deadline);
            self
        }

        /// Sets how many times a failed request is sent again; 2 by default.
        ///
        /// Over time at most a fifth of all requests are retries, after 100 that are always allowed:
        /// retries must not keep down a server that is failing.
        pub fn max_retries(mut self, retries: u32) -> Self {
            self.connection.limits.max_retries = retries;
            self
        }

        /// Sets the pause before the first retry; 500 ms by default. It doubles for each further one
        /// up to 8 s, and its lower half is random.
        pub fn retry_delay(mut self, delay: std::time::Duration) -> Self {
            self.connection.limits.retry_delay = delay;
            self
        }

        /// Sets the longest pause that the provider may ask for; 60 s by default. If it asks for a
        /// longer one the call fails, and the error [says how long](ai_services_core::Error::retry_after).
        pub fn max_retry_after(mut self, wait: std::time::Duration) -> Self {
            self.connection.limits.max_retry_after = wait;
            self
        }

        /// Sets the largest answer that is read whole, in bytes; 16 MiB by default.
        pub fn max_response_bytes(mut self, bytes: usize) -> Self {
            self.connection.limits.max_response_bytes = bytes;
            self
        }

        /// Sends a header with every request. The value is treated as a secret. It wins over a header
        /// of this client.
        pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
            let value = secrecy::SecretString::from(value.into());
            self.connection.headers.push((name.into(), value));
            self
        }

        /// Sends requests through a client of your own, for example one with a certificate or a
        /// proxy, or one shared by several clients.
        /// [`http_client_builder`](crate::http_client_builder) makes one; in any other turn
        /// redirects off, or requests may reach another host.
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
    fn wrong_base_url_is_a_configuration_error_without_the_url() {
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
