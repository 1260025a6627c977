//! The ways to a token.

use super::authority::{Authority, Refresh, add_scope};
use super::credentials::OAuthCredentials;
use super::failure::refused;
use super::oauth::{AuthorizationRequest, Authorize, Grant, OAuth};
use super::redirect;
use crate::client::user_wait::UserWait;
use ai_services_core::{Error, ErrorKind, Result};
use reqwest::Url;
use rmcp::transport::auth::WWWAuthenticateParams;
use tokio::time::timeout;

/// The settings of a session.
pub(super) struct Context {
    pub(super) server: String,
    pub(super) url: Url,
    pub(super) oauth: OAuth,
    pub(super) user_wait: UserWait,
}

/// The reason for a new token.
pub(super) enum Cause {
    /// The token is near its end.
    Expired,
    /// The server refused the token, or a request without one. The header `WWW-Authenticate`.
    Rejected { challenge: String, token: Option<String>, may_refresh: bool },
    /// The server requires more scopes. The header `WWW-Authenticate`.
    InsufficientScope { challenge: String },
}

/// A token, and the way to it.
#[derive(Clone)]
pub(super) struct Authorized {
    /// `None` if an expired token cannot be renewed without the user.
    pub(super) credentials: Option<OAuthCredentials>,
    pub(super) origin: Origin,
    /// The challenge that named the authorization server.
    challenge: String,
}

/// The way to a token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Store,
    Refresh,
    Grant,
}

impl Authorized {
    pub(super) fn token(&self) -> Option<&str> {
        self.credentials.as_ref().map(|credentials| credentials.access_token.as_str())
    }
}

/// Gets another token.
pub(super) async fn renew(
    context: &Context,
    current: Option<Authorized>,
    cause: Cause,
) -> Result<Authorized> {
    let known = current.as_ref().and_then(|current| current.credentials.clone());
    match (cause, current, known) {
        (Cause::Expired, Some(current), _) => refresh_expired(context, current).await,
        (Cause::Expired, None, _) => Err(refused("the server has not refused a request")),
        (Cause::Rejected { challenge, token, may_refresh }, ..) => {
            replace_rejected(context, challenge, token.as_deref(), may_refresh).await
        }
        (Cause::InsufficientScope { challenge }, _, Some(known)) => {
            step_up(context, challenge, &known).await
        }
        (Cause::InsufficientScope { challenge }, ..) => {
            replace_rejected(context, challenge, None, true).await
        }
    }
}

/// Renews a token near its end. If that needs the user, the server will refuse the next request.
async fn refresh_expired(context: &Context, current: Authorized) -> Result<Authorized> {
    let challenge = current.challenge.clone();
    let mut authority = Authority::discover(&context.oauth, &context.url, &challenge).await?;
    let known = load(context, &authority).await?;
    let (credentials, origin) = match known {
        // Another process has renewed them.
        Some(known) if known.is_fresh() => (Some(known), Origin::Store),
        Some(known) => match authority.refresh(&context.oauth, &known).await? {
            Refresh::Renewed(credentials) => {
                context.oauth.store.save(&authority.key, &credentials).await?;
                (Some(credentials), Origin::Refresh)
            }
            Refresh::TokenRejected | Refresh::ClientRejected => {
                if matches!(context.oauth.grant, Grant::AuthorizationCode { .. }) {
                    (None, Origin::Store)
                } else {
                    let scopes = known.scopes.clone();
                    return grant(context, &mut authority, challenge, None, scopes).await;
                }
            }
        },
        None => (None, Origin::Store),
    };
    Ok(Authorized { credentials, origin, challenge })
}

