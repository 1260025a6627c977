//! The server of both clients.

use crate::http::Server;
use crate::protocol::connection::Connection;
use crate::protocol::site::{KeyHeader, Site, Target};
use ai_services_core::Result;
use std::sync::Arc;

static GOOGLE: Site = Site {
    base_url: "https://generativelanguage.googleapis.com/v1beta",
    domains: &["googleapis.com"],
    key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    base_url_variable: "GEMINI_BASE_URL",
    key_header: KeyHeader::Named("x-goog-api-key"),
};

/// Returns the server of a connection. Reads the environment if neither a key nor a base URL was set.
pub(super) fn connect(
    mut connection: Connection,
    var: impl Fn(&str) -> Option<String>,
) -> Result<Arc<Server>> {
    let Target { url, headers, .. } = GOOGLE.target(&mut connection, var)?;
    connection.server(url, headers)
}
