//! Tokens, and the store that keeps them.

use ai_services_core::Result;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A token is renewed this long before its end, or at half of its life if that is later.
const EARLY: u64 = 30;

/// Keeps the credentials of MCP servers between runs of the program.
///
/// The default keeps them in memory. The values are secrets: encrypt them, or use the key store of the operating
/// system. One store may serve several programs and processes, and the [`OAuth`](super::OAuth) of several servers, but
/// only one user: use one store per user.
///
/// # Examples
///
/// ```
/// use ai_services::mcp::{CredentialKey, OAuthCredentials, TokenStore};
/// use ai_services::{Error, ErrorKind, Result};
/// use std::path::PathBuf;
///
/// struct Folder(PathBuf);
///
/// impl Folder {
///     fn file(&self, key: &CredentialKey) -> PathBuf {
///         let name: String = key.to_string().bytes().map(|byte| format!("{byte:02x}")).collect();
///         self.0.join(name)
///     }
/// }
///
/// #[async_trait::async_trait]
/// impl TokenStore for Folder {
///     async fn load(&self, key: &CredentialKey) -> Result<Option<OAuthCredentials>> {
///         let Ok(json) = std::fs::read(self.file(key)) else { return Ok(None) };
///         Ok(serde_json::from_slice(&json).ok())
///     }
///
///     async fn save(&self, key: &CredentialKey, credentials: &OAuthCredentials) -> Result<()> {
///         let json = serde_json::to_vec(credentials).unwrap_or_default();
///         let written = std::fs::write(self.file(key), json);
///         written.map_err(|error| Error::new(ErrorKind::Store, "no token file").with_source(error))
///     }
///
///     async fn delete(&self, key: &CredentialKey) -> Result<()> {
///         let _ = std::fs::remove_file(self.file(key));
///         Ok(())
///     }
/// }
/// ```
#[async_trait]
pub trait TokenStore: Send + Sync {
    /// Returns the credentials that were saved last under a key.
    ///
    /// # Errors
    ///
    /// Return an error if the store fails. The request of the MCP server then fails, too.
    async fn load(&self, key: &CredentialKey) -> Result<Option<OAuthCredentials>>;

    /// Saves credentials, and replaces those of the same key.
    ///
    /// # Errors
    ///
    /// Return an error if the store fails. The request of the MCP server then fails, too.
    async fn save(&self, key: &CredentialKey, credentials: &OAuthCredentials) -> Result<()>;

    /// Deletes the credentials of a key, if there are any: the authorization server rejected them.
    ///
    /// # Errors
    ///
    /// Return an error if the store fails. The request of the MCP server then fails, too.
    async fn delete(&self, key: &CredentialKey) -> Result<()>;
}

/// The identity of credentials: they are only used at this authorization server and for this MCP server.
///
/// Its text has the form `ISSUER RESOURCE`. `Debug` does not show the resource, whose query may be secret.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct CredentialKey {
    /// The issuer of the authorization server, a URL.
    pub issuer: String,
    /// The URL of the MCP server, without a password.
    pub resource: String,
}

/// The credentials of a client: a registration and tokens.
///
/// Stores serialize them with serde. All members are secret, and `Debug` shows none.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OAuthCredentials {
    /// Compared with the key when they are loaded, so that a store cannot mix up authorization servers.
    pub(super) issuer: String,
    pub(super) client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client_secret: Option<String>,
    /// The redirect URI of the registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) redirect_uri: Option<String>,
    pub(super) access_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refresh_token: Option<String>,
    /// The requested scopes.
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    /// Seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) renew_at: Option<u64>,
}

impl OAuthCredentials {
    /// Returns `false` near the end of the token's life.
    pub(super) fn is_fresh(&self) -> bool {
        self.renew_at.is_none_or(|renew_at| now() < renew_at)
    }
}

impl fmt::Debug for OAuthCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthCredentials").finish_non_exhaustive()
    }
}

impl fmt::Debug for CredentialKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CredentialKey").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl fmt::Display for CredentialKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.issuer, self.resource)
    }
}

/// Returns the time at which a token is renewed that was issued now.
pub(super) fn renew_at(expires_in: Duration) -> u64 {
    let life = expires_in.as_secs();
    now().saturating_add(life - EARLY.min(life / 2))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The default store.
#[derive(Default)]
pub(super) struct InMemoryTokens(Mutex<HashMap<CredentialKey, OAuthCredentials>>);

#[async_trait]
impl TokenStore for InMemoryTokens {
    async fn load(&self, key: &CredentialKey) -> Result<Option<OAuthCredentials>> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned())
    }

    async fn save(&self, key: &CredentialKey, credentials: &OAuthCredentials) -> Result<()> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(key.clone(), credentials.clone());
        Ok(())
    }

    async fn delete(&self, key: &CredentialKey) -> Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        Ok(())
    }
}
