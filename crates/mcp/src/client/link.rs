//! The connection to a server over time: opened when it is needed, and again after it broke.

use super::connection::Connection;
use super::remote_server::RemoteServer;
use ai_services_core::{Error, ErrorKind, Result};
use futures_util::future::{BoxFuture, FutureExt, Shared};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// The first pause between failed attempts. Each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The longest pause between failed attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The longest wait of a caller for the end of a pause.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// A connection that breaks earlier counts as a failed attempt.
const STABLE: Duration = Duration::from_secs(10);

/// The link to one server. At most one connection is open or being opened.
pub(super) struct Link {
    pub(super) server: Arc<RemoteServer>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: Option<(Arc<Connection>, Instant)>,
    opening: Option<Shared<Opening>>,
    failed_attempts: u32,
    last_failure: Option<ConnectFailure>,
    retry_at: Option<Instant>,
}

type Opening = BoxFuture<'static, Result<Arc<Connection>, ConnectFailure>>;

/// The error of a connection attempt, for all callers that waited for it.
#[derive(Clone)]
struct ConnectFailure(ErrorKind, Arc<str>);

/// The treatment of a pause after failed attempts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    /// Fails at once.
    Fail,
    /// Waits, but at most 5 seconds.
    Wait,
}

impl Link {
    pub(super) fn new(server: RemoteServer) -> Self {
        Self { server: Arc::new(server), state: Mutex::default() }
    }

    /// Returns the open connection, or opens one.
    pub(super) async fn connection(&self, pause: Pause) -> Result<Arc<Connection>> {
        if let Some(open) = self.open_connection() {
            return Ok(open);
        }
        self.wait_for_retry(pause).await?;
        let opening = self.opening();
        let outcome = opening.clone().await;
        let mut state = self.state();
        if state.opening.as_ref().is_some_and(|current| current.ptr_eq(&opening)) {
            state.opening = None;
            match &outcome {
                Ok(connection) => state.open = Some((Arc::clone(connection), Instant::now())),
                Err(failure) => state.fail(Some(failure.clone())),
            }
        }
        drop(state);
        outcome.map_err(ConnectFailure::into_error)
    }

    /// Sends requests that change nothing. They are sent again on another connection if theirs broke.
    pub(super) async fn read<T, F>(
        &self,
        pause: Pause,
        send: impl Fn(Arc<Connection>) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let connection = self.connection(pause).await?;
        let answer = send(Arc::clone(&connection)).await;
        if answer.is_err() && !connection.is_open() {
            return send(self.connection(pause).await?).await;
        }
        answer
    }

    /// Returns the connection if it is open.
    pub(super) fn open_connection(&self) -> Option<Arc<Connection>> {
        let mut state = self.state();
        let (connection, since) = state.open.as_ref()?;
        if connection.is_open() {
            return Some(Arc::clone(connection));
        }
        let was_stable = since.elapsed() >= STABLE;
        let closed = state.open.take();
        if was_stable {
            state.failed_attempts = 0;
        } else {
            state.fail(None);
        }
        drop(state);
        drop(closed);
        None
    }

    /// Closes this connection, if it is still in use, so that the next call opens another one.
    pub(super) fn discard(&self, broken: &Arc<Connection>) {
        let mut state = self.state();
        if state.open.as_ref().is_some_and(|(open, _)| Arc::ptr_eq(open, broken)) {
            state.open = None;
        }
    }

    async fn wait_for_retry(&self, pause: Pause) -> Result<()> {
        let now = Instant::now();
        let (retry_at, failure) = {
            let state = self.state();
            (state.retry_at.filter(|at| *at > now), state.last_failure.clone())
        };
        let Some(retry_at) = retry_at else { return Ok(()) };
        if pause == Pause::Wait && retry_at <= now + LONGEST_WAIT {
            sleep_until(retry_at).await;
            return Ok(());
        }
        let name = &self.server.name;
        Err(failure.map_or_else(
            || {
                let message = format!("the connection to MCP server `{name}` broke");
                Error::new(ErrorKind::Connection, message)
            },
            ConnectFailure::into_error,
        ))
    }

    /// Returns the attempt that is under way, or a new one.
    fn opening(&self) -> Shared<Opening> {
        let mut state = self.state();
        state
            .opening
            .get_or_insert_with(|| {
                let server = Arc::clone(&self.server);
                let open = async move {
                    let connection = Connection::open(&server).await;
                    connection.map(Arc::new).map_err(|error| ConnectFailure::new(&error))
                };
                open.boxed().shared()
            })
            .clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn fail(&mut self, failure: Option<ConnectFailure>) {
        let factor = 1_u32 << self.failed_attempts.min(16);
        let pause = FIRST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE);
        self.failed_attempts = self.failed_attempts.saturating_add(1);
        self.retry_at = Some(Instant::now() + pause);
        self.last_failure = failure;
    }
}

impl ConnectFailure {
    fn new(error: &Error) -> Self {
        let source = std::error::Error::source(error);
        let text = source.map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
        Self(error.kind(), text.into())
    }

    fn into_error(self) -> Error {
        Error::new(self.0, self.1.to_string())
    }
}
