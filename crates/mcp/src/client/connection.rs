//! One connection to a server.

use super::child::ChildTransport;
use super::endpoint::Endpoint;
use super::era::Era;
use super::failure::{Failure, connection_error};
use super::handler::{Handler, Inbox};
use super::http::{self, RequestHeaders};
use super::http_exchange::Headers;
use super::remote_server::RemoteServer;
use super::session_stream::SessionStream;
use super::unauthorized::Unauthorized;
use super::user_wait::UserWait;
use super::wire::{RecordedTransport, Wire};
use ai_services_core::tool::ToolProgress;
use ai_services_core::{Error, ErrorKind, Result};
use futures_util::future::FutureExt;
use rmcp::model::{
    ClientRequest, ElicitRequestParams, ElicitResult, GetExtensions, ProtocolVersion,
    RequestMetaObject, ServerNotification, ServerResult, SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, PeerRequestOptions,
    RequestHandle, RoleClient, RunningService, ServiceError, Subscription,
};
use rmcp::transport::Transport;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Longest wait for the answer to a probe for the era.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

/// Longest wait for the confirmation of a subscription.
const SUBSCRIPTION_TIMEOUT: Duration = Duration::from_secs(5);

/// An open connection. Dropping it closes the connection, and ends a child process.
pub(super) struct Connection {
    service: RunningService<RoleClient, Handler>,
    wire: Arc<Wire>,
    inbox: Arc<Inbox>,
    pub(super) user_wait: UserWait,
    session: SessionStream,
    /// The notices of changes of a modern server. Read when the tools are selected or called.
    subscription: Mutex<Option<Subscription>>,
}

/// A sent request. Dropping it without an answer cancels it at the server.
pub(super) struct SentRequest<'a> {
    connection: &'a Connection,
    handle: Option<RequestHandle<RoleClient>>,
    pub(super) progress: watch::Receiver<Option<ToolProgress>>,
}

impl Connection {
    /// Connects to a server, within its time limit.
    pub(super) async fn open(server: &RemoteServer) -> Result<Self> {
        let limit = server.connect_timeout;
        let opening = async {
            match server.era {
                Era::Legacy => Self::attempt(server, initialize()).await,
                Era::Modern => Self::attempt(server, discover()).await,
                Era::Probe => Self::probe(server).await,
            }
        };
        let connection = match server.user_wait.limited(limit, opening).await {
            Some(connection) => connection?,
            None => {
                let message =
                    format!("MCP server `{}` did not answer within {limit:?}", server.name);
                return Err(Error::new(ErrorKind::Timeout, message));
            }
        };
        connection.subscribe().await;
        Ok(connection)
    }

