//! Whom both clients talk to, and how they say who asks.

use crate::http::Server;
use crate::protocol::connection::{Connection, secret, set};
use ai_services_core::{Error, Result};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName};
use secrecy::SecretString;
use std::sync::Arc;

const GOOGLE: &str = "https://generativelanguage.googleapis.com/v1beta";
const KEY: &str = "x-goog-api-key";

/// The server, with what the environment says if neither key nor base URL were set.
pub(super) fn connect(
    mut connection: Connection,
    var: impl Fn(&str) -> Option<String>,
) -> Result<Arc<Server>> {
    if connection.api_key.is_none() && connection.base_url.is_none() {
        let key = set(&var, "GEMINI_API_KEY").or_else(|| set(&var, "GOOGLE_API_KEY"));
        connection.api_key = key.map(SecretString::from);
        connection.base_url = set(&var, "GEMINI_BASE_URL");
    }
    let url = connection.base(GOOGLE)?;
    let mut headers = HeaderMap::new();
    if let Some(key) = connection.key() {
        headers.insert(HeaderName::from_static(KEY), secret(key, "the API key")?);
    }
    let host = url.host_str().unwrap_or_default();
    let is_google = host == "googleapis.com" || host.ends_with(".googleapis.com");
    let has_key = !headers.is_empty()
        || connection.has_header(KEY)
        || connection.has_header(AUTHORIZATION.as_str());
    if is_google && !has_key {
        return Err(Error::configuration(
            "no API key: set the environment variable GEMINI_API_KEY or call `api_key`",
        ));
    }
    connection.server(url, headers)
}
