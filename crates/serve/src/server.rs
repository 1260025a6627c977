//! The server and its settings.

use crate::answer::{ErrorMessage, Phase};
use crate::decisions::ClientDecisions;
use crate::principal::{Authenticate, MemoryIdRule, Principal};
use crate::service::NamedService;
use crate::state::ServerState;
use crate::turn::UserTurn;
use crate::{ag_ui, endpoint, openai, ui_messages};
use ai_services_core::answer::StreamEvent;
use ai_services_core::memory::{MemoryId, ToMemoryId};
use ai_services_core::{Error, Result};
use axum::Router;
use axum::routing::{get, post};
use axum::serve::{Listener, ListenerExt};
use futures_util::future::FutureExt;
use futures_util::stream::Stream;
use http::HeaderName;
use http::request::Parts;
use std::fmt;
use std::future::{Future, pending};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::sleep;

/// Offers services over HTTP.
///
/// Cloning is cheap, and clones share their limits.
///
/// # Examples
///
/// ```
/// use ai_services::memory::{MemoryId, MessageWindowChatMemory};
/// use ai_services::serve::{ChatServer, Principal};
/// use ai_services::testing::ScriptedChatModel;
/// use ai_services::{AnswerStream, Error, ErrorKind, ai_service};
///
/// #[ai_service]
/// #[system_message("You are a support agent.")]
/// trait Support {
///     fn chat(&self, #[memory_id] conversation: &MemoryId, #[user_message] text: &str) -> AnswerStream;
/// }
///
/// # fn main() -> ai_services::Result<()> {
/// let support = SupportService::builder()
///     .chat_model(ScriptedChatModel::replies(["Hello."]))
///     .chat_memory_provider(|id| MessageWindowChatMemory::builder().id(id).max_messages(20).build())
///     .build()?;
/// let server = ChatServer::builder()
///     .authenticate(async |request| match request.headers.get("authorization") {
///         Some(token) if token == "Bearer ann-token" => Ok(Principal::new("ann")),
///         _ => Err(Error::new(ErrorKind::Authentication, "unknown token")),
///     })
///     .service("support", move |turn| support.chat(turn.memory_id(), turn.text()))
///     .build()?;
/// let application: axum::Router = axum::Router::new().merge(server.router());
/// # let _ = application;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ChatServer(Arc<ServerState>);

/// Builds a [`ChatServer`].
#[must_use]
pub struct ChatServerBuilder {
    services: Vec<NamedService>,
    decisions: Vec<(String, ClientDecisions)>,
    authenticate: Option<Authenticate>,
    memory_id: MemoryIdRule,
    conversation_header: String,
    error_message: Option<ErrorMessage>,
    max_body_bytes: usize,
    max_concurrent_calls: usize,
    time_limit: Duration,
    shutdown_grace: Duration,
}

impl ChatServer {
    /// Returns a builder.
    pub fn builder() -> ChatServerBuilder {
        ChatServerBuilder {
            services: Vec::new(),
            decisions: Vec::new(),
            authenticate: None,
            memory_id: Arc::new(|principal, name| (principal.id(), name).to_memory_id()),
            conversation_header: "x-conversation-id".to_owned(),
            error_message: None,
            max_body_bytes: 1024 * 1024,
            max_concurrent_calls: 256,
            time_limit: Duration::from_secs(10 * 60),
            shutdown_grace: Duration::from_secs(30),
        }
    }

