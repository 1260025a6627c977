//! HTTP clients with the TLS backend that the features select.

#[cfg(feature = "rustls")]
use ai_services_core::tls;
use ai_services_core::{Error, Result};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};
use std::time::Duration;

/// Default timeout of connecting.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The need for TLS.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Tls {
    /// A client without TLS is an error.
    Required,
    /// A client without TLS can still send plain HTTP.
    Preferred,
}

/// The proxies of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Proxies {
    /// Only proxies that are added to the client. A proxy can read requests over plain HTTP, with their key.
    #[default]
    Explicit,
    /// The proxies of the system: environment variables, and the settings of macOS and Windows.
    System,
}

/// Returns a builder of clients that do not follow redirects.
///
/// With [`Tls::Preferred`], a client on a machine without certificates can send plain HTTP only.
///
/// # Errors
///
/// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if [`Tls::Required`] is not
/// available.
pub(crate) fn client_builder(tls: Tls, proxies: Proxies) -> Result<ClientBuilder> {
    let builder = Client::builder()
        // A redirect would send the key and the conversation to another host.
        .redirect(Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_keepalive(Duration::from_secs(60));
    let builder = match proxies {
        Proxies::Explicit => builder.no_proxy(),
        Proxies::System => builder,
    };
    with_tls(builder, tls)
}

/// Creates a client for requests to `url`.
pub(crate) fn client(url: &Url, connect_timeout: Duration, proxies: Proxies) -> Result<Client> {
    let tls = if url.scheme() == "https" { Tls::Required } else { Tls::Preferred };
    client_builder(tls, proxies)?.connect_timeout(connect_timeout).build().map_err(|error| {
        Error::configuration("the HTTP client cannot be built").with_source(error.without_url())
    })
}

#[cfg(feature = "rustls")]
fn with_tls(builder: ClientBuilder, tls: Tls) -> Result<ClientBuilder> {
    let mut config = match tls::with_system_roots() {
        Ok(config) => config,
        // A machine without certificates can still reach a local server.
        Err(_) if tls == Tls::Preferred => tls::without_root_certificates()?,
        Err(error) => return Err(error),
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(builder.tls_backend_preconfigured(config))
}

#[cfg(all(feature = "native-tls", not(feature = "rustls")))]
fn with_tls(builder: ClientBuilder, _tls: Tls) -> Result<ClientBuilder> {
    Ok(builder)
}

#[cfg(not(any(feature = "native-tls", feature = "rustls")))]
fn with_tls(builder: ClientBuilder, tls: Tls) -> Result<ClientBuilder> {
    match tls {
        Tls::Preferred => Ok(builder),
        Tls::Required => Err(Error::configuration(
            "https needs the feature `rustls` or `native-tls` of ai-services",
        )),
    }
}
