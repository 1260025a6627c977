//! TLS by rustls, as all connections of this crate use it.

#![cfg_attr(
    not(any(feature = "postgres", all(feature = "http", feature = "rustls"))),
    allow(dead_code, reason = "nobody connects")
)]

use crate::error::{Error, Result};
use rustls::client::WantsClientCert;
use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::BuilderVerifierExt;
use std::sync::{Arc, OnceLock};

/// Trusts the certificates that the system trusts.
///
/// # Errors
///
/// On a machine without certificates.
pub(crate) fn trusting_the_system() -> Result<ClientConfig> {
    /// Reading the system's certificates takes tens of milliseconds, so it is done once.
    static SHARED: OnceLock<ClientConfig> = OnceLock::new();

    if let Some(config) = SHARED.get() {
        return Ok(config.clone());
    }
    let config = config_with(|builder| builder.with_platform_verifier())?;
    Ok(SHARED.get_or_init(|| config).clone())
}

/// Refuses every certificate: for servers that are expected to be reached without TLS.
pub(crate) fn trusting_nobody() -> Result<ClientConfig> {
    config_with(|builder| Ok(builder.with_root_certificates(RootCertStore::empty())))
}

fn config_with(
    verifier: impl FnOnce(
        ConfigBuilder<ClientConfig, WantsVerifier>,
    ) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, rustls::Error>,
) -> Result<ClientConfig> {
    // What the application chose for the whole process, else ring. Nothing is installed.
    let provider = CryptoProvider::get_default()
        .cloned()
        .unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()));
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(verifier)
        .map_err(|source| Error::configuration("TLS cannot be set up").with_source(source))?;
    Ok(config.with_no_client_auth())
}