    /// Returns the routes of all endpoints. An application adds its layers, for example CORS or compression, or
    /// [nests](Router::nest) them.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/health", get(endpoint::health))
            .route("/v1/models", get(openai::models))
            .route("/v1/chat/completions", post(openai::chat_completions))
            .route("/v1/responses", post(openai::responses))
            .route("/ui/{service}", post(ui_messages::messages))
            .route("/ag-ui/{service}", post(ag_ui::run))
            .with_state(Arc::clone(&self.0))
    }

    /// Serves the routes until `shutdown` completes, and then until the running answers have ended, at most for the
    /// [grace period](ChatServerBuilder::shutdown_grace). Answers that run longer end with an error; their turns are
    /// not stored.
    ///
    /// # Errors
    ///
    /// Fails if the listener fails.
    pub async fn serve(
        &self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let phase = self.0.phase.clone();
        let drain = async move {
            shutdown.await;
            phase.send_replace(Phase::Draining);
        };
        let listener = without_delay(listener);
        let served = axum::serve(listener, self.router()).with_graceful_shutdown(drain);
        let mut phase = self.0.phase.subscribe();
        let stop = async {
            if phase.wait_for(|phase| *phase != Phase::Running).await.is_ok() {
                sleep(self.0.shutdown_grace).await;
                self.0.phase.send_replace(Phase::Stopping);
            }
            pending::<()>().await;
        };
        tokio::select! {
            result = served.into_future() => result,
            () = stop => Ok(()),
        }
    }
}

impl fmt::Debug for ChatServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let services: Vec<&str> = self.0.services.iter().map(|service| &*service.name).collect();
        f.debug_struct("ChatServer").field("services", &services).finish_non_exhaustive()
    }
}

impl ChatServerBuilder {
    /// Adds a service. Clients use `name` as the name of a model, or in the path.
    ///
    /// `answer` begins the stream of a turn, usually by a streaming method of the service with
    /// [`UserTurn::memory_id`] and [`UserTurn::text`].
    pub fn service<S>(
        mut self,
        name: impl Into<String>,
        answer: impl Fn(&UserTurn) -> S + Send + Sync + 'static,
    ) -> Self
    where
        S: Stream<Item = Result<StreamEvent>> + Send + 'static,
    {
        self.services.push(NamedService::new(name.into(), answer));
        self
    }

    /// Lets the clients of a service decide about its turns that wait, for example for approval. Default: they see such
    /// turns, and the application decides.
    pub fn decisions(mut self, service: impl Into<String>, decisions: ClientDecisions) -> Self {
        self.decisions.push((service.into(), decisions));
        self
    }

