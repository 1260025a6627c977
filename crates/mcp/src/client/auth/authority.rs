//! One authorization server, for one MCP server.

use super::assertion::assertion;
use super::credentials::{CredentialKey, OAuthCredentials, renew_at};
use super::failure::{NO_ISSUER, refused, step_error};
use super::fetch::Fetch;
use super::oauth::{Grant, OAuth};
use super::redirect::{self, Redirect};
use ai_services_core::{Error, ErrorKind, Result};
use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, ClientCredentialsConfig,
    CredentialStore, InMemoryCredentialStore, OAuthClientConfig, StoredCredentials,
};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

/// The endpoints of an authorization server, and the registration of the client there.
pub(super) struct Authority {
    pub(super) key: CredentialKey,
    manager: AuthorizationManager,
    metadata: AuthorizationMetadata,
    /// The tokens of the SDK.
    tokens: InMemoryCredentialStore,
    fetch: Arc<Fetch>,
    client: Option<Registration>,
}

/// The identity of the client at the authorization server.
#[derive(Clone)]
struct Registration {
    id: String,
    secret: Option<String>,
    redirect_uri: Option<String>,
}

/// A page that asks the user for consent.
pub(super) struct Consent {
    pub(super) url: String,
    pub(super) state: String,
}

/// The outcome of the renewal of a token.
pub(super) enum Refresh {
    Renewed(OAuthCredentials),
    /// There is no refresh token, or the authorization server rejects it.
    TokenRejected,
    /// The authorization server rejects the request, for example because it has forgotten the client.
    ClientRejected,
}

/// The token response that the SDK keeps.
#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    refresh_token: Option<String>,
    expires_in: Option<u64>,
}

