//! The tokens of one MCP server, for all of its connections.

use super::authorized::{self, Authorized, Cause, Context, Origin};
use super::failure::{refused, transport_error};
use super::oauth::OAuth;
use crate::client::unauthorized::Unauthorized;
use crate::client::user_wait::UserWait;
use ai_services_core::{Error, Result};
use futures_util::future::{BoxFuture, FutureExt, Shared, WeakShared};
use reqwest::Url;
use rmcp::transport::auth::WWWAuthenticateParams;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most tokens that are got for one request.
const MAX_RENEWALS: usize = 4;

type HttpError = StreamableHttpError<reqwest::Error>;
type Renewal = BoxFuture<'static, Result<Authorized, Unauthorized>>;

/// Adds tokens to the requests of one MCP server. At most one token is got at a time.
pub(in crate::client) struct Session {
    settings: Settings,
    state: Mutex<State>,
}

struct Settings {
    server: String,
    url: String,
    oauth: OAuth,
    user_wait: UserWait,
}

#[derive(Default)]
struct State {
    current: Option<Authorized>,
    /// Shared by all requests that wait for a token, and dropped with the last of them.
    renewal: Option<WeakShared<Renewal>>,
}

impl Session {
    pub(in crate::client) fn new(
        server: &str,
        url: &str,
        oauth: OAuth,
        user_wait: UserWait,
    ) -> Self {
        let (server, url) = (server.to_owned(), url.to_owned());
        let settings = Settings { server, url, oauth, user_wait };
        Self { settings, state: Mutex::default() }
    }

    /// Sends a request with a token. Gets a new one if the server refuses it, and sends the request again: a refused
    /// request was not processed.
    ///
    /// # Errors
    ///
    /// Fails if the request fails, and with an [`Unauthorized`] if no token can be got.
    pub(in crate::client) async fn authorized<T, Fut>(
        &self,
        send: impl Fn(Option<String>) -> Fut,
    ) -> Result<T, HttpError>
    where
        Fut: Future<Output = Result<T, HttpError>>,
    {
        let mut token = self.token().await;
        let mut origin = None;
        for renewals in 0..=MAX_RENEWALS {
            let outcome = send(token.clone()).await;
            let cause = match outcome.as_ref().err().and_then(Refusal::of) {
                Some(Refusal::Unauthorized { challenge }) if origin != Some(Origin::Grant) => {
                    let may_refresh = origin != Some(Origin::Refresh);
                    Cause::Rejected { challenge, token: token.clone(), may_refresh }
                }
                Some(Refusal::InsufficientScope { challenge }) => {
                    Cause::InsufficientScope { challenge }
                }
                Some(Refusal::Unauthorized { .. }) | None => return outcome,
            };
            if renewals == MAX_RENEWALS {
                break;
            }
            let renewed = self.renewed(token.as_deref(), cause).await;
            let renewed = renewed.map_err(transport_error)?;
            token = renewed.token().map(str::to_owned);
            origin = Some(renewed.origin);
        }
        let error = refused("the server refused each token that its authorization server issued");
        Err(transport_error(Unauthorized::new(&error)))
    }

    /// Returns the token for a request, renewed if it is near its end. `None` before the first refusal of the server.
    ///
    /// If it cannot be renewed, it is used as long as the server accepts it.
    pub(in crate::client) async fn token(&self) -> Option<String> {
        let current = self.state().current.clone()?;
        let is_fresh = current.credentials.as_ref().is_none_or(|known| known.is_fresh());
        if is_fresh {
            return current.token().map(str::to_owned);
        }
        let renewed = self.renewed(current.token(), Cause::Expired).await;
        let renewed = renewed.unwrap_or_else(|failure| {
            tracing::warn!(%failure, "the token of an MCP server cannot be renewed");
            current
        });
        renewed.token().map(str::to_owned)
    }

    /// Returns a token that replaces `used`. Waits for a renewal that is under way.
    async fn renewed(&self, used: Option<&str>, cause: Cause) -> Result<Authorized, Unauthorized> {
        let renewal = {
            let mut state = self.state();
            if let Some(newer) = &state.current
                && newer.token().is_some()
                && newer.token() != used
            {
                return Ok(newer.clone());
            }
            let under_way = state.renewal.as_ref().and_then(WeakShared::upgrade);
            under_way.unwrap_or_else(|| {
                let renewal = self.settings.renewal(state.current.clone(), cause);
                state.renewal = renewal.downgrade();
                renewal
            })
        };
        let outcome = renewal.clone().await;
        let mut state = self.state();
        let under_way = state.renewal.as_ref().and_then(WeakShared::upgrade);
        if under_way.is_some_and(|under_way| under_way.ptr_eq(&renewal)) {
            state.renewal = None;
            if let Ok(authorized) = &outcome {
                state.current = Some(authorized.clone());
            }
        }
        drop(state);
        outcome
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Settings {
    fn renewal(&self, current: Option<Authorized>, cause: Cause) -> Shared<Renewal> {
        let (server, oauth) = (self.server.clone(), self.oauth.clone());
        let (url, user_wait) = (Url::parse(&self.url), self.user_wait.clone());
        let renewal = async move {
            let url = url.map_err(|_| {
                Unauthorized::new(&Error::configuration("invalid URL of an MCP server"))
            })?;
            let context = Context { server, url, oauth, user_wait };
            let renewed = AssertUnwindSafe(authorized::renew(&context, current, cause));
            // The connection, which runs the code of the application here, serves other calls, too.
            let renewed = renewed.catch_unwind().await.unwrap_or_else(|_| {
                Err(refused("the function that asks the user, or the token store, panicked"))
            });
            renewed.map_err(|error| Unauthorized::new(&error))
        };
        renewal.boxed().shared()
    }
}

/// The refusal of a request that was not processed.
enum Refusal {
    Unauthorized { challenge: String },
    InsufficientScope { challenge: String },
}

impl Refusal {
    /// Returns `None` for any other failure.
    fn of(error: &HttpError) -> Option<Self> {
        match error {
            HttpError::AuthRequired(error) => {
                Some(Self::Unauthorized { challenge: error.www_authenticate_header.clone() })
            }
            // The SDK reports each status 403 with a challenge like this.
            HttpError::InsufficientScope(error)
                if is_insufficient_scope(&error.www_authenticate_header) =>
            {
                Some(Self::InsufficientScope { challenge: error.www_authenticate_header.clone() })
            }
            // A server without a challenge can have metadata at the well-known address.
            HttpError::UnexpectedServerResponse(text) if text.starts_with("HTTP 401 ") => {
                Some(Self::Unauthorized { challenge: String::new() })
            }
            _ => None,
        }
    }
}

fn is_insufficient_scope(challenge: &str) -> bool {
    Url::parse("https://localhost")
        .is_ok_and(|base| WWWAuthenticateParams::parse(challenge, &base).is_insufficient_scope())
}
