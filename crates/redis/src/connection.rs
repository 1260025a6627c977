//! Connections that are made again when they break.

use super::error::{Failure, Stage};
use ai_services_core::memory::random;
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

/// The pauses before the second and the third attempt, at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(250)];

/// How soon an idle connection is probed, so that neither a router in between nor a dead server is
/// noticed only by the next turn.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// A few connections, used in turn.
pub(super) struct Connections {
    links: Box<[Link]>,
    next: AtomicUsize,
}

/// What the server is asked, as often as necessary.
pub(super) enum Request {
    Pipeline(Pipeline),
    Script(ScriptInvocation<'static>),
}

/// Where and how to connect.
pub(super) struct Target {
    client: Client,
    config: AsyncConnectionConfig,
}

enum Link {
    /// Of a URL. The driver's own manager for reconnecting would keep an answer such as a refused
    /// password for good, and a connection on which nothing is answered any more.
    Own {
        target: Box<Target>,
        current: Mutex<Attempt>,
    },
    Given(ConnectionManager),
}

/// One attempt to connect, which all who need it wait for.
type Attempt = Shared<BoxFuture<'static, RedisResult<MultiplexedConnection>>>;

impl Target {
    pub(super) fn new(url: &str, connect: Duration, response: Duration) -> Result<Self> {
        // The driver's error may repeat parts of the URL, and so of the password.
        let wrong = |_| {
            Error::configuration(
                "the URL of the Redis server cannot be used; write \
                 `redis://user:password@host:port/database`, with `rediss` for TLS, and \
                 percent-encode special characters",
            )
        };
        let info = url.into_connection_info().map_err(wrong)?;
        let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 3);
        let tcp = TcpSettings::default().set_nodelay(true).set_keepalive(keepalive);
        let info = info.set_tcp_settings(tcp);
        if matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
            install_crypto_provider();
        }
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(connect))
            .set_response_timeout(Some(response));
        Ok(Self { client: Client::open(info).map_err(wrong)?, config })
    }

    fn attempt(&self) -> Attempt {
        let (client, config) = (self.client.clone(), self.config.clone());
        let connect =
            async move { client.get_multiplexed_async_connection_with_config(&config).await };
        connect.boxed().shared()
    }
}

/// The driver asks rustls for the cryptography of the process, which panics if the program contains
/// more than one and has chosen none.
fn install_crypto_provider() {
    use rustls::crypto::{CryptoProvider, ring};

    if CryptoProvider::get_default().is_none() {
        // Fails only if somebody else was faster, which is as good.
        let _ = ring::default_provider().install_default();
    }
}

impl Connections {
    /// `count` connections to one server. None is made before it is needed.
    pub(super) fn to(target: impl Fn() -> Result<Target>, count: usize) -> Result<Self> {
        let link = |_| {
            let target = Box::new(target()?);
            let current = Mutex::new(target.attempt());
            Ok(Link::Own { target, current })
        };
        let links = (0..count).map(link).collect::<Result<_>>()?;
        Ok(Self { links, next: AtomicUsize::new(0) })
    }

    pub(super) fn given(manager: ConnectionManager) -> Self {
        Self { links: Box::new([Link::Given(manager)]), next: AtomicUsize::new(0) }
    }

    pub(super) fn count(&self) -> usize {
        self.links.len()
    }

    /// Asks, and asks again on a new connection if that may help. The request must be one that does
    /// no harm if it was answered before and the answer was lost.
    pub(super) async fn ask<T: FromRedisValue>(
        &self,
        what: &str,
        request: impl Into<Request>,
    ) -> Result<T> {
        let request = request.into();
        for pause in PAUSES {
            match self.link(what)?.ask(&request).await {
                Ok(answer) => return Ok(answer),
                Err(failure) if failure.is_worth_another_attempt() => {}
                Err(failure) => return Err(failure.explain(what)),
            }
            // Somewhere between the half and the whole: many callers have lost one connection.
            sleep(pause.mul_f64(0.5 + (random() % 512) as f64 / 1024.0)).await;
        }
        self.link(what)?.ask(&request).await.map_err(|failure| failure.explain(what))
    }

    fn link(&self, what: &str) -> Result<&Link> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let link = turn.checked_rem(self.links.len()).and_then(|at| self.links.get(at));
        link.ok_or_else(|| Error::configuration(format!("cannot {what} without a connection")))
    }
}

impl Link {
    async fn ask<T: FromRedisValue>(&self, request: &Request) -> Result<T, Failure> {
        let asking = |source| Failure { stage: Stage::Asking, source };
        let value = match self {
            Self::Given(manager) => request.send(&mut manager.clone()).await.map_err(asking)?,
            Self::Own { target, current } => {
                let attempt = lock(current).clone();
                let renew = || {
                    let mut current = lock(current);
                    if current.ptr_eq(&attempt) {
                        *current = target.attempt();
                    }
                };
                let mut connection = attempt.clone().await.map_err(|source| {
                    renew();
                    Failure { stage: Stage::Connecting, source }
                })?;
                request.send(&mut connection).await.map_err(|source| {
                    let failure = asking(source);
                    if failure.is_of_the_connection() {
                        renew();
                    }
                    failure
                })?
            }
        };
        T::from_redis_value(value).map_err(|source| {
            let source =
                (DriverError::UnexpectedReturnType, "unexpected answer", source.to_string());
            asking(source.into())
        })
    }
}

/// No code that can panic runs while the lock is held.
fn lock(current: &Mutex<Attempt>) -> MutexGuard<'_, Attempt> {
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
        f.debug_struct("Connections").field("count", &self.links.len()).finish_non_exhaustive()
    }
}
