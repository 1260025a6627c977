//! The builder of [`SearxngSearchEngine`].

use super::{Inner, SearxngSearchEngine};
use crate::protocol::builder::{builder_methods, debug_fields};
use crate::protocol::connection::{Connection, connection_setters};
use crate::web_search::terms::TIMEOUT;
use ai_services_core::{Error, Result};
use reqwest::header::HeaderMap;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// Builds a [`SearxngSearchEngine`].
///
/// Only [`base_url`](Self::base_url) is required. The environment is not read.
///
/// # Examples
///
/// ```
/// use ai_services::rag::web_search::SearxngSearchEngine;
///
/// let engine = SearxngSearchEngine::builder()
///     .base_url("http://localhost:8080")
///     .engines(["wikipedia", "duckduckgo"])
///     .build()?;
/// # Ok::<(), ai_services::Error>(())
/// ```
#[must_use]
pub struct SearxngSearchEngineBuilder {
    connection: Connection,
    engines: Vec<Box<str>>,
    categories: Vec<Box<str>>,
    extra: Map<String, Value>,
}

impl Default for SearxngSearchEngineBuilder {
    fn default() -> Self {
        let mut connection = Connection::default();
        connection.limits.timeout = TIMEOUT;
        Self { connection, engines: Vec::new(), categories: Vec::new(), extra: Map::new() }
    }
}

impl SearxngSearchEngineBuilder {
    builder_methods! {
        /// Sets the server: the URL to which `/search` is appended. Required.
        base_url;
    }

    /// Sets the engines, by their names in the settings of the server. Default: chosen by the server.
    pub fn engines<N: Into<Box<str>>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.engines = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the categories, for example `general` and `science`. Default: chosen by the server.
    pub fn categories<N: Into<Box<str>>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.categories = names.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a query parameter to all searches. It replaces a parameter of the client with the same name.
    /// Lists are joined with commas; `null` removes the parameter.
    pub fn extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }

    /// Sets the timeout of one attempt, from connecting to the last byte. Default: 20 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.connection.limits.timeout = timeout;
        self
    }

    connection_setters!(but timeout);

    /// Builds the engine. Sends nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) without a base URL or for an
    /// invalid one, for a name that is blank or has a comma, for a header that HTTP cannot carry, and if TLS
    /// cannot be set up.
    pub fn build(self) -> Result<SearxngSearchEngine> {
        if self.connection.base_url.is_none() {
            return Err(Error::configuration("no server: call `base_url`"));
        }
        let (engines, categories) = (joined(&self.engines)?, joined(&self.categories)?);
        let base = self.connection.base("")?;
        let server = self.connection.server(base, HeaderMap::new())?;
        let endpoint = server.endpoint("search");
        let inner = Inner { endpoint, engines, categories, extra: self.extra };
        Ok(SearxngSearchEngine(Arc::new(inner)))
    }
}

debug_fields!(SearxngSearchEngineBuilder { connection, engines, categories });

/// Joins names with commas, the separator of SearXNG.
fn joined(names: &[Box<str>]) -> Result<Option<String>> {
    if let Some(name) = names.iter().find(|name| name.contains(',') || name.trim().is_empty()) {
        return Err(Error::configuration(format!(
            "invalid name of an engine or category `{}`: a name must not be blank or have a comma",
            name.escape_debug()
        )));
    }
    Ok((!names.is_empty()).then(|| names.join(",")))
}
