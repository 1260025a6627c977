//! A service whose progress can be stopped and observed, and a server that offers it.

use crate::fixture::{Assistant, AssistantService, principal};
use ai_services::memory::{InMemoryChatMemoryStore, MessageWindowChatMemory};
use ai_services::message::ToolCall;
use ai_services::model::{
    Capabilities, ChatModel, ChatRequest, ChatResponse, ModelStreamEvent, ToolSpecification,
};
use ai_services::schemars::json_schema;
use ai_services::serve::{ChatServer, ClientDecisions};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::tool::{Tool, ToolInput, ToolOutput};
use ai_services::{AiService, DurableTurns, Result, async_trait};
use futures_util::stream::{BoxStream, StreamExt};
use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// Longest time that a step of a test takes if all is well.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for a step of a test. Fails if it does not end.
pub(crate) async fn within<T>(step: impl Future<Output = T>) -> T {
    timeout(PATIENCE, step).await.expect("the service is blocked")
}

/// The work of a service so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Requests to the model that began.
    pub(crate) requests: usize,
    /// Requests to the model that have not ended and were not cancelled.
    pub(crate) running: usize,
    /// Pieces of the last request.
    pub(crate) pieces: usize,
    /// Runs of the tool that began.
    pub(crate) refunds: usize,
}

/// The place at which a service stops until it is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Never,
    /// In the tool, after its effect.
    Refund,
    /// In the answer with a text, after this many pieces.
    Answer(usize),
}

/// The parts that outlive a request.
#[derive(Clone)]
pub(crate) struct Observed {
    pub(crate) store: InMemoryChatMemoryStore,
    script: ScriptedChatModel,
    needs_approval: bool,
    stop: watch::Sender<Stop>,
    work: watch::Sender<Work>,
}

impl Observed {
    /// Creates a model that calls the tool for the message `refund`, and otherwise answers in three pieces.
    /// The tool needs approval.
    pub(crate) fn new() -> Self {
        let script = ScriptedChatModel::from_fn(|_, request| {
            if calls_tool(request) {
                ScriptedAnswer::tool_calls([ToolCall::new("1", "refund", "{}")])
            } else {
                ScriptedAnswer::pieces(["one ", "two ", "three"])
            }
        });
        Self {
            store: InMemoryChatMemoryStore::new(),
            script,
            needs_approval: true,
            stop: watch::Sender::new(Stop::Never),
            work: watch::Sender::new(Work::default()),
        }
    }

    /// Lets the tool run without approval.
    pub(crate) fn without_approval(self) -> Self {
        Self { needs_approval: false, ..self }
    }

    pub(crate) fn stop(&self, stop: Stop) {
        self.stop.send_replace(stop);
    }

    pub(crate) fn work(&self) -> Work {
        *self.work.borrow()
    }

    /// Waits for a state. Fails if it does not come.
    pub(crate) async fn wait_for(&self, reached: impl Fn(&Work) -> bool) {
        let mut work = self.work.subscribe();
        within(work.wait_for(reached)).await.unwrap();
    }

    /// Builds the service, whose tool has the default effect class.
    pub(crate) fn service(&self) -> AssistantService {
        let store = self.store.clone();
        AssistantService::builder()
            .chat_model(self.clone())
            .tools(self.refund())
            .chat_memory_provider(move |id| {
                let window = MessageWindowChatMemory::builder().id(id).max_messages(50);
                window.store(store.clone()).build()
            })
            .durable_turns(DurableTurns::new())
            .build()
            .unwrap()
    }

    /// Builds the server of the service `assistant`, whose clients decide.
    pub(crate) fn server(&self, service: &AssistantService) -> ChatServer {
        let decisions = ClientDecisions::new(AiService::clone(service), self.store.clone());
        let service = service.clone();
        ChatServer::builder()
            .authenticate(principal)
            .service("assistant", move |turn| service.chat(turn.memory_id(), turn.contents()))
            .decisions("assistant", decisions)
            .max_concurrent_calls(1)
            .build()
            .unwrap()
    }

    fn refund(&self) -> Tool {
        let specification = ToolSpecification::new("refund", "Refunds the order.")
            .with_parameters(json_schema!({ "type": "object" }));
        let (work, stop) = (self.work.clone(), self.stop.clone());
        let run = move |_: ToolInput| {
            work.send_modify(|work| work.refunds += 1);
            let stop = *stop.borrow();
            async move {
                if stop == Stop::Refund {
                    pending::<()>().await;
                }
                Ok(ToolOutput::text("refunded"))
            }
        };
        let tool = Tool::from_fn(specification, run);
        if self.needs_approval { tool.requiring_approval() } else { tool }
    }
}

/// Returns `true` if the model answers a request with a tool call.
fn calls_tool(request: &ChatRequest) -> bool {
    let last = request.messages().last();
    last.is_some_and(|message| message.is_user() && message.text() == Some("refund"))
}

/// A request to the model. Dropping it ends or cancels the request.
struct Running(watch::Sender<Work>);

impl Running {
    fn begin(work: &watch::Sender<Work>) -> Self {
        work.send_modify(|work| {
            work.requests += 1;
            work.running += 1;
            work.pieces = 0;
        });
        Self(work.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|work| work.running -= 1);
    }
}

#[async_trait]
impl ChatModel for Observed {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let _running = Running::begin(&self.work);
        if *self.stop.borrow() == Stop::Answer(0) {
            pending::<()>().await;
        }
        self.script.chat(request).await
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        let running = Running::begin(&self.work);
        let stop = if calls_tool(request) { Stop::Never } else { *self.stop.borrow() };
        let running = Arc::new((running, AtomicUsize::new(0)));
        let events = self.script.stream(request).then(move |event| {
            let running = Arc::clone(&running);
            async move {
                let (Running(work), pieces) = &*running;
                let written = pieces.load(Ordering::Relaxed);
                if stop == Stop::Answer(written) {
                    pending::<()>().await;
                }
                if matches!(event, Ok(ModelStreamEvent::Text(_))) {
                    pieces.store(written + 1, Ordering::Relaxed);
                    work.send_modify(|work| work.pieces = written + 1);
                }
                event
            }
        });
        events.boxed()
    }

    fn capabilities(&self) -> Capabilities {
        self.script.capabilities()
    }
}
