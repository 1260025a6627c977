//! The servers of providers: their addresses, their keys, and the environment variables for both.

use super::connection::{Connection, secret, variable};
use crate::http::{Proxies, Server};
use ai_services_core::{Error, Result};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName};
use secrecy::SecretString;
use std::sync::Arc;

/// The public server of a provider.
pub(crate) struct Site {
    /// The base URL of clients that set none.
    pub(crate) base_url: &'static str,
    /// Domains that require a key, with their subdomains. Other servers may need none.
    pub(crate) domains: &'static [&'static str],
    /// Environment variables of the key; the first one that is set wins.
    pub(crate) key_variables: &'static [&'static str],
    pub(crate) base_url_variable: &'static str,
    pub(crate) key_header: KeyHeader,
}

/// The header that carries a key.
pub(crate) enum KeyHeader {
    /// `authorization: Bearer …`.
    Bearer,
    Named(&'static str),
}

/// The server that a client was configured for.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) url: Url,
    /// The header with the key, if there is one.
    pub(crate) headers: HeaderMap,
    /// `true` if the URL belongs to one of the provider's domains.
    pub(crate) is_official: bool,
}

impl Site {
    /// Returns the server of a connection. Reads the environment if neither a key nor a base URL was
    /// set.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if the provider's own
    /// server has no key, and for a base URL or key that HTTP cannot carry.
    pub(crate) fn target(
        &self,
        connection: &mut Connection,
        var: impl Fn(&str) -> Option<String>,
    ) -> Result<Target> {
        if connection.is_unset() {
            let key = self.key_variables.iter().find_map(|name| variable(&var, name));
            connection.api_key = key.map(SecretString::from);
            connection.base_url = variable(&var, self.base_url_variable);
            connection.proxies = Proxies::System;
        }
        let url = connection.base(self.base_url)?;
        let headers = self.headers(connection)?;
        let host = url.host_str().unwrap_or_default();
        let is_official = self.domains.iter().any(|domain| is_within(host, domain));
        let has_key = !headers.is_empty()
            || matches!(self.key_header, KeyHeader::Named(name) if connection.has_header(name))
            || connection.has_header(AUTHORIZATION.as_str());
        if is_official && !has_key {
            let variable = self.key_variables.first().copied().unwrap_or_default();
            return Err(Error::configuration(format!(
                "no API key: set the environment variable {variable} or call `api_key`"
            )));
        }
        Ok(Target { url, headers, is_official })
    }

    /// Connects to the [`target`](Self::target) of a connection.
    pub(crate) fn connect(
        &self,
        mut connection: Connection,
        var: impl Fn(&str) -> Option<String>,
    ) -> Result<Arc<Server>> {
        let Target { url, headers, .. } = self.target(&mut connection, var)?;
        connection.server(url, headers)
    }

    /// Returns the header with the key, if there is a key.
    fn headers(&self, connection: &Connection) -> Result<HeaderMap> {
        let KeyHeader::Named(name) = self.key_header else { return connection.bearer_headers() };
        let mut headers = HeaderMap::new();
        if let Some(key) = connection.key() {
            headers.insert(HeaderName::from_static(name), secret(key, "the API key")?);
        }
        Ok(headers)
    }
}

/// Returns whether a host is a domain or one of its subdomains.
fn is_within(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subdomain_is_within_its_domain() {
        for host in ["openai.com", "api.openai.com", "eu.api.openai.com"] {
            assert!(is_within(host, "openai.com"), "{host}");
        }
        for host in ["", "notopenai.com", "openai.com.example", "localhost"] {
            assert!(!is_within(host, "openai.com"), "{host}");
        }
    }
}
