//! A playground that listens.

use crate::access::{self, Token};
use crate::api::{self, ApiState};
use crate::page;
use ai_services_core::{Error, Result};
use ai_services_serve::ChatServer;
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::io;
use std::net::SocketAddr;
use tokio::net::TcpListener;

/// A playground that listens on a loopback address.
pub struct PlaygroundServer {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    token: Token,
}

impl PlaygroundServer {
    pub(crate) fn new(
        listener: TcpListener,
        chat: &ChatServer,
        api: ApiState,
        token: Token,
    ) -> Result<Self> {
        let address = listener.local_addr().map_err(|source| {
            Error::configuration("the address of the playground is unknown").with_source(source)
        })?;
        let router = Router::new()
            .route("/", get(page::html))
            .route("/style.css", get(page::style))
            .route("/app.js", get(page::script))
            .nest("/api", api::routes(api))
            .merge(chat.router())
            .layer(from_fn_with_state(token.clone(), access::check));
        Ok(Self { listener, address, router, token })
    }

    /// Returns the address of the page with its token, to be printed for the developer. The token is in the fragment,
    /// which browsers do not send. The token gives access to the services.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/#{}", self.address, self.token.as_str())
    }

    /// Returns the address that the playground listens on.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves the page until `shutdown` completes. Turns that run then are cancelled.
    ///
    /// # Errors
    ///
    /// Fails if the listener fails.
    pub async fn serve(self, shutdown: impl Future<Output = ()> + Send) -> io::Result<()> {
        tracing::warn!(address = %self.address, "the playground is on; it is for development only");
        tokio::select! {
            result = axum::serve(self.listener, self.router).into_future() => result,
            () = shutdown => Ok(()),
        }
    }
}

impl fmt::Debug for PlaygroundServer {
    /// Leaves out the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlaygroundServer").field("address", &self.address).finish_non_exhaustive()
    }
}
