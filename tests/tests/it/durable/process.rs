//! A process that ends at a chosen point, played by a future that is dropped.

use ai_services::event::{Call, Event};
use ai_services::memory::{InMemoryChatMemoryStore, MessageWindowChatMemory};
use ai_services::model::{ChatModel, ChatRequest, ChatResponse, Price, PriceTable};
use ai_services::{Budget, DurableTurns, Error, ErrorKind, Result, async_trait};
use ai_services_tests::durable::outside::{InMemoryOutside, Line, Outside};
use ai_services_tests::durable::script::ScriptedTill;
use ai_services_tests::durable::till::{TillService, tools};
use ai_services_tests::durable::watched_store::WatchedStore;
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

/// The number of a point that no process reaches.
pub(super) const NEVER: usize = usize::MAX;

/// The things that outlive a process.
#[derive(Clone, Default)]
pub(super) struct World {
    pub(super) store: InMemoryChatMemoryStore,
    pub(super) outside: InMemoryOutside,
    /// The tools of each round, if they are not the usual ones.
    pub(super) rounds: Option<Vec<Vec<&'static str>>>,
    pub(super) budget: Budget,
}

/// One process.
pub(super) struct Process {
    outside: Arc<MortalOutside>,
    pub(super) till: TillService,
}

/// The point at which a process ends.
#[derive(Clone, Copy)]
enum End {
    Number(usize),
    Name(&'static str),
}

/// The outside world as one process sees it: the process ends at one of its points.
struct MortalOutside {
    outside: InMemoryOutside,
    end: End,
    /// The names of the points that were reached.
    reached: Mutex<Vec<String>>,
    ended: Notify,
    /// Lets a process go on that was paused instead.
    continued: Notify,
}

#[async_trait]
impl Outside for MortalOutside {
    async fn write(&self, line: Line) {
        self.outside.write(line).await;
    }

    async fn lines(&self, order: &str) -> Vec<Line> {
        self.outside.lines(order).await
    }

    async fn point(&self, name: &str) {
        let ends = {
            let mut reached = self.reached.lock().unwrap();
            let is_first = !reached.iter().any(|other| other == name);
            reached.push(name.to_owned());
            match self.end {
                End::Number(end) => reached.len() - 1 == end,
                End::Name(end) => name == end && is_first,
            }
        };
        if ends {
            self.ended.notify_one();
            self.continued.notified().await;
        }
    }
}

/// A model that fails to give one answer.
struct FailingModel {
    model: ScriptedTill,
    /// The number of the answer, and the kind of the error.
    failure: Option<(&'static str, ErrorKind)>,
}

#[async_trait]
impl ChatModel for FailingModel {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let answers =
            request.turn.iter().filter(|message| !message.tool_calls().is_empty()).count();
        match self.failure {
            Some((answer, kind)) if answer == (answers + 1).to_string() => {
                Err(Error::new(kind, "no answer"))
            }
            _ => self.model.chat(request).await,
        }
    }

    fn name(&self) -> &str {
        "till"
    }
}

type OnEvent = dyn Fn(&Call<'_>, &Event<'_>) + Send + Sync;

impl World {
    /// Starts a process that ends at the point with this number.
    pub(super) fn start(&self, end: usize) -> Process {
        self.start_with(end, DurableTurns::new())
    }

    pub(super) fn start_with(&self, end: usize, durable_turns: DurableTurns) -> Process {
        self.process(End::Number(end), durable_turns, None, Box::new(|_, _| {}))
    }

    /// Starts a process that ends at the first point with this name.
    pub(super) fn start_until(&self, end: &'static str, durable_turns: DurableTurns) -> Process {
        self.process(End::Name(end), durable_turns, None, Box::new(|_, _| {}))
    }

    /// Starts a process that passes its events to `listener`.
    pub(super) fn start_listening(
        &self,
        end: usize,
        listener: impl Fn(&Call<'_>, &Event<'_>) + Send + Sync + 'static,
    ) -> Process {
        self.process(End::Number(end), DurableTurns::new(), None, Box::new(listener))
    }

    /// Starts a process whose model fails to give the answer with this number.
    pub(super) fn start_failing(&self, answer: &'static str, kind: ErrorKind) -> Process {
        let failure = Some((answer, kind));
        self.process(End::Number(NEVER), DurableTurns::new(), failure, Box::new(|_, _| {}))
    }

    fn process(
        &self,
        end: End,
        durable_turns: DurableTurns,
        failure: Option<(&'static str, ErrorKind)>,
        listener: Box<OnEvent>,
    ) -> Process {
        let (reached, ended, continued) = (Mutex::default(), Notify::new(), Notify::new());
        let outside = self.outside.clone();
        let outside = Arc::new(MortalOutside { outside, end, reached, ended, continued });
        let seen: Arc<dyn Outside> = Arc::<MortalOutside>::clone(&outside);
        let store =
            Arc::new(WatchedStore { store: self.store.clone(), outside: Arc::clone(&seen) });
        let model = ScriptedTill::new(Arc::clone(&seen));
        let model = match &self.rounds {
            Some(rounds) => model.with_rounds(rounds.clone()),
            None => model,
        };
        let till = TillService::builder()
            .chat_model(FailingModel { model, failure })
            .tools(tools(&seen))
            .chat_memory_provider(move |id| {
                let store = Arc::clone(&store);
                MessageWindowChatMemory::builder().id(id).max_messages(100).store(store).build()
            })
            .durable_turns(durable_turns)
            .budget(self.budget)
            // One unit a token.
            .price_table(PriceTable::new().price("*", Price::per_million(1e6, 1e6)))
            .listener(listener)
            .build()
            .unwrap();
        Process { outside, till }
    }
}

impl Process {
    /// Runs a part of the process. Returns `None` if the process ended in it, or is paused there.
    pub(super) async fn run<T>(&self, part: impl Future<Output = Result<T>>) -> Option<Result<T>> {
        match select(pin!(part), pin!(self.outside.ended.notified())).await {
            Either::Left((outcome, _)) => Some(outcome),
            Either::Right(_) => None,
        }
    }

    /// Lets a process go on that is paused at its end.
    pub(super) fn go_on(&self) {
        self.outside.continued.notify_one();
    }

    /// Returns the names of the points that the process has reached.
    pub(super) fn points(&self) -> Vec<String> {
        self.outside.reached.lock().unwrap().clone()
    }
}