    async fn probe(server: &RemoteServer) -> Result<Self> {
        let lifecycle = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::LATEST],
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        };
        let attempt = Self::attempt(server, lifecycle);
        match server.user_wait.limited(server.connect_timeout / 2, attempt).await {
            Some(Ok(connection)) => Ok(connection),
            Some(Err(error)) if !may_be_legacy(&error) => Err(error),
            // Some legacy servers end at an unknown request. They get the handshake on a connection of its own.
            Some(Err(_)) | None => Self::attempt(server, initialize()).await,
        }
    }

    async fn attempt(server: &RemoteServer, lifecycle: ClientLifecycleMode) -> Result<Self> {
        match &server.endpoint {
            Endpoint::Stdio(program) => {
                let child = ChildTransport::start(program).map_err(|error| {
                    let message = format!("MCP server `{}` cannot be started", server.name);
                    Error::new(ErrorKind::Unavailable, message).with_source(error)
                })?;
                let tail = child.stderr_tail();
                let attempt = Self::over(server, child, lifecycle, SessionStream::new()).await;
                attempt.map_err(|error| connection_error(server, &error, Some(&tail)))
            }
            Endpoint::Http(endpoint) => {
                let stream = SessionStream::new();
                let transport = http::transport(endpoint, server, stream.clone())?;
                let attempt = Self::over(server, transport, lifecycle, stream).await;
                let connection = attempt.map_err(|error| connection_error(server, &error, None))?;
                connection.session.opened().await;
                Ok(connection)
            }
        }
    }

    async fn over(
        server: &RemoteServer,
        transport: impl Transport<RoleClient> + 'static,
        lifecycle: ClientLifecycleMode,
        session: SessionStream,
    ) -> Result<Self, ClientInitializeError> {
        let (wire, inbox) = <(Arc<Wire>, Arc<Inbox>)>::default();
        let handler = Handler {
            server: server.name.as_str().into(),
            elicit: server.elicit.clone(),
            inbox: Arc::clone(&inbox),
        };
        let probe_timeout = matches!(lifecycle, ClientLifecycleMode::Auto { .. })
            .then(|| PROBE_TIMEOUT.min(server.connect_timeout / 4));
        let user_wait = server.user_wait.clone();
        let transport =
            RecordedTransport::new(transport, Arc::clone(&wire), probe_timeout, user_wait.clone());
        let service = Box::pin(handler.serve_with_lifecycle(transport, lifecycle)).await?;
        Ok(Self { service, wire, inbox, user_wait, session, subscription: Mutex::default() })
    }

    /// Subscribes to changes of the tools of a modern server. Without a subscription, the list is used until its end of
    /// life.
    async fn subscribe(&self) {
        let Some(info) = self.service.peer_info() else { return };
        let tools = info.capabilities.tools.as_ref();
        let reports = tools.is_some_and(|tools| tools.list_changed == Some(true));
        if !reports || info.protocol_version.has_initialize() {
            return;
        }
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        match self.user_wait.limited(SUBSCRIPTION_TIMEOUT, self.service.listen(filter)).await {
            Some(Ok(subscription)) => {
                *self.subscription.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(subscription);
            }
            Some(Err(error)) => tracing::warn!(%error, "an MCP server refused a subscription"),
            None => tracing::warn!("an MCP server did not confirm a subscription"),
        }
    }

    /// Returns `false` once the connection is known to be closed.
    pub(super) fn is_open(&self) -> bool {
        let is_closed =
            self.wire.is_closed() || self.service.is_transport_closed() || self.service.is_closed();
        !(is_closed || self.session.is_lost())
    }

    /// Returns how often the server has reported a change of its tools.
    pub(super) fn tool_changes(&self) -> u64 {
        let mut subscription = self.subscription.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(open) = subscription.as_mut() {
            match open.next().now_or_never() {
                None => break,
                Some(Ok(Some(ServerNotification::ToolListChangedNotification(_)))) => {
                    self.inbox.add_tool_change();
                }
                Some(Ok(Some(_))) => {}
                // Changes since then are unknown.
                Some(Ok(None) | Err(_)) => {
                    self.inbox.add_tool_change();
                    *subscription = None;
                }
            }
        }
        drop(subscription);
        self.inbox.tool_changes()
    }

    /// Returns `true` if the server offers tools, resources or prompts, as `select` reads from its capabilities.
    pub(super) fn offers(&self, select: impl Fn(&rmcp::model::ServerCapabilities) -> bool) -> bool {
        self.service.peer_info().is_some_and(|info| select(&info.capabilities))
    }

    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    /// Returns `true` while the server or an authorization waits for the user.
    pub(super) fn has_open_question(&self) -> bool {
        self.inbox.has_open_question() || self.user_wait.is_open()
    }

    /// Answers a question of the server.
    pub(super) async fn answer(&self, question: ElicitRequestParams) -> ElicitResult {
        self.service.service().answer(question).await
    }

    /// Hands a request to the connection, at once or not at all.
    pub(super) fn send(
        &self,
        mut request: ClientRequest,
        headers: Headers,
        meta: Option<RequestMetaObject>,
    ) -> Result<SentRequest<'_>, Failure> {
        if !headers.is_empty() {
            request.extensions_mut().insert(RequestHeaders(headers));
        }
        let (sender, progress) = watch::channel(None);
        // The lock keeps the first report from being handled before its listener is known.
        let mut listeners = self.inbox.listeners();
        let mut options = PeerRequestOptions::no_options();
        options.meta = meta;
        let sending = self.service.send_request_with_option(request, options).now_or_never();
        let handle = match sending {
            Some(Ok(handle)) => handle,
            Some(Err(error)) => return Err(Failure::NotSent(error.to_string())),
            None => return Err(Failure::NotSent("too many requests are waiting".to_owned())),
        };
        listeners.insert(handle.progress_token.clone(), sender);
        drop(listeners);
        Ok(SentRequest { connection: self, handle: Some(handle), progress })
    }

    /// Hands a request to the connection whose answer is of no use. Best effort.
    pub(super) fn post(
        &self,
        request: ClientRequest,
        headers: Headers,
        meta: Option<RequestMetaObject>,
    ) {
        if let Ok(mut sent) = self.send(request, headers, meta) {
            // Without its handle, the request is not cancelled.
            drop(sent.finish());
        }
    }

    /// Returns `true` if the server speaks a stateless revision of the protocol.
    pub(super) fn is_modern(&self) -> bool {
        self.service.peer_info().is_some_and(|info| !info.protocol_version.has_initialize())
    }

    /// Sends a request and awaits its answer, within a time limit.
    pub(super) async fn request(
        &self,
        request: ClientRequest,
        limit: Duration,
    ) -> Result<ServerResult, Failure> {
        let mut sent = self.send(request, Headers::new(), None)?;
        let answer = self.user_wait.limited(limit, sent.answer()).await;
        answer.unwrap_or_else(|| Err(Failure::NoAnswer(format!("no answer within {limit:?}"))))
    }
}

impl SentRequest<'_> {
    /// Awaits the answer.
    ///
    /// # Cancellation
    ///
    /// This method is cancel-safe.
    pub(super) async fn answer(&mut self) -> Result<ServerResult, Failure> {
        let Some(handle) = &mut self.handle else {
            return Err(Failure::Invalid("the request has been answered".to_owned()));
        };
        let answer = (&mut handle.rx).await.unwrap_or(Err(ServiceError::TransportClosed));
        let was_sent = self.connection.wire.has_sent(&handle.id);
        self.finish();
        answer.map_err(|error| Failure::new(error, was_sent))
    }

    /// Removes the records of the request.
    fn finish(&mut self) -> Option<RequestHandle<RoleClient>> {
        let handle = self.handle.take()?;
        self.connection.inbox.listeners().remove(&handle.progress_token);
        self.connection.wire.forget(&handle.id);
        Some(handle)
    }
}

impl Drop for SentRequest<'_> {
    fn drop(&mut self) {
        if let Some(handle) = self.finish() {
            // The first poll queues the message. Its delivery is best effort.
            let _ = handle.cancel(Some("the caller stopped waiting".to_owned())).now_or_never();
        }
    }
}

fn initialize() -> ClientLifecycleMode {
    ClientLifecycleMode::Initialize
}

fn discover() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] }
}

/// Returns `false` for an error that a handshake would meet, too.
fn may_be_legacy(error: &Error) -> bool {
    use ErrorKind::{Authentication, Configuration, Unavailable};
    !matches!(error.kind(), Authentication | Configuration | Unavailable)
        && error.detail::<Unauthorized>().is_none()
}
