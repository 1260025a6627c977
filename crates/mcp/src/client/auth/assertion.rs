//! Signed assertions of the identity of a client (RFC 7523).

use ai_services_core::{Error, ErrorKind, Result};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls::SignatureScheme;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::Signer;
use serde_json::json;
use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds for which an assertion is valid.
const LIFE: u64 = 300;

/// The algorithms, in the order of preference for a key.
const SCHEMES: [SignatureScheme; 3] = [
    SignatureScheme::ECDSA_NISTP256_SHA256,
    SignatureScheme::ECDSA_NISTP384_SHA384,
    SignatureScheme::RSA_PKCS1_SHA256,
];

/// Returns a JSON Web Token in which a client identifies itself to an authorization server.
///
/// # Errors
///
/// Fails if the key is not a private key for RSA, P-256 or P-384 in the format PEM.
pub(super) fn assertion(client_id: &str, issuer: &str, pem: &[u8]) -> Result<String> {
    let signer = signer(pem)?;
    let (algorithm, width) = match signer.scheme() {
        SignatureScheme::ECDSA_NISTP256_SHA256 => ("ES256", Some(32)),
        SignatureScheme::ECDSA_NISTP384_SHA384 => ("ES384", Some(48)),
        _ => ("RS256", None),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let claims = json!({
        "iss": client_id,
        "sub": client_id,
        "aud": issuer,
        "iat": now,
        "exp": now + LIFE,
        "jti": uuid::Uuid::new_v4().to_string(),
    });
    let header = encode(json!({ "alg": algorithm, "typ": "JWT" }).to_string());
    let signed = format!("{header}.{}", encode(claims.to_string()));
    let signature = signer.sign(signed.as_bytes()).ok().and_then(|signature| match width {
        Some(width) => fixed_width(&signature, width),
        None => Some(signature),
    });
    let signature = signature.ok_or_else(unusable_key)?;
    Ok(format!("{signed}.{}", encode(signature)))
}

fn signer(pem: &[u8]) -> Result<Box<dyn Signer>> {
    let key = PrivateKeyDer::from_pem_slice(pem).map_err(|_| unusable_key())?;
    let key = any_supported_type(&key).map_err(|_| unusable_key())?;
    key.choose_scheme(&SCHEMES).ok_or_else(unusable_key)
}

/// Converts an ECDSA signature from the format of TLS, two integers in DER, to that of JSON Web Tokens.
fn fixed_width(der: &[u8], width: usize) -> Option<Vec<u8>> {
    // A sequence of up to 127 bytes.
    let mut rest = der.strip_prefix(&[0x30])?.get(1..)?;
    let mut signature = Vec::with_capacity(2 * width);
    for _ in 0..2 {
        let (&length, integer) = rest.strip_prefix(&[0x02])?.split_first()?;
        let (integer, after) = integer.split_at_checked(usize::from(length))?;
        let zeros = integer.iter().take_while(|byte| **byte == 0).count();
        let digits = integer.get(zeros..)?;
        signature.resize(signature.len() + width.checked_sub(digits.len())?, 0);
        signature.extend_from_slice(digits);
        rest = after;
    }
    Some(signature)
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn unusable_key() -> Error {
    let message =
        "the private key of `OAuth::private_key_jwt` is not a PEM of an RSA, P-256 or P-384 key";
    Error::new(ErrorKind::Configuration, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signature_has_two_numbers_of_fixed_width() {
        // The first number has a zero for its sign, the second is short.
        let der = [0x30, 0x09, 0x02, 0x03, 0x00, 0x81, 0x02, 0x02, 0x02, 0x03, 0x04];
        assert_eq!(fixed_width(&der, 3), Some(vec![0, 0x81, 0x02, 0, 0x03, 0x04]));
        assert_eq!(fixed_width(&der, 1), None, "a number is too long");
        assert_eq!(fixed_width(&der[..8], 3), None, "the end is missing");
    }

    #[test]
    fn key_of_another_format_is_a_configuration_error() {
        let error = assertion("client", "https://login.example", b"secret").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(!error.to_string().contains("secret"));
    }
}
