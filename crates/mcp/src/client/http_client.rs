//! HTTP clients with the TLS configuration of the workspace.

use ai_services_core::{Error, Result, tls};
use reqwest::Url;
use std::time::Duration;

/// Creates a client that does not follow redirects.
///
/// # Errors
///
/// Fails if TLS cannot be set up.
pub(super) fn build(url: &Url, connect_timeout: Duration) -> Result<reqwest::Client> {
    let mut config = tls_config(url)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    reqwest::Client::builder()
        .tls_backend_preconfigured(config)
        // A redirect would send the headers to another host.
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(connect_timeout)
        .tcp_keepalive(Duration::from_secs(60))
        .build()
        .map_err(|error| {
            Error::configuration("the HTTP client cannot be built").with_source(error.without_url())
        })
}

fn tls_config(url: &Url) -> Result<rustls::ClientConfig> {
    match tls::with_system_roots() {
        // A machine without certificates can still reach a local server.
        Err(_) if url.scheme() == "http" => tls::without_root_certificates(),
        config => config,
    }
}
