//! The settings of an authorization.

use super::credentials::{InMemoryTokens, TokenStore};
use ai_services_core::Result;
use futures_util::future::{BoxFuture, FutureExt};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// Sends the user to the authorization server, and returns the redirect.
pub(super) type Authorize =
    Arc<dyn Fn(AuthorizationRequest) -> BoxFuture<'static, Result<String>> + Send + Sync>;

/// Authorization by OAuth 2.1 for an MCP server, as its protocol describes it.
///
/// The MCP server names its authorization server when it refuses the first request. The client then discovers the
/// endpoints, identifies itself, asks the user for consent ([`authorization_code`](Self::authorization_code), with
/// PKCE) or uses its own credentials ([`client_credentials`](Self::client_credentials),
/// [`private_key_jwt`](Self::private_key_jwt)), and adds the access token to each request. It renews a token before it ends, or when the server rejects it, and asks the user only if that is
/// impossible, or if the server requires more scopes.
///
/// | setting | default |
/// |---|---|
/// | [`client_id`](Self::client_id) | none: a [metadata document](Self::client_metadata_url) if the authorization server supports it, then dynamic registration |
/// | [`issuer`](Self::issuer) | each authorization server that the MCP server names |
/// | [`scopes`](Self::scopes) | those that the MCP server names |
/// | [`token_store`](Self::token_store) | in memory |
/// | [`request_timeout`](Self::request_timeout) | 10 seconds |
/// | [`user_timeout`](Self::user_timeout) | 5 minutes |
///
/// One `OAuth` is the identity of one user or program at the MCP server. All service calls share it. For a token per
/// user, build one [`McpTools`](crate::McpTools) per user, or set [`call_headers`](crate::RemoteServer::call_headers).
///
/// # Examples
///
/// ```
/// use ai_services::mcp::{OAuth, RemoteServer};
/// # async fn wait_for_the_redirect() -> ai_services::Result<String> { unimplemented!() }
///
/// let login = OAuth::authorization_code("http://127.0.0.1:8976/callback", |request| async move {
///     println!("{} needs your consent: {}", request.server, request.url);
///     // A listener on the redirect URI, started before, returns the URL that the browser requested.
///     wait_for_the_redirect().await
/// })
/// .client_name("Booking assistant");
/// let crm = RemoteServer::http("crm", "https://crm.example/mcp").oauth(login);
/// # let _ = crm;
/// ```
///
/// # Security
///
/// - Access tokens are sent to the URL of the MCP server only, and redirects are not followed.
/// - All URLs of authorization servers must be `https`. If the MCP server has a loopback address, `http` URLs with a
///   loopback address are accepted, too. Metadata may redirect within its origin; no other redirect is followed.
/// - Metadata of another issuer or another resource is refused. The redirect must have the `state` of its request, and
///   the issuer of the authorization server if it has one (RFC 9207).
/// - Tokens are requested for the MCP server only (RFC 8707), and are kept per issuer and MCP server.
/// - A document of an authorization server has at most 256 KiB.
/// - No token, code, secret or URL of a request for consent is in errors, `Debug` or logs.
///
/// # Errors
///
/// Requests of a server that is not authorized fail with [`ErrorKind::Authentication`] if the user or a server refuses,
/// [`ErrorKind::InvalidResponse`] for unusable or forged metadata, [`ErrorKind::Timeout`], [`ErrorKind::Connection`] or
/// [`ErrorKind::Unavailable`] if an authorization server does not answer, [`ErrorKind::Configuration`] for settings
/// that do not fit to the server, and with the errors of the [`TokenStore`] and of the function that asks the user.
///
/// [`ErrorKind::Authentication`]: ai_services_core::ErrorKind::Authentication
/// [`ErrorKind::InvalidResponse`]: ai_services_core::ErrorKind::InvalidResponse
/// [`ErrorKind::Timeout`]: ai_services_core::ErrorKind::Timeout
/// [`ErrorKind::Connection`]: ai_services_core::ErrorKind::Connection
/// [`ErrorKind::Unavailable`]: ai_services_core::ErrorKind::Unavailable
/// [`ErrorKind::Configuration`]: ai_services_core::ErrorKind::Configuration
#[derive(Clone)]
#[must_use]
pub struct OAuth {
    pub(super) grant: Grant,
    pub(super) client: Client,
    pub(super) issuer: Option<String>,
    pub(super) scopes: Option<Vec<String>>,
    pub(super) store: Arc<dyn TokenStore>,
    pub(super) request_timeout: Duration,
    pub(super) user_timeout: Duration,
}

/// The source of tokens.
#[derive(Clone)]
pub(super) enum Grant {
    AuthorizationCode {
        redirect_uri: String,
        authorize: Authorize,
    },
    ClientCredentials {
        secret: String,
    },
    /// The credentials of the client are a key, as PEM.
    PrivateKey {
        pem: Arc<[u8]>,
    },
}

/// The identity of the client.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) id: Option<String>,
    pub(super) secret: Option<String>,
    pub(super) metadata_url: Option<String>,
    pub(super) name: String,
}

