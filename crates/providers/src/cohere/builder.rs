//! What builders of clients of Cohere have in common.

use crate::http::Server;
use crate::protocol::connection::{Connection, bearer, set};
use ai_services_core::{Error, Result};
use reqwest::header::{AUTHORIZATION, HeaderMap};
use secrecy::SecretString;
use std::sync::Arc;

const COHERE: &str = "https://api.cohere.com";

/// The server of a client of Cohere; the environment is read if neither key nor base URL was set.
pub(super) fn connect(
    mut connection: Connection,
    var: impl Fn(&str) -> Option<String>,
) -> Result<Arc<Server>> {
    if connection.api_key.is_none() && connection.base_url.is_none() {
        let key = set(&var, "COHERE_API_KEY").or_else(|| set(&var, "CO_API_KEY"));
        connection.api_key = key.map(SecretString::from);
        connection.base_url = set(&var, "COHERE_BASE_URL");
    }
    let base = connection.base(COHERE)?;
    let host = base.host_str().unwrap_or_default();
    let is_cohere = ["cohere.com", "cohere.ai"].iter().any(|own| {
        host.strip_suffix(own).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    });
    let has_key = connection.key().is_some() || connection.has_header(AUTHORIZATION.as_str());
    if is_cohere && !has_key {
        return Err(Error::configuration(
            "no API key: set the environment variable COHERE_API_KEY or call `api_key`",
        ));
    }
    let headers = headers(&connection)?;
    connection.server(base, headers)
}

/// The key as a header, if there is one.
pub(super) fn headers(connection: &Connection) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    if let Some(key) = connection.key() {
        headers.insert(AUTHORIZATION, bearer(key)?);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::ErrorKind;

    fn url(variables: &[(&str, &str)]) -> Result<String> {
        let server = connect(Connection::default(), |name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        });
        Ok(server?.endpoint("v2/rerank").url().to_owned())
    }

    #[test]
    fn environment_is_read() {
        let cohere = "https://api.cohere.com/v2/rerank";
        assert_eq!(url(&[("COHERE_API_KEY", "k")]).unwrap(), cohere);
        assert_eq!(url(&[("CO_API_KEY", "k")]).unwrap(), cohere);
        let proxy = url(&[("COHERE_BASE_URL", "http://proxy/cohere/")]).unwrap();
        assert_eq!(proxy, "http://proxy/cohere/v2/rerank");
    }

    #[test]
    fn missing_key_names_the_variable() {
        for base in ["https://api.cohere.com", "https://cohere.com", "https://api.cohere.ai/x"] {
            let error = url(&[("COHERE_BASE_URL", base), ("CO_API_KEY", " ")]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(error.to_string().contains("COHERE_API_KEY"), "{error}");
        }
        assert!(url(&[("COHERE_BASE_URL", "https://notcohere.com")]).is_ok());
    }
}