impl Authority {
    /// Discovers the authorization server that an MCP server names.
    ///
    /// `challenge` is the header `WWW-Authenticate` of its refusal.
    ///
    /// # Errors
    ///
    /// Fails if no metadata is found, or if it belongs to another issuer or resource.
    pub(super) async fn discover(oauth: &OAuth, server: &Url, challenge: &str) -> Result<Self> {
        let fetch = Arc::new(Fetch::new(server, oauth.request_timeout)?);
        let failed = |error: AuthError| fetch.take_failure().unwrap_or_else(|| step_error(&error));
        let http = Arc::clone(&fetch);
        let manager = AuthorizationManager::new_with_oauth_http_client(server.as_str(), http).await;
        let mut manager = manager.map_err(failed)?;
        let tokens = InMemoryCredentialStore::new();
        manager.set_credential_store(tokens.clone());
        let found = manager.resolve_metadata_from_challenge(Some(challenge)).await;
        let found = found.map_err(failed)?;
        if !found.source.is_discovered() {
            let message = "the server names no authorization server";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let metadata = found.metadata;
        for endpoint in [&metadata.authorization_endpoint, &metadata.token_endpoint] {
            fetch.check(&parse(endpoint)?)?;
        }
        let Some(issuer) = metadata.issuer.clone() else {
            return Err(Error::new(ErrorKind::InvalidResponse, NO_ISSUER));
        };
        if oauth.issuer.as_ref().is_some_and(|only| !is_same_issuer(only, &issuer)) {
            return Err(refused("the server names an authorization server that is not configured"));
        }
        manager.set_metadata(metadata.clone());
        let key = CredentialKey { issuer, resource: resource(server) };
        Ok(Self { key, manager, metadata, tokens, fetch, client: None })
    }

    /// Returns the scopes of the first request.
    pub(super) async fn initial_scopes(&self, oauth: &OAuth) -> Vec<String> {
        let Some(scopes) = &oauth.scopes else {
            return self.manager.select_initial_scopes(&[]).await;
        };
        let mut scopes = scopes.clone();
        let supported = self.metadata.scopes_supported.iter().flatten();
        if supported.into_iter().any(|scope| scope == "offline_access") {
            add_scope(&mut scopes, "offline_access");
        }
        scopes
    }

    /// Renews the token of known credentials.
    pub(super) async fn refresh(
        &mut self,
        oauth: &OAuth,
        known: &OAuthCredentials,
    ) -> Result<Refresh> {
        let Some(refresh_token) = &known.refresh_token else { return Ok(Refresh::TokenRejected) };
        let is_configured = oauth.client.id.is_some();
        let secret = if is_configured { &oauth.client.secret } else { &known.client_secret };
        self.configure(Registration {
            id: known.client_id.clone(),
            secret: secret.clone(),
            redirect_uri: known.redirect_uri.clone(),
        })?;
        let response = serde_json::json!({
            "access_token": known.access_token,
            "refresh_token": refresh_token,
            "token_type": "bearer",
        });
        let response = serde_json::from_value(response).map_err(|_| unreadable_tokens())?;
        let (id, scopes) = (known.client_id.clone(), known.scopes.clone());
        let stored = StoredCredentials::new(id, Some(response), scopes, None);
        self.tokens.save(stored).await.map_err(|error| step_error(&error))?;
        match self.manager.refresh_token().with_subscriber(NoSubscriber::new()).await {
            Ok(_) => self.issued(known.scopes.clone()).await.map(Refresh::Renewed),
            Err(AuthError::TokenRefreshRejected(_) | AuthError::AuthorizationRequired) => {
                Ok(Refresh::TokenRejected)
            }
            // Without a failed request, the authorization server has answered with another error.
            Err(_) => self.fetch.take_failure().map_or(Ok(Refresh::ClientRejected), Err),
        }
    }

    /// Identifies the client, and returns the page that asks the user for consent.
    ///
    /// A registration of `known` credentials with the same redirect URI is used again.
    pub(super) async fn consent(
        &mut self,
        oauth: &OAuth,
        redirect_uri: &str,
        known: Option<&OAuthCredentials>,
        scopes: &[String],
    ) -> Result<Consent> {
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        self.identify(oauth, redirect_uri, known, &scopes).await?;
        let url = self.manager.get_authorization_url(&scopes).await;
        let url = url.map_err(|error| self.failed(&error))?;
        let Some(state) = redirect::parameter(&parse(&url)?, "state")? else {
            return Err(refused("the request for consent has no state"));
        };
        Ok(Consent { url, state })
    }

    /// Exchanges the code of a redirect for tokens.
    pub(super) async fn exchange(
        &self,
        consent: &Consent,
        redirect: &Redirect,
        scopes: Vec<String>,
    ) -> Result<OAuthCredentials> {
        let (code, issuer) = (&redirect.code, redirect.issuer.as_deref());
        let exchange =
            self.manager.exchange_code_for_token_with_issuer(code, &consent.state, issuer);
        // The SDK logs the code.
        let exchanged = exchange.with_subscriber(NoSubscriber::new()).await;
        exchanged.map_err(|error| match error {
            AuthError::AuthorizationServerMismatch { .. }
            | AuthError::AuthorizationServerMissingIssuer { .. } => {
                refused("the redirect is not from the authorization server")
            }
            error => self.failed(&error),
        })?;
        self.issued(scopes).await
    }

    /// Requests a token with the credentials of the client.
    pub(super) async fn client_credentials(
        &mut self,
        oauth: &OAuth,
        secret: &str,
        scopes: Vec<String>,
    ) -> Result<OAuthCredentials> {
        let id = oauth.client.id.clone().unwrap_or_default();
        let config = ClientCredentialsConfig::ClientSecret {
            client_id: id.clone(),
            client_secret: secret.to_owned(),
            scopes: scopes.clone(),
            resource: Some(self.key.resource.clone()),
        };
        let configured = self
            .manager
            .validate_client_credentials_metadata(&config)
            .and_then(|()| self.manager.configure_client_credentials(&config));
        configured.map_err(|error| step_error(&error))?;
        self.client = Some(Registration { id, secret: None, redirect_uri: None });
        let exchange = self.manager.exchange_client_credentials(&config);
        let exchanged = exchange.with_subscriber(NoSubscriber::new()).await;
        exchanged.map_err(|error| self.failed(&error))?;
        self.issued(scopes).await
    }

    /// Requests a token with an assertion that the client signs. The SDK would do this with a library in C.
    pub(super) async fn private_key_jwt(
        &mut self,
        oauth: &OAuth,
        pem: &[u8],
        scopes: Vec<String>,
    ) -> Result<OAuthCredentials> {
        let id = oauth.client.id.clone().unwrap_or_default();
        let assertion = assertion(&id, &self.key.issuer, pem)?;
        let scope = scopes.join(" ");
        let mut parameters = vec![
            ("grant_type", "client_credentials"),
            ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            ("client_assertion", assertion.as_str()),
            ("resource", self.key.resource.as_str()),
        ];
        if !scope.is_empty() {
            parameters.push(("scope", scope.as_str()));
        }
        let endpoint = &self.metadata.token_endpoint;
        let (is_success, body) = self.fetch.request_token(endpoint, &parameters).await?;
        if !is_success {
            return Err(refused("the authorization server rejects the assertion of the client"));
        }
        let response = serde_json::from_slice(&body).map_err(|_| unreadable_tokens())?;
        self.client = Some(Registration { id, secret: None, redirect_uri: None });
        self.credentials(response, scopes)
    }

    /// Sets the registration of the client: configured, known, a metadata document, or a new one.
    async fn identify(
        &mut self,
        oauth: &OAuth,
        redirect_uri: &str,
        known: Option<&OAuthCredentials>,
        scopes: &[&str],
    ) -> Result<()> {
        let client = &oauth.client;
        let redirect_uri = redirect_uri.to_owned();
        if let Some(id) = client.id.clone() {
            return self.configure(Registration {
                id,
                secret: client.secret.clone(),
                redirect_uri: Some(redirect_uri),
            });
        }
        if let Some(known) =
            known.filter(|known| known.redirect_uri.as_ref() == Some(&redirect_uri))
        {
            let (id, secret) = (known.client_id.clone(), known.client_secret.clone());
            return self.configure(Registration { id, secret, redirect_uri: Some(redirect_uri) });
        }
        let flag = self.metadata.additional_fields.get("client_id_metadata_document_supported");
        let takes_documents = flag.and_then(serde_json::Value::as_bool) == Some(true);
        if let Some(id) = client.metadata_url.clone().filter(|_| takes_documents) {
            return self.configure(Registration {
                id,
                secret: None,
                redirect_uri: Some(redirect_uri),
            });
        }
        self.register(oauth, redirect_uri, scopes).await
    }

    async fn register(
        &mut self,
        oauth: &OAuth,
        redirect_uri: String,
        scopes: &[&str],
    ) -> Result<()> {
        let Some(endpoint) = &self.metadata.registration_endpoint else {
            return Err(Error::configuration(
                "the authorization server does not register clients; set `OAuth::client_id`",
            ));
        };
        self.fetch.check(&parse(endpoint)?)?;
        // Sets the type of the application, which the SDK sends in the registration.
        self.configure(Registration {
            id: oauth.client.name.clone(),
            secret: None,
            redirect_uri: Some(redirect_uri.clone()),
        })?;
        let registered =
            self.manager.register_client(&oauth.client.name, &redirect_uri, scopes).await;
        let registered = registered.map_err(|error| self.failed(&error))?;
        self.client = Some(Registration {
            id: registered.client_id,
            secret: registered.client_secret,
            redirect_uri: Some(redirect_uri),
        });
        Ok(())
    }

    fn configure(&mut self, client: Registration) -> Result<()> {
        let redirect_uri = client.redirect_uri.clone().unwrap_or_else(|| self.key.resource.clone());
        let is_web = redirect_uri.starts_with("https:");
        let mut config = OAuthClientConfig::new(client.id.clone(), redirect_uri)
            .with_application_type(if is_web { "web" } else { "native" });
        config.client_secret = client.secret.clone();
        self.manager.configure_client(config).map_err(|error| step_error(&error))?;
        self.client = Some(client);
        Ok(())
    }

    /// Returns the tokens that the SDK got last.
    async fn issued(&self, scopes: Vec<String>) -> Result<OAuthCredentials> {
        let stored = self.tokens.load().await.map_err(|error| step_error(&error))?;
        let response = stored.and_then(|stored| stored.token_response);
        let response = serde_json::to_value(response).map_err(|_| unreadable_tokens())?;
        let response: TokenResponse =
            serde_json::from_value(response).map_err(|_| unreadable_tokens())?;
        self.credentials(response, scopes)
    }

    fn credentials(
        &self,
        response: TokenResponse,
        scopes: Vec<String>,
    ) -> Result<OAuthCredentials> {
        let Some(client) = &self.client else { return Err(unreadable_tokens()) };
        let expires_in = response.expires_in.map(Duration::from_secs);
        Ok(OAuthCredentials {
            issuer: self.key.issuer.clone(),
            client_id: client.id.clone(),
            client_secret: client.secret.clone(),
            redirect_uri: client.redirect_uri.clone(),
            access_token: response.access_token,
            refresh_token: response.refresh_token,
            scopes,
            renew_at: expires_in.map(renew_at),
        })
    }

    fn failed(&self, error: &AuthError) -> Error {
        self.fetch.take_failure().unwrap_or_else(|| step_error(error))
    }
}

impl OAuth {
    /// Returns `true` if credentials of a store belong to this identity of the client.
    pub(super) fn accepts(&self, known: &OAuthCredentials, key: &CredentialKey) -> bool {
        let id = self.client.id.as_ref();
        known.issuer == key.issuer
            && id.is_none_or(|id| *id == known.client_id)
            && (id.is_some() || matches!(self.grant, Grant::AuthorizationCode { .. }))
    }
}

/// Adds a scope, unless it is in the list.
pub(super) fn add_scope(scopes: &mut Vec<String>, scope: &str) {
    if !scopes.iter().any(|known| known == scope) {
        scopes.push(scope.to_owned());
    }
}

/// A slash at the end does not count.
fn is_same_issuer(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// Returns the URL of an MCP server without a password and a fragment.
fn resource(server: &Url) -> String {
    let mut resource = server.clone();
    resource.set_fragment(None);
    // Possible for each URL with a host, which an HTTP URL has.
    let _ = resource.set_username("").and_then(|()| resource.set_password(None));
    resource.to_string()
}

fn parse(url: &str) -> Result<Url> {
    Url::parse(url).map_err(|_| {
        Error::new(ErrorKind::InvalidResponse, "the authorization server has an invalid URL")
    })
}

fn unreadable_tokens() -> Error {
    Error::new(ErrorKind::InvalidResponse, "the tokens of the authorization server are unreadable")
}