/// A request for the consent of the user.
///
/// `Debug` shows neither the URL nor the state.
#[derive(Clone)]
#[non_exhaustive]
pub struct AuthorizationRequest {
    /// The name of the MCP server, as the application configured it.
    pub server: String,
    /// The issuer of the authorization server. Show it: the MCP server has chosen it.
    pub issuer: String,
    /// The requested scopes. Empty if the authorization server decides.
    pub scopes: Vec<String>,
    /// The web page to open in the browser of the user.
    pub url: String,
    /// The URI that the browser is redirected to.
    pub redirect_uri: String,
    /// The parameter `state` of the redirect: a web backend finds the waiting request by it.
    pub state: String,
}

impl OAuth {
    /// Creates an authorization by the user, in a browser.
    ///
    /// `authorize` opens [`AuthorizationRequest::url`] in the browser of the user. It returns the URL that the
    /// browser was redirected to, with its query, or an error if the user does not consent. It is called again by the
    /// next request that needs consent, and at most once at a time.
    ///
    /// - A program with a terminal listens on a loopback address and uses it as `redirect_uri`.
    /// - A web backend keeps a channel per [`AuthorizationRequest::state`], on which the handler of `redirect_uri`
    ///   sends its URL.
    ///
    /// # Cancellation
    ///
    /// The future of `authorize` is dropped with the last request that waits for it, and at the
    /// [`user_timeout`](Self::user_timeout).
    pub fn authorization_code<F, Fut>(redirect_uri: impl Into<String>, authorize: F) -> Self
    where
        F: Fn(AuthorizationRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String>> + Send + 'static,
    {
        let authorize: Authorize = Arc::new(move |request| authorize(request).boxed());
        Self::new(Grant::AuthorizationCode { redirect_uri: redirect_uri.into(), authorize })
    }

    /// Creates an authorization of the program itself, with a secret of its registration, without a user.
    ///
    /// Set the [`issuer`](Self::issuer), too: otherwise the secret is sent to each authorization server that the MCP
    /// server names.
    pub fn client_credentials(client_id: impl Into<String>, secret: impl Into<String>) -> Self {
        Self::new(Grant::ClientCredentials { secret: secret.into() }).client_id(client_id)
    }

    /// Creates an authorization of the program itself, with assertions that it signs (`private_key_jwt`), without a
    /// user and without a shared secret.
    ///
    /// `pem` is a private key in the format PEM: an RSA key for RS256, or a key of the curve P-256 or P-384 for ES256
    /// or ES384. An assertion names the issuer of the authorization server, and is valid for 5 minutes.
    pub fn private_key_jwt(client_id: impl Into<String>, pem: impl AsRef<[u8]>) -> Self {
        Self::new(Grant::PrivateKey { pem: pem.as_ref().into() }).client_id(client_id)
    }

    fn new(grant: Grant) -> Self {
        Self {
            grant,
            client: Client {
                id: None,
                secret: None,
                metadata_url: None,
                name: "ai-services".to_owned(),
            },
            issuer: None,
            scopes: None,
            store: Arc::new(InMemoryTokens::default()),
            request_timeout: Duration::from_secs(10),
            user_timeout: Duration::from_secs(300),
        }
    }

    /// Sets the id of a registration that was made before. Default: none.
    pub fn client_id(mut self, id: impl Into<String>) -> Self {
        self.client.id = Some(id.into());
        self
    }

    /// Sets the secret of the registration with the [`client_id`](Self::client_id). Default: none, as for programs on
    /// the machine of the user.
    ///
    /// Set the [`issuer`](Self::issuer), too: otherwise the secret is sent to each authorization server that the MCP
    /// server names.
    pub fn client_secret(mut self, secret: impl Into<String>) -> Self {
        self.client.secret = Some(secret.into());
        self
    }

    /// Sets the `https` URL of a client id metadata document that the application publishes. It is the id of the
    /// client if there is no [`client_id`](Self::client_id), and if the authorization server supports it. Default:
    /// none.
    pub fn client_metadata_url(mut self, url: impl Into<String>) -> Self {
        self.client.metadata_url = Some(url.into());
        self
    }

    /// Sets the name of the client in a dynamic registration, which the user sees. Default: `ai-services`.
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.client.name = name.into();
        self
    }

    /// Accepts only the authorization server with this issuer. Default: each one that the MCP server names.
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// Requests these scopes at first. Default: those that the MCP server names in its refusal, or else in its
    /// metadata.
    ///
    /// `offline_access` is added if the authorization server lists it. Scopes that the MCP server requires later are
    /// requested in addition.
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = Some(scopes.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the store of the credentials. Default: in memory, for this server.
    pub fn token_store(mut self, store: impl TokenStore + 'static) -> Self {
        self.store = Arc::new(store);
        self
    }

    /// Sets the time limit of one request of an authorization server. Default: 10 seconds.
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.request_timeout = timeout;
        self
    }

    /// Sets the time limit for the consent of the user. Default: 5 minutes.
    ///
    /// The time limits of connections and calls do not run meanwhile, except for
    /// [`RemoteServer::total_timeout`](crate::RemoteServer::total_timeout).
    pub fn user_timeout(mut self, timeout: Duration) -> Self {
        self.user_timeout = timeout;
        self
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth").finish_non_exhaustive()
    }
}

impl fmt::Debug for AuthorizationRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthorizationRequest")
            .field("server", &self.server)
            .field("issuer", &self.issuer)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
