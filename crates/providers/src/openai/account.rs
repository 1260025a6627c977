//! Whom OpenAI bills and where its server is: what all builders here have in common.

use crate::protocol::connection::{Connection, bearer, secret, set};
use ai_services_core::{Error, Result};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName};
use secrecy::SecretString;

const OPENAI: &str = "https://api.openai.com/v1";

/// Whom OpenAI bills.
#[derive(Clone, Default)]
pub(super) struct Account {
    pub(super) organization: Option<String>,
    pub(super) project: Option<String>,
}

/// Where requests go, and what says who asks.
pub(super) struct Site {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    /// Whether it is OpenAI's own server or Azure's, not a compatible one.
    pub(super) is_genuine: bool,
}

impl Account {
    /// The server of a connection. The environment is read if neither a key nor a server was set.
    ///
    /// # Errors
    ///
    /// Without a key for OpenAI, and for a base URL or a key that cannot be used.
    pub(super) fn site(
        mut self,
        connection: &mut Connection,
        var: impl Fn(&str) -> Option<String>,
    ) -> Result<Site> {
        if connection.api_key.is_none() && connection.base_url.is_none() {
            connection.api_key = set(&var, "OPENAI_API_KEY").map(SecretString::from);
            connection.base_url = set(&var, "OPENAI_BASE_URL");
            self.organization = self.organization.or_else(|| set(&var, "OPENAI_ORG_ID"));
            self.project = self.project.or_else(|| set(&var, "OPENAI_PROJECT_ID"));
        }
        let url = connection.base(OPENAI)?;
        let headers = self.headers(connection)?;
        let host = url.host_str().unwrap_or_default();
        let is_openai = host == "openai.com" || host.ends_with(".openai.com");
        let has_key =
            headers.contains_key(AUTHORIZATION) || connection.has_header(AUTHORIZATION.as_str());
        if is_openai && !has_key {
            return Err(Error::configuration(
                "no API key: set the environment variable OPENAI_API_KEY or call `api_key`",
            ));
        }
        let is_genuine = is_openai || host.ends_with(".openai.azure.com");
        Ok(Site { url, headers, is_genuine })
    }

    fn headers(&self, connection: &Connection) -> Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        if let Some(key) = connection.key() {
            headers.insert(AUTHORIZATION, bearer(key)?);
        }
        let ids = [("openai-organization", &self.organization), ("openai-project", &self.project)];
        for (name, id) in ids {
            if let Some(id) = id {
                headers.insert(HeaderName::from_static(name), secret(id, name)?);
            }
        }
        Ok(headers)
    }
}

/// The setters of a builder with the fields `connection` and `account`, whose requests go to `$path`.
macro_rules! account_setters {
    ($path:literal) => {
        /// Sets the key. Servers other than OpenAI's may need none.
        pub fn api_key(mut self, key: impl Into<String>) -> Self {
            self.connection.api_key = Some(secrecy::SecretString::from(key.into()));
            self
        }

        #[doc = concat!("Sets the server: the URL to which `", $path, "` is appended, for example")]
        /// `http://localhost:11434/v1`. A query, which Azure wants, is kept.
        pub fn base_url(mut self, url: impl Into<String>) -> Self {
            self.connection.base_url = Some(url.into());
            self
        }

        /// Sets the organization that OpenAI bills.
        pub fn organization(mut self, id: impl Into<String>) -> Self {
            self.account.organization = Some(id.into());
            self
        }

        /// Sets the project that OpenAI bills.
        pub fn project(mut self, id: impl Into<String>) -> Self {
            self.account.project = Some(id.into());
            self
        }
    };
}

pub(super) use account_setters;
