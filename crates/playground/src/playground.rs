//! The settings of a playground.

use crate::access::Token;
use crate::api::ApiState;
use crate::open_turns::ObservedTurns;
use crate::run::{Observed, Run};
use crate::server::PlaygroundServer;
use crate::turn_log::TurnLog;
use crate::user::{AsksForPendingTurn, Parent, principal};
use ai_services_core::answer::{OpenTurns, StreamEvent};
use ai_services_core::event::{Call, Event};
use ai_services_core::memory::{ConversationStore, MemoryId};
use ai_services_core::{Error, Result};
use ai_services_serve::{ChatServer, ChatServerBuilder, ClientDecisions, UserTurn};
use futures_util::stream::{BoxStream, Stream, StreamExt};
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
    services: Vec<Service>,
    open_turns: Vec<ObservedTurns>,
    store: Option<Arc<dyn ConversationStore>>,
}

/// A registered service.
struct Service {
    name: Arc<str>,
    answer: Box<AnswerFn>,
}

type AnswerFn = dyn Fn(&UserTurn) -> BoxStream<'static, Result<StreamEvent>> + Send + Sync;

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
        let answer = Box::new(move |turn: &UserTurn| answer(turn).boxed());
        self.services.push(Service { name: name.into().into(), answer });
        self
    }

    /// Lets the page decide about tool calls of a service that wait for approval or for answers. `turns` is a clone of
    /// the service (`AiService::clone(&service)`). Requires a [store](Self::store).
    pub fn decisions(
        mut self,
        service: impl Into<String>,
        turns: impl OpenTurns + 'static,
    ) -> Self {
        self.open_turns.push(ObservedTurns::new(service.into().into(), turns));
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
        let names = self.services.iter().map(|service| Arc::clone(&service.name)).collect();
        for service in self.services {
            let turns = self.open_turns.iter().find(|turns| *turns.service() == service.name);
            server = server.service(&*service.name.clone(), service.answer(turns.cloned()));
        }
        for turns in &self.open_turns {
            let store = self.store.clone().ok_or_else(|| {
                Error::configuration(
                    "`decisions` needs the store of the conversations: set `store`",
                )
            })?;
            let decisions = ClientDecisions::new(turns.clone(), store).accept_edits();
            server = server.decisions(&**turns.service(), decisions);
        }
        let chat = server.build()?;
        let listener = TcpListener::bind(address).await.map_err(|source| {
            Error::configuration(format!("cannot listen on {address}: {source}"))
                .with_source(source)
        })?;
        let api = ApiState::new(self.log, names, self.open_turns, self.store);
        PlaygroundServer::new(listener, &chat, api, Token::random())
    }
}

impl Service {
    /// Returns a function that begins a turn, or shows the calls of an open turn that wait.
    fn answer(
        self,
        open_turns: Option<ObservedTurns>,
    ) -> impl Fn(&UserTurn) -> BoxStream<'static, Result<StreamEvent>> + Send + Sync {
        let Self { name, answer } = self;
        move |turn| {
            let context = turn.principal().context();
            if let (Some(turns), Some(AsksForPendingTurn)) = (&open_turns, context.get()) {
                return turns.pending_stream(turn.memory_id());
            }
            let parent = context.get::<Parent>().map(|Parent(id)| Arc::clone(id));
            let run = Run::new(Arc::clone(&name), parent, turn.text());
            Observed::new(&run, answer(turn)).boxed()
        }
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
        let names: Vec<&str> = self.services.iter().map(|service| &*service.name).collect();
        f.debug_struct("Playground").field("services", &names).finish_non_exhaustive()
    }
}
