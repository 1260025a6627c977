//! The connection pool, with the TLS backend that the features choose.

use crate::error::{Error, Result};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};
use std::time::Duration;

/// A client for requests to `url`, which decides how much of TLS must work.
pub(crate) fn client(url: &Url, connect_timeout: Duration) -> Result<Client> {
    let builder = Client::builder()
        // A redirect would carry the key and the conversation to another host.
        .redirect(Policy::none())
        .connect_timeout(connect_timeout)
        .tcp_keepalive(Duration::from_secs(60));
    with_tls(builder, url)?.build().map_err(|error| {
        Error::configuration("the HTTP client cannot be built").with_source(error.without_url())
    })
}

#[cfg(feature = "rustls")]
fn with_tls(builder: ClientBuilder, url: &Url) -> Result<ClientBuilder> {
    use rustls::crypto::CryptoProvider;
    use rustls::{ClientConfig, RootCertStore};
    use rustls_platform_verifier::BuilderVerifierExt;
    use std::sync::Arc;

    let unusable = |source| Error::configuration("TLS cannot be set up").with_source(source);
    // What the application chose for the whole process, else ring. Nothing is installed.
    let provider = CryptoProvider::get_default()
        .cloned()
        .unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()));
    let versions = || {
        ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(unusable)
    };
    let config = match versions()?.with_platform_verifier() {
        Ok(config) => config,
        // A machine without certificates can still reach a local server.
        Err(_) if url.scheme() == "http" => {
            versions()?.with_root_certificates(RootCertStore::empty())
        }
        Err(error) => return Err(unusable(error)),
    };
    let mut config = config.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(builder.tls_backend_preconfigured(config))
}

#[cfg(all(feature = "native-tls", not(feature = "rustls")))]
fn with_tls(builder: ClientBuilder, _url: &Url) -> Result<ClientBuilder> {
    Ok(builder)
}

#[cfg(not(any(feature = "native-tls", feature = "rustls")))]
fn with_tls(builder: ClientBuilder, url: &Url) -> Result<ClientBuilder> {
    match url.scheme() {
        "http" => Ok(builder),
        _ => Err(Error::configuration(
            "https needs the feature `rustls` or `native-tls` of ai-services",
        )),
    }
}
