//! The builder of [`TavilySearchEngine`].

use super::{
    Inner, Options, TavilyAnswer, TavilyRawContent, TavilySearchDepth, TavilySearchEngine,
    TavilyTopic,
};
use crate::protocol::builder::{builder_methods, debug_fields};
use crate::protocol::connection::{Connection, connection_setters};
use crate::protocol::site::{KeyHeader, Site};
use crate::web_search::terms::TIMEOUT;
use ai_services_core::Result;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

static TAVILY: Site = Site {
    base_url: "https://api.tavily.com",
    domains: &["tavily.com"],
    key_variables: &["TAVILY_API_KEY"],
    base_url_variable: "TAVILY_BASE_URL",
    key_header: KeyHeader::Bearer,
};

/// Builds a [`TavilySearchEngine`].
///
/// If neither [`api_key`](Self::api_key) nor [`base_url`](Self::base_url) is set, both come from the
/// environment, as in [`TavilySearchEngine::from_env`]. Options that are not set are not sent, so Tavily's
/// defaults apply.
///
/// # Examples
///
/// ```
/// use ai_services::rag::web_search::{TavilySearchDepth, TavilySearchEngine, TavilyTopic};
///
/// let engine = TavilySearchEngine::builder()
///     .api_key("secret")
///     .search_depth(TavilySearchDepth::Advanced)
///     .topic(TavilyTopic::News)
///     .exclude_domains(["gossip.example"])
///     .build()?;
/// assert!(!format!("{engine:?}").contains("secret"));
/// # Ok::<(), ai_services::Error>(())
/// ```
#[must_use]
pub struct TavilySearchEngineBuilder {
    connection: Connection,
    options: Options,
}

impl Default for TavilySearchEngineBuilder {
    fn default() -> Self {
        let mut connection = Connection::default();
        connection.limits.timeout = TIMEOUT;
        Self { connection, options: Options::default() }
    }
}

impl TavilySearchEngineBuilder {
    builder_methods! {
        /// Sets the API key. Self-hosted servers may need none.
        api_key;
        /// Sets the server: the URL to which `/search` is appended. Default: `https://api.tavily.com`.
        base_url;
    }

    /// Sets the thoroughness of searches. Default: Tavily's, [`Basic`](TavilySearchDepth::Basic).
    pub fn search_depth(mut self, depth: TavilySearchDepth) -> Self {
        self.options.depth = Some(depth);
        self
    }

    /// Sets the kind of pages. Default: Tavily's, [`General`](TavilyTopic::General).
    pub fn topic(mut self, topic: TavilyTopic) -> Self {
        self.options.topic = Some(topic);
        self
    }

    /// Requests an [answer](ai_services_core::rag::web_search::WebSearchResults::answer) in addition to the
    /// pages. Default: none.
    #[doc(alias = "includeAnswer")]
    pub fn answer(mut self, answer: TavilyAnswer) -> Self {
        self.options.answer = Some(answer);
        self
    }

    /// Requests the whole text of each page. Default: only passages.
    #[doc(alias = "includeRawContent")]
    pub fn raw_content(mut self, form: TavilyRawContent) -> Self {
        self.options.raw_content = Some(form);
        self
    }

    /// Restricts searches to pages of these domains, at most 300.
    pub fn include_domains<D: Into<Box<str>>>(
        mut self,
        domains: impl IntoIterator<Item = D>,
    ) -> Self {
        self.options.include_domains = domains.into_iter().map(Into::into).collect();
        self
    }

    /// Excludes pages of these domains, at most 150.
    pub fn exclude_domains<D: Into<Box<str>>>(
        mut self,
        domains: impl IntoIterator<Item = D>,
    ) -> Self {
        self.options.exclude_domains = domains.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a member to all requests, for example `country`. It replaces a member of the client with the
    /// same name.
    pub fn extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.options.extra.insert(name.into(), value.into());
        self
    }

    /// Sets the timeout of one attempt, from connecting to the last byte. Default: 20 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.connection.limits.timeout = timeout;
        self
    }

    connection_setters!(but timeout);

    builder_methods! {
        /// Builds the engine. Sends nothing.
        ///
        /// # Errors
        ///
        /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) without a key for
        /// Tavily, for an invalid base URL, for a key or header that HTTP cannot carry, and if TLS cannot be
        /// set up.
        build -> TavilySearchEngine;
    }

    fn build_with(self, var: impl Fn(&str) -> Option<String>) -> Result<TavilySearchEngine> {
        let server = TAVILY.connect(self.connection, var)?;
        let endpoint = server.endpoint("search");
        Ok(TavilySearchEngine(Arc::new(Inner { endpoint, options: self.options })))
    }
}

debug_fields!(TavilySearchEngineBuilder { connection });

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::ErrorKind;

    fn url(variables: &[(&str, &str)]) -> Result<String> {
        let server = TAVILY.connect(Connection::default(), |name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        });
        Ok(server?.endpoint("search").url().to_owned())
    }

    #[test]
    fn environment_is_read() {
        assert_eq!(url(&[("TAVILY_API_KEY", "k")]).unwrap(), "https://api.tavily.com/search");
        let proxy = url(&[("TAVILY_BASE_URL", "http://proxy/tavily/")]).unwrap();
        assert_eq!(proxy, "http://proxy/tavily/search");
    }

    #[test]
    fn missing_key_names_the_variable() {
        for base in ["https://api.tavily.com", "https://tavily.com/x"] {
            let error = url(&[("TAVILY_BASE_URL", base), ("TAVILY_API_KEY", " ")]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(error.to_string().contains("TAVILY_API_KEY"), "{error}");
        }
        assert!(url(&[("TAVILY_BASE_URL", "https://nottavily.com")]).is_ok());
    }
}
