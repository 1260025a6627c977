//! The server and the billing account of OpenAI's clients.

use crate::protocol::connection::{Connection, secret, variable};
use crate::protocol::site::{KeyHeader, Site, Target};
use ai_services_core::Result;
use reqwest::header::HeaderName;

static OPENAI: Site = Site {
    base_url: "https://api.openai.com/v1",
    domains: &["openai.com"],
    key_variables: &["OPENAI_API_KEY"],
    base_url_variable: "OPENAI_BASE_URL",
    key_header: KeyHeader::Bearer,
};

/// The organization and the project that OpenAI bills.
#[derive(Clone, Default)]
pub(super) struct Account {
    pub(super) organization: Option<String>,
    pub(super) project: Option<String>,
}

impl Account {
    /// Returns the server of a connection. Reads the environment if neither a key nor a base URL was
    /// set. Azure counts as an official server.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) without a key for
    /// OpenAI, and for a base URL, key or account that HTTP cannot carry.
    pub(super) fn target(
        mut self,
        connection: &mut Connection,
        var: impl Fn(&str) -> Option<String>,
    ) -> Result<Target> {
        if connection.is_unset() {
            self.organization = self.organization.or_else(|| variable(&var, "OPENAI_ORG_ID"));
            self.project = self.project.or_else(|| variable(&var, "OPENAI_PROJECT_ID"));
        }
        let mut target = OPENAI.target(connection, var)?;
        let ids = [("openai-organization", self.organization), ("openai-project", self.project)];
        for (name, id) in ids {
            if let Some(id) = id {
                target.headers.insert(HeaderName::from_static(name), secret(&id, name)?);
            }
        }
        let host = target.url.host_str().unwrap_or_default();
        target.is_official |= host.ends_with(".openai.azure.com");
        Ok(target)
    }
}

/// Defines the setters of a builder with the fields `connection` and `account`, whose requests go to
/// `$path`.
macro_rules! account_setters {
    ($path:literal) => {
        $crate::protocol::builder::builder_methods! {
            /// Sets the API key. Servers other than OpenAI's may need none.
            api_key;
            #[doc = concat!("Sets the server: the URL to which `", $path, "` is appended, for example")]
            /// `http://localhost:11434/v1`. A query, which Azure requires, is kept.
            base_url;
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