/// Replaces a token that the server refused: by a newer one of the store, a renewed one, or one by a new consent.
async fn replace_rejected(
    context: &Context,
    challenge: String,
    rejected: Option<&str>,
    may_refresh: bool,
) -> Result<Authorized> {
    let mut authority = Authority::discover(&context.oauth, &context.url, &challenge).await?;
    let mut known = load(context, &authority).await?;
    if let Some(stored) = known.clone() {
        if stored.is_fresh() && rejected != Some(stored.access_token.as_str()) {
            let credentials = Some(stored);
            return Ok(Authorized { credentials, origin: Origin::Store, challenge });
        }
        let refresh = if may_refresh {
            authority.refresh(&context.oauth, &stored).await?
        } else {
            Refresh::TokenRejected
        };
        match refresh {
            Refresh::Renewed(credentials) => {
                context.oauth.store.save(&authority.key, &credentials).await?;
                let credentials = Some(credentials);
                return Ok(Authorized { credentials, origin: Origin::Refresh, challenge });
            }
            Refresh::TokenRejected => {}
            // The client registers again.
            Refresh::ClientRejected => known = None,
        }
        context.oauth.store.delete(&authority.key).await?;
    }
    let scopes = authority.initial_scopes(&context.oauth).await;
    grant(context, &mut authority, challenge, known.as_ref(), scopes).await
}

/// Requests the scopes of the current token and those of the challenge.
async fn step_up(
    context: &Context,
    challenge: String,
    known: &OAuthCredentials,
) -> Result<Authorized> {
    let required = WWWAuthenticateParams::parse(&challenge, &context.url).scope.unwrap_or_default();
    let mut scopes = known.scopes.clone();
    for scope in required.split_whitespace() {
        add_scope(&mut scopes, scope);
    }
    if scopes == known.scopes {
        return Err(refused("the server rejects a token with the scopes that it requires"));
    }
    let mut authority = Authority::discover(&context.oauth, &context.url, &challenge).await?;
    let known = Some(known).filter(|known| context.oauth.accepts(known, &authority.key));
    grant(context, &mut authority, challenge, known, scopes).await
}

async fn load(context: &Context, authority: &Authority) -> Result<Option<OAuthCredentials>> {
    let known = context.oauth.store.load(&authority.key).await?;
    Ok(known.filter(|known| context.oauth.accepts(known, &authority.key)))
}

/// Gets a token by the consent of the user, or by the credentials of the client.
async fn grant(
    context: &Context,
    authority: &mut Authority,
    challenge: String,
    known: Option<&OAuthCredentials>,
    scopes: Vec<String>,
) -> Result<Authorized> {
    let oauth = &context.oauth;
    let credentials = match &oauth.grant {
        Grant::ClientCredentials { secret } => {
            authority.client_credentials(oauth, secret, scopes).await?
        }
        Grant::PrivateKey { pem } => authority.private_key_jwt(oauth, pem, scopes).await?,
        Grant::AuthorizationCode { redirect_uri, authorize } => {
            let consent = authority.consent(oauth, redirect_uri, known, &scopes).await?;
            let issuer = authority.key.issuer.clone();
            let request = AuthorizationRequest {
                server: context.server.clone(),
                issuer,
                scopes: scopes.clone(),
                url: consent.url.clone(),
                redirect_uri: redirect_uri.clone(),
                state: consent.state.clone(),
            };
            let redirect = ask(context, authorize, request).await?;
            let redirect = redirect::read(&redirect, &consent.state)?;
            authority.exchange(&consent, &redirect, scopes).await?
        }
    };
    oauth.store.save(&authority.key, &credentials).await?;
    let credentials = Some(credentials);
    Ok(Authorized { credentials, origin: Origin::Grant, challenge })
}

async fn ask(
    context: &Context,
    authorize: &Authorize,
    request: AuthorizationRequest,
) -> Result<String> {
    let _open = context.user_wait.open();
    let limit = context.oauth.user_timeout;
    timeout(limit, authorize(request)).await.unwrap_or_else(|_| {
        let message = format!("the user did not consent within {limit:?}");
        Err(Error::new(ErrorKind::Timeout, message))
    })
}
