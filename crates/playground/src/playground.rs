//! The settings of a playground.

use crate::access::Token;
use crate::api::ApiState;
use crate::open_turns::ObservedTurns;
use crate::run::{Observed, Run};
use crate::server::PlaygroundServer;
use crate::turn_log::TurnLog;
use crate::user::{Parent, principal};
use ai_services_core::answer::{OpenTurns, StreamEvent};
use ai_services_core::event::{Call, Event};
use ai_services_core::memory::{ConversationStore, MemoryId};
use ai_services_core::{Error, Result};
use ai_services_serve::{ChatServer, ChatServerBuilder, ClientDecisions, UserTurn};
use futures_util::stream::{Stream, StreamExt};
use std::error::Error as _;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// Time limit of a turn. A developer may stop the program in a debugger meanwhile.
const TIME_LIMIT: Duration = Duration::from_secs(60 * 60);

/// A web page for developers, which shows services at work. See the [crate](crate) for an example.
#[must_use]
pub struct Playground {
    log: Arc<TurnLog>,
    server: ChatServerBuilder,
    services: Vec<Arc<str>>,
    open_turns: Vec<(Arc<str>, ObservedTurns)>,
    store: Option<Arc<dyn ConversationStore>>,
}

impl Playground {
    /// Creates a playground without services.
    #[allow(clippy::new_without_default, reason = "a playground without a service is useless")]
    pub fn new() -> Self {
        let server = ChatServer::builder()
            .authenticate(async |request| principal(&request))
            .memory_id(|_, conversation| MemoryId::from(conversation))
            .error_message(|error| Some(chain(error)))
            .time_limit(TIME_LIMIT)
            .max_body_bytes(4 << 20);
        let log = Arc::default();
        Self { log, server, services: Vec::new(), open_turns: Vec::new(), store: None }
    }

    /// Returns a listener for `AiServiceBuilder::listener`. The page shows the turns of each service with it, also
    /// those that other parts of the program start. The last 200 turns are kept.
    pub fn listener(&self) -> impl Fn(&Call<'_>, &Event<'_>) + Send + Sync + use<> {
        self.log.listener()
    }

    /// Adds a service under a name for the page.
    ///
    /// `answer` begins the stream of a turn, usually by a streaming method of the service with
    /// [`UserTurn::memory_id`] and [`UserTurn::text`]. The memory id is the name of the conversation in the page; the
    /// user that is selected in the page is the [principal](UserTurn::principal). Register a service once for each
    /// model or method to compare: the page repeats a turn with any of them.
    pub fn service<S>(
        mut self,
        name: impl Into<String>,
        answer: impl Fn(&UserTurn) -> S + Send + Sync + 'static,
    ) -> Self
    where
        S: Stream<Item = Result<StreamEvent>> + Send + 'static,
    {
        let name: Arc<str> = name.into().into();
        self.services.push(Arc::clone(&name));
        self.server = self.server.service(&*name.clone(), move |turn: &UserTurn| {
            let parent = turn.principal().context().get::<Parent>();
            let run =
                Run::new(Arc::clone(&name), parent.map(|Parent(id)| Arc::clone(id)), turn.text());
            Observed::new(&run, answer(turn).boxed())
        });
        self
    }

    /// Lets the page decide about tool calls of a service that wait for approval or for answers. `turns` is a clone of
    /// the service (`AiService::clone(&service)`). Requires a [store](Self::store).
    pub fn decisions(
        mut self,
        service: impl Into<String>,
        turns: impl OpenTurns + 'static,
    ) -> Self {
        let name: Arc<str> = service.into().into();
        self.open_turns.push((Arc::clone(&name), ObservedTurns::new(name, turns)));
        self
    }

    /// Sets the store of the conversations. Without it, the page cannot show memories, decide about tool calls or
    /// repeat turns, and lists only the conversations of its own turns.
    pub fn store(mut self, store: impl ConversationStore + 'static) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Listens on a loopback address. Port 0 is any free port.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if the address is not a
    /// loopback address or cannot be bound, if no service was added, if a name of a service is empty, contains `/` or is
    /// used twice, or if [`decisions`](Self::decisions) name an unknown service, are set twice for one, or have no
    /// store.
    pub async fn bind(self, address: impl Into<SocketAddr>) -> Result<PlaygroundServer> {
        let address = address.into();
        if !address.ip().is_loopback() {
            let message = format!(
                "the playground listens on loopback addresses only, for example 127.0.0.1, not on {}",
                address.ip()
            );
            return Err(Error::configuration(message));
        }
        let mut server = self.server;
        for (name, turns) in self.open_turns {
            let store = self.store.clone().ok_or_else(|| {
                Error::configuration(
                    "`decisions` needs the store of the conversations: set `store`",
                )
            })?;
            let decisions = ClientDecisions::new(turns, store).accept_edits();
            server = server.decisions(&*name, decisions);
        }
        let chat = server.build()?;
        let listener = TcpListener::bind(address).await.map_err(|source| {
            Error::configuration(format!("cannot listen on {address}: {source}"))
                .with_source(source)
        })?;
        let api = ApiState::new(self.log, self.services, self.store);
        PlaygroundServer::new(listener, &chat, api, Token::random())
    }
}

/// Returns the text of an error with its causes. The page is for the developer of the service.
pub(crate) fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

impl fmt::Debug for Playground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Playground").field("services", &self.services).finish_non_exhaustive()
    }
}