    /// Sets the function that determines the principal of a request from its head. An error is answered with status
    /// 401, without its text. Required.
    pub fn authenticate<F>(
        mut self,
        authenticate: impl Fn(Parts) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Principal>> + Send + 'static,
    {
        self.authenticate = Some(Arc::new(move |request| authenticate(request).boxed()));
        self
    }

    /// Sets the rule for memory ids, from the principal and the name of the conversation that the client gave. A rule
    /// that leaves out the principal lets each client read and continue every conversation whose name it has.
    /// Default: principal and conversation.
    pub fn memory_id(
        mut self,
        rule: impl Fn(&Principal, &str) -> MemoryId + Send + Sync + 'static,
    ) -> Self {
        self.memory_id = Arc::new(rule);
        self
    }

    /// Sets the request header with the name of the conversation for chat completions, whose body has no field for
    /// it. Default: `x-conversation-id`. `Open WebUI` sends `x-openwebui-chat-id`, if its administrator turns that on.
    pub fn conversation_header(mut self, name: impl Into<String>) -> Self {
        self.conversation_header = name.into();
        self
    }

    /// Sets a function that returns the text for clients about an error. With `None` the client gets a text that
    /// depends on the kind of the error. Default: always `None`.
    pub fn error_message(
        mut self,
        message: impl Fn(&Error) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.error_message = Some(Arc::new(message));
        self
    }

    /// Sets the largest size of a request body in bytes. Clients send whole histories. Default: 1 MiB.
    pub fn max_body_bytes(mut self, bytes: usize) -> Self {
        self.max_body_bytes = bytes;
        self
    }

    /// Sets the number of answers that run at once. A further request gets status 503. Default: 256.
    pub fn max_concurrent_calls(mut self, calls: usize) -> Self {
        self.max_concurrent_calls = calls;
        self
    }

    /// Sets the time limit of an answer. Its call is then cancelled, and the client gets an error. The body of a request
    /// must arrive within 60 seconds before. Default: 10 minutes.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Sets the time for which [`ChatServer::serve`] waits for running answers when it ends. Default: 30 seconds.
    pub fn shutdown_grace(mut self, grace: Duration) -> Self {
        self.shutdown_grace = grace;
        self
    }

    /// Builds the server.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if there is no service or no
    /// authentication, if a name is empty, contains `/` or is used twice, if decisions name an unknown service or are
    /// set twice for one, if the name of the header is invalid, or if a
    /// limit is zero.
    pub fn build(mut self) -> Result<ChatServer> {
        let authenticate = self.authenticate.ok_or_else(|| {
            Error::configuration(
                "a chat server needs `authenticate`: the principal is part of each memory id",
            )
        })?;
        check_names(&self.services)?;
        for (name, decisions) in self.decisions {
            set_decisions(&mut self.services, &name, decisions)?;
        }
        let header = HeaderName::try_from(&self.conversation_header).map_err(|_| {
            Error::configuration(format!("invalid header name `{}`", self.conversation_header))
        })?;
        if self.max_body_bytes == 0 || self.max_concurrent_calls == 0 || self.time_limit.is_zero() {
            return Err(Error::configuration("the limits of a chat server must not be zero"));
        }
        let permits = self.max_concurrent_calls.min(Semaphore::MAX_PERMITS);
        Ok(ChatServer(Arc::new(ServerState {
            services: self.services,
            authenticate,
            memory_id: self.memory_id,
            conversation_header: header,
            max_body_bytes: self.max_body_bytes,
            error_message: self.error_message,
            // A longer limit is none.
            time_limit: self.time_limit.min(Duration::from_secs(365 * 24 * 60 * 60)),
            shutdown_grace: self.shutdown_grace,
            permits: Arc::new(Semaphore::new(permits)),
            phase: watch::Sender::new(Phase::Running),
        })))
    }
}

/// Sends each piece of an answer at once (`TCP_NODELAY`). By default, the system holds a small piece back until the
/// client has acknowledged the last one.
fn without_delay(listener: TcpListener) -> impl Listener<Io = TcpStream, Addr = SocketAddr> {
    listener.tap_io(|connection| {
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "pieces of answers may be delayed");
        }
    })
}

/// Sets the decisions of the service with this name.
fn set_decisions(
    services: &mut [NamedService],
    name: &str,
    decisions: ClientDecisions,
) -> Result<()> {
    let Some(service) = services.iter_mut().find(|service| &*service.name == name) else {
        return Err(Error::configuration(format!("decisions name the unknown service `{name}`")));
    };
    match service.decisions.replace(decisions) {
        None => Ok(()),
        Some(_) => Err(Error::configuration(format!("the service `{name}` has decisions twice"))),
    }
}

fn check_names(services: &[NamedService]) -> Result<()> {
    if services.is_empty() {
        return Err(Error::configuration("a chat server needs a service"));
    }
    for (index, service) in services.iter().enumerate() {
        let name = &*service.name;
        if name.is_empty() || name.contains('/') {
            return Err(Error::configuration(format!("invalid service name `{name}`")));
        }
        if services.iter().take(index).any(|other| &*other.name == name) {
            return Err(Error::configuration(format!("two services have the name `{name}`")));
        }
    }
    Ok(())
}

impl fmt::Debug for ChatServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let services: Vec<&str> = self.services.iter().map(|service| &*service.name).collect();
        f.debug_struct("ChatServerBuilder").field("services", &services).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn connections_do_not_delay_pieces() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut listener = without_delay(listener);
        let (client, (served, _)) = tokio::join!(TcpStream::connect(address), listener.accept());
        client.unwrap();
        assert!(served.nodelay().unwrap());
    }
}
