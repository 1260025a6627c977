//! Google's server.

use crate::protocol::site::{KeyHeader, Site};

pub(super) static GOOGLE: Site = Site {
    base_url: "https://generativelanguage.googleapis.com/v1beta",
    domains: &["googleapis.com"],
    key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    base_url_variable: "GEMINI_BASE_URL",
    key_header: KeyHeader::Named("x-goog-api-key"),
};
