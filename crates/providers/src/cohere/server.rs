//! Cohere's server.

use crate::protocol::site::{KeyHeader, Site};

pub(super) static COHERE: Site = Site {
    base_url: "https://api.cohere.com",
    domains: &["cohere.com", "cohere.ai"],
    key_variables: &["COHERE_API_KEY", "CO_API_KEY"],
    base_url_variable: "COHERE_BASE_URL",
    key_header: KeyHeader::Bearer,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::connection::Connection;
    use ai_services_core::{ErrorKind, Result};

    fn url(variables: &[(&str, &str)]) -> Result<String> {
        let server = COHERE.connect(Connection::default(), |name| {
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
