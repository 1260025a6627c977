//! The rustls configuration of all TLS connections of this crate.

use crate::error::{Error, Result};
use rustls::client::WantsClientCert;
use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::BuilderVerifierExt;
use std::sync::{Arc, OnceLock};

/// Returns a configuration that trusts the certificates of the operating system.
///
/// # Errors
///
/// Fails on a machine without certificates.
pub fn with_system_roots() -> Result<ClientConfig> {
    /// Reading the system's certificates takes tens of milliseconds, so it is done once.
    static SHARED: OnceLock<ClientConfig> = OnceLock::new();

    if let Some(config) = SHARED.get() {
        return Ok(config.clone());
    }
    let config = config_with(|builder| builder.with_platform_verifier())?;
    Ok(SHARED.get_or_init(|| config).clone())
}

/// Returns a configuration that rejects every certificate, for servers that are expected to be
/// reached without TLS.
pub fn without_root_certificates() -> Result<ClientConfig> {
    config_with(|builder| Ok(builder.with_root_certificates(RootCertStore::empty())))
}

fn config_with(
    verifier: impl FnOnce(
        ConfigBuilder<ClientConfig, WantsVerifier>,
    ) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, rustls::Error>,
) -> Result<ClientConfig> {
    // Uses the crypto provider that the application installed for the process, else ring. Installs
    // none itself.
    let provider = CryptoProvider::get_default()
        .cloned()
        .unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()));
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(verifier)
        .map_err(|source| Error::configuration("TLS cannot be set up").with_source(source))?;
    Ok(config.with_no_client_auth())
}
