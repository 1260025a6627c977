//! Connections that reconnect when they break, and retries.

use super::error_mapping::{AttemptFailure, Stage};
use ai_services_core::store_kit::random;
use ai_services_core::{Error, Result};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use redis::aio::{ConnectionLike, ConnectionManager, MultiplexedConnection};
use redis::io::tcp::TcpSettings;
use redis::io::tcp::socket2::TcpKeepalive;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ErrorKind as DriverError, FromRedisValue,
    IntoConnectionInfo, Pipeline, RedisResult, ScriptInvocation, Value,
};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::sleep;

/// Maximum pauses before the second and the third attempt.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(250)];

/// TCP keep-alive time of an idle connection, so that a connection that a router has dropped or a dead server
/// is detected before the next request.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// A few connections, used in turn.
pub(super) struct Connections {
    slots: Box<[ConnectionSlot]>,
    next: AtomicUsize,
}

/// A request that can be sent repeatedly.
pub(super) enum Request {
    Pipeline(Pipeline),
    Script(ScriptInvocation<'static>),
}

/// Address and settings of a server.
pub(super) struct Target {
    client: Client,
    config: AsyncConnectionConfig,
}

/// A connection slot.
enum ConnectionSlot {
    /// Connection to the URL of the builder.
    ///
    /// Does not use the driver's `ConnectionManager`, which would keep an error such as a rejected password
    /// for good, and also a connection that does not answer any more.
    Owned { target: Box<Target>, current: Mutex<ConnectAttempt> },
    /// Connection of the application.
    External(ConnectionManager),
}

/// An attempt to connect, shared by all requests that wait for it.
type ConnectAttempt = Shared<BoxFuture<'static, RedisResult<MultiplexedConnection>>>;

impl Target {
    pub(super) fn new(url: &str, connect: Duration, response: Duration) -> Result<Self> {
        // The driver's error is discarded: it may repeat parts of the URL, including the password.
        let malformed = |_| {
            Error::configuration(
                "the URL of the Redis server is malformed; the format is \
                 `redis://user:password@host:port/database`, with `rediss` for TLS and \
                 percent-encoded special characters",
            )
        };
        let info = url.into_connection_info().map_err(malformed)?;
        let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 3);
        let tcp = TcpSettings::default().set_nodelay(true).set_keepalive(keepalive);
        let info = info.set_tcp_settings(tcp);
        if matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
            install_crypto_provider();
        }
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(connect))
            .set_response_timeout(Some(response));
        Ok(Self { client: Client::open(info).map_err(malformed)?, config })
    }

    fn attempt(&self) -> ConnectAttempt {
        let (client, config) = (self.client.clone(), self.config.clone());
        let connect =
            async move { client.get_multiplexed_async_connection_with_config(&config).await };
        connect.boxed().shared()
    }
}

/// Installs ring as the crypto provider of the process, unless there is one. The driver uses the default of
/// rustls, which panics if the program contains several providers and has not installed one.
fn install_crypto_provider() {
    use rustls::crypto::{CryptoProvider, ring};

    if CryptoProvider::get_default().is_none() {
        // Fails only if another thread has installed a provider in the meantime.
        let _ = ring::default_provider().install_default();
    }
}

impl Connections {
    /// Creates `count` connections to one server. They connect when they are first used.
    pub(super) fn lazy(target: impl Fn() -> Result<Target>, count: usize) -> Result<Self> {
        let slot = |_| {
            let target = Box::new(target()?);
            let current = Mutex::new(target.attempt());
            Ok(ConnectionSlot::Owned { target, current })
        };
        let slots = (0..count).map(slot).collect::<Result<_>>()?;
        Ok(Self { slots, next: AtomicUsize::new(0) })
    }

    pub(super) fn external(manager: ConnectionManager) -> Self {
        Self { slots: Box::new([ConnectionSlot::External(manager)]), next: AtomicUsize::new(0) }
    }

    pub(super) fn count(&self) -> usize {
        self.slots.len()
    }

    /// Sends a request and returns the answer. Retries on a new connection if that may help. The request must
    /// be idempotent, because an earlier answer may have been lost.
    pub(super) async fn request<T: FromRedisValue>(
        &self,
        action: &str,
        request: impl Into<Request>,
    ) -> Result<T> {
        self.request_noting_losses(action, request, || {}).await
    }

    /// Like [`request`](Self::request). Calls `lose_answer` for each attempt that failed although the server may
    /// have executed it.
    pub(super) async fn request_noting_losses<T: FromRedisValue>(
        &self,
        action: &str,
        request: impl Into<Request>,
        lose_answer: impl Fn(),
    ) -> Result<T> {
        let request = request.into();
        let mut pauses = PAUSES.into_iter();
        loop {
            let failure = match self.slot(action)?.request(&request).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            if failure.may_be_executed() {
                lose_answer();
            }
            match pauses.next().filter(|_| failure.should_retry()) {
                // Jitter: 50–100 % of the pause, because many requests may have lost the same connection.
                Some(pause) => {
                    sleep(pause.mul_f64(0.5 + (random() % 512) as f64 / 1024.0)).await;
                }
                None => return Err(failure.explain(action)),
            }
        }
    }

    fn slot(&self, action: &str) -> Result<&ConnectionSlot> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let slot = turn.checked_rem(self.slots.len()).and_then(|at| self.slots.get(at));
        slot.ok_or_else(|| Error::configuration(format!("cannot {action}: no connection")))
    }
}

impl ConnectionSlot {
    async fn request<T: FromRedisValue>(&self, request: &Request) -> Result<T, AttemptFailure> {
        let failed = |source| AttemptFailure { stage: Stage::Requesting, source };
        let value = match self {
            Self::External(manager) => request.send(&mut manager.clone()).await.map_err(failed)?,
            Self::Owned { target, current } => {
                let attempt = lock(current).clone();
                let renew = || {
                    let mut current = lock(current);
                    if current.ptr_eq(&attempt) {
                        *current = target.attempt();
                    }
                };
                let mut connection = attempt.clone().await.map_err(|source| {
                    renew();
                    AttemptFailure { stage: Stage::Connecting, source }
                })?;
                request.send(&mut connection).await.map_err(|source| {
                    let failure = failed(source);
                    if failure.is_connection_failure() {
                        renew();
                    }
                    failure
                })?
            }
        };
        T::from_redis_value(value).map_err(|source| {
            let source =
                (DriverError::UnexpectedReturnType, "unexpected answer", source.to_string());
            failed(source.into())
        })
    }
}

/// Locks the current attempt. Ignores poisoning, because no code that can panic runs while the lock is held.
fn lock(current: &Mutex<ConnectAttempt>) -> MutexGuard<'_, ConnectAttempt> {
    current.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Request {
    async fn send(&self, connection: &mut (impl ConnectionLike + Send)) -> RedisResult<Value> {
        match self {
            Self::Pipeline(pipeline) => pipeline.query_async(connection).await,
            Self::Script(script) => script.invoke_async(connection).await,
        }
    }
}

impl From<Pipeline> for Request {
    fn from(pipeline: Pipeline) -> Self {
        Self::Pipeline(pipeline)
    }
}

impl From<ScriptInvocation<'static>> for Request {
    fn from(script: ScriptInvocation<'static>) -> Self {
        Self::Script(script)
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections").field("count", &self.slots.len()).finish_non_exhaustive()
    }
}
