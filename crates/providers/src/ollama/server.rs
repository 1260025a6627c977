//! An Ollama server and its models.

use super::hint;
use super::host;
use super::models::{OllamaModel, OllamaModelDetails, Show, Tags};
use crate::http::{Answer, Endpoint, Proxies, Server};
use crate::protocol::builder::builder_methods;
use crate::protocol::connection::{Connection, connection_setters, variable};
#[cfg(doc)]
use ai_services_core::ErrorKind;
use ai_services_core::{Error, Result};
use reqwest::Url;
use reqwest::header::AUTHORIZATION;
use secrecy::SecretString;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Time limit for listing the models for an error message.
const LISTING_TIMEOUT: Duration = Duration::from_secs(2);

/// An Ollama server, for listing its models and their capabilities.
///
/// Clones share connections and settings.
///
/// # Examples
///
/// ```no_run
/// use ai_services::providers::ollama::OllamaServer;
/// use std::time::Duration;
///
/// # async fn run() -> ai_services::Result<()> {
/// let server = OllamaServer::builder().timeout(Duration::from_secs(2)).build()?;
/// for model in server.models().await? {
///     println!("{} {}", model.name, model.parameter_size.unwrap_or_default());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct OllamaServer {
    server: Arc<Server>,
    base: Arc<Url>,
}

impl OllamaServer {
    /// Starts a builder.
    pub fn builder() -> OllamaServerBuilder {
        OllamaServerBuilder::default()
    }

    /// Creates a server from environment variables.
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `OLLAMA_HOST` | the address, in the syntax of Ollama: `gpu`, `:9`, `gpu:9`, `https://gpu`. Default: `127.0.0.1:11434`. An address for listening on all interfaces means this machine |
    /// | `OLLAMA_API_KEY` | the key, which only `ollama.com` requires |
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`] if a variable is missing or invalid; the message names the
    /// variable.
    pub fn from_env() -> Result<Self> {
        Self::builder().build()
    }

    /// Returns the server of a connection. Reads the environment if neither a key nor a base URL
    /// was set.
    pub(super) fn connect(
        mut connection: Connection,
        var: impl Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        if connection.is_unset() {
            connection.api_key = variable(&var, "OLLAMA_API_KEY").map(SecretString::from);
            let host = variable(&var, "OLLAMA_HOST").unwrap_or_default();
            connection.base_url = Some(host::url(&host)?);
            connection.proxies = Proxies::System;
        }
        let base = connection.base(host::DEFAULT)?;
        let headers = connection.bearer_headers()?;
        let has_key = !headers.is_empty() || connection.has_header(AUTHORIZATION.as_str());
        if base.host_str() == Some(host::CLOUD) && !has_key {
            return Err(Error::configuration(
                "no API key: set the environment variable OLLAMA_API_KEY or call `api_key`",
            ));
        }
        let server = connection.server(base.clone(), headers)?;
        Ok(Self { server, base: Arc::new(base) })
    }

    pub(super) fn endpoint(&self, path: &str) -> Endpoint {
        self.server.endpoint(path)
    }

    /// Returns the scheme, host and port, for example `http://127.0.0.1:11434`.
    #[must_use]
    pub fn origin(&self) -> String {
        self.base.origin().ascii_serialization()
    }

    /// Returns the models of the server, the last modified first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Connection`] if there is no server, with a hint how to start it, and the other
    /// errors of a request.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels the request.
    pub async fn models(&self) -> Result<Vec<OllamaModel>> {
        let answer = self.endpoint("api/tags").get().await;
        let answer = answer.map_err(|error| hint::unreachable(&self.origin(), error))?;
        let tags: Tags = parse(&answer)?;
        Ok(tags.into_models())
    }

    /// Returns the details of a model.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`] if there is no such model, with a hint how to pull it, and the
    /// other errors of a request.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels the request.
    pub async fn model(&self, name: &str) -> Result<OllamaModelDetails> {
        let body = json!({ "model": name }).to_string().into_bytes();
        let answer = match self.endpoint("api/show").post(body).await {
            Ok(answer) => answer,
            Err(error) => return Err(self.explain(name, error).await),
        };
        Ok(parse::<Show>(&answer)?.into())
    }

    /// Adds a hint to the error of a request for a model.
    pub(super) async fn explain(&self, model: &str, error: Error) -> Error {
        if !hint::is_missing_model(&error) {
            return hint::unreachable(&self.origin(), error);
        }
        // A failure of the listing must not hide the original error.
        let models = timeout(LISTING_TIMEOUT, self.models()).await;
        hint::missing_model(model, models.ok().and_then(Result::ok).as_deref(), error)
    }
}

/// Parses a JSON document, or returns the error that the server reports instead.
pub(super) fn parse<T: DeserializeOwned>(answer: &Answer) -> Result<T> {
    #[derive(Deserialize)]
    struct Reported {
        #[allow(dead_code, reason = "only its presence matters")]
        error: Value,
    }
    if serde_json::from_slice::<Reported>(&answer.body).is_ok() {
        return Err(answer.reported());
    }
    serde_json::from_slice(&answer.body).map_err(|error| answer.unreadable(error))
}

impl fmt::Debug for OllamaServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OllamaServer").field("host", &self.base.host_str()).finish_non_exhaustive()
    }
}

/// Builds an [`OllamaServer`].
///
/// If neither [`api_key`](Self::api_key) nor [`base_url`](Self::base_url) is set, both come from
/// the environment, as in [`OllamaServer::from_env`].
///
/// # Examples
///
/// ```
/// use ai_services::providers::ollama::OllamaServer;
///
/// let server = OllamaServer::builder().base_url("http://gpu:11434/ollama").build()?;
/// assert_eq!(server.origin(), "http://gpu:11434");
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Debug, Default)]
#[must_use]
pub struct OllamaServerBuilder {
    connection: Connection,
}

impl OllamaServerBuilder {
    builder_methods! {
        /// Sets the API key, which only `ollama.com` requires.
        api_key;
        /// Sets the URL to which `/api/tags` is appended. Default: `http://127.0.0.1:11434`.
        base_url;
    }

    connection_setters!();

    builder_methods! {
        /// Builds the server. Sends nothing.
        ///
        /// # Errors
        ///
        /// [`ErrorKind::Configuration`] without a key for `ollama.com`, for an invalid base URL or
        /// `OLLAMA_HOST`, for a key or header that HTTP cannot carry, and if TLS cannot be set up.
        build -> OllamaServer;
    }

    fn build_with(self, var: impl Fn(&str) -> Option<String>) -> Result<OllamaServer> {
        OllamaServer::connect(self.connection, var)
    }
}
