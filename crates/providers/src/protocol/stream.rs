//! Streamed answers of all protocols.
//!
//! A protocol supplies an [`Assembly`]: a state machine that consumes one event at a time and does
//! neither I/O nor timing. [`AssembledStream`] sends the request, feeds the assembly, and ends with the
//! answer or with an error that has the received part of the answer.

use crate::http::{Answer, Endpoint, Event, Events, Framing, Streamed};
use ai_services_core::model::{ChatResponse, ModelStreamEvent, PartialAnswer, TokenUsage, pieces};
use ai_services_core::{Error, ErrorKind, Result, boxed};
use futures_util::Stream;
use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, StreamExt};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Sleep;

/// Maximum number of tool calls in one answer. The limit bounds memory.
pub(crate) const MAX_CALLS: usize = 128;

/// The state of an answer after an event.
#[derive(Debug, PartialEq)]
pub(crate) enum Progress {
    /// More events follow.
    More,
    /// The event was the last one of the protocol.
    Done,
}

/// An event that ends the stream with an error.
#[derive(Debug)]
pub(crate) enum EventError {
    /// The event is an error of the server, in one of the usual forms.
    Reported,
    /// The event is not the expected JSON.
    Unreadable(serde_json::Error),
    /// The answer has more than [`MAX_CALLS`] tool calls.
    TooManyCalls,
    /// The answer failed for a reason that is specific to the protocol.
    Failed(Error),
}

/// Returns the error of [`EventError::TooManyCalls`].
pub(crate) fn too_many_calls() -> Error {
    let message = format!("the answer has more than {MAX_CALLS} tool calls");
    Error::new(ErrorKind::InvalidResponse, message)
}

/// A state machine that assembles an answer from events.
///
/// The emitted events, put together, equal the content of [`into_response`](Self::into_response) and
/// [`into_partial`](Self::into_partial).
pub(crate) trait Assembly: Send + Unpin + Sized + 'static {
    /// The separation of events.
    const FRAMING: Framing;

    /// Creates the assembly of a new answer.
    fn new() -> Self;

    /// Adds an event, and emits the pieces of the answer in it.
    fn add(
        &mut self,
        data: &str,
        emit: &mut dyn FnMut(ModelStreamEvent),
    ) -> Result<Progress, EventError>;

    /// Returns whether the answer has a finish reason.
    fn is_complete(&self) -> bool;

    /// Returns whether the end of the body ends an answer that [is complete](Self::is_complete): the
    /// protocol has no last event, or everything that precedes the last event has arrived. Some servers do
    /// not send the last event.
    fn ends_with_body(&self) -> bool {
        false
    }

    /// Returns the usage known so far.
    fn usage(&self) -> TokenUsage;

    /// Returns the answer.
    fn into_response(self, attempts: u32) -> ChatResponse;

    /// Returns the received part of an answer that is not complete.
    fn into_partial(self) -> PartialAnswer;

    /// Reads a document instead of events: a whole answer or an error.
    fn read_whole(answer: &Answer) -> Result<ChatResponse>;
}

/// Returns the events of a streamed answer that is already in memory.
#[cfg(feature = "_fuzzing")]
pub(crate) fn read_pieces<A: Assembly>(
    assembly: A,
    pieces: impl IntoIterator<Item = Vec<u8>>,
) -> Vec<Result<ModelStreamEvent>> {
    use futures_util::FutureExt;
    let events = crate::http::in_memory::events(pieces, A::FRAMING);
    AssembledStream::of(events, assembly).collect::<Vec<_>>().now_or_never().unwrap_or_default()
}

/// Maximum wait for the end of a body after the last event. The end usually arrives with the event, and
/// then the connection can be reused.
const END_TIMEOUT: Duration = Duration::from_millis(50);

type Pieces = VecDeque<Result<ModelStreamEvent>>;

/// The events of an answer. The request is sent when the stream is first polled.
struct AssembledStream<A> {
    state: State<A>,
    /// Events that were read ahead: one event of the server may have several pieces.
    ready: Pieces,
}

/// Returns the streamed answer of an endpoint. `body` must request a stream.
pub(crate) fn assemble(
    endpoint: Endpoint,
    body: Vec<u8>,
    assembly: impl Assembly,
) -> BoxStream<'static, Result<ModelStreamEvent>> {
    AssembledStream::new(endpoint, body, assembly).boxed()
}

enum State<A> {
    Requesting(BoxFuture<'static, Result<Streamed>>, A),
    Reading(Box<Reading<A>>),
    /// The answer is complete, and the stream waits for the end of the body.
    Ending(Box<Ending>),
    Ended,
}

struct Reading<A> {
    events: Events,
    assembly: A,
}

struct Ending {
    events: Events,
    response: Box<ChatResponse>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<A: Assembly> AssembledStream<A> {
    fn new(endpoint: Endpoint, body: Vec<u8>, assembly: A) -> Self {
        let request = boxed(|| async move { endpoint.stream(body, A::FRAMING).await });
        Self { state: State::Requesting(request, assembly), ready: Pieces::new() }
    }

    fn of(events: Events, assembly: A) -> Self {
        let reading = Reading { events, assembly };
        Self { state: State::Reading(Box::new(reading)), ready: Pieces::new() }
    }

    /// Starts to read the answer.
    fn begin(&mut self, result: Result<Streamed>) {
        let State::Requesting(_, assembly) = std::mem::replace(&mut self.state, State::Ended)
        else {
            return;
        };
        match result {
            Ok(Streamed::Events(events)) => *self = Self::of(*events, assembly),
            Ok(Streamed::Whole(whole)) => match A::read_whole(&whole) {
                Ok(response) => self.ready.extend(pieces(response).into_iter().map(Ok)),
                Err(error) => self.ready.push_back(Err(error)),
            },
            Err(error) => self.ready.push_back(Err(error)),
        }
    }
}

impl<A: Assembly> Stream for AssembledStream<A> {
    type Item = Result<ModelStreamEvent>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if let State::Requesting(request, _) = &mut this.state {
            let result = ready!(request.as_mut().poll(context));
            this.begin(result);
        }
        this.poll_piece(context)
    }
}

impl<A: Assembly> AssembledStream<A> {
    /// Polls the next piece of an answer that has begun.
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<ModelStreamEvent>>> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Poll::Ready(Some(piece));
            }
            match &mut self.state {
                State::Requesting(..) | State::Ended => return Poll::Ready(None),
                State::Reading(reading) => {
                    let polled = ready!(reading.events.poll_next(context));
                    match reading.read(polled, &mut self.ready) {
                        Ok(Progress::More) => {}
                        Ok(Progress::Done) => self.end(),
                        Err(error) => self.fail(error),
                    }
                }
                State::Ending(ending) => {
                    ready!(ending.poll(context));
                    self.complete();
                }
            }
        }
    }

    /// Ends the answer after its last event.
    fn end(&mut self) {
        if let State::Reading(reading) = std::mem::replace(&mut self.state, State::Ended) {
            let Reading { events, assembly } = *reading;
            let response = Box::new(assembly.into_response(events.attempts()));
            self.state = State::Ending(Box::new(Ending { events, response, timer: None }));
        }
    }

    /// Emits the complete answer after the end of the body.
    fn complete(&mut self) {
        if let State::Ending(ending) = std::mem::replace(&mut self.state, State::Ended) {
            self.ready.push_back(Ok(ModelStreamEvent::Completed(ending.response)));
        }
    }

    /// Ends with an error that has the received part of the answer.
    fn fail(&mut self, error: Error) {
        if let State::Reading(reading) = std::mem::replace(&mut self.state, State::Ended) {
            let error = error.with_usage(reading.assembly.usage());
            let partial = reading.assembly.into_partial();
            let error = error.map_source(|source| partial.with_source(source).into());
            self.ready.push_back(Err(error));
        }
    }
}

impl<A: Assembly> Reading<A> {
    /// Adds the next event to the answer.
    fn read(&mut self, polled: Option<Result<()>>, ready: &mut Pieces) -> Result<Progress> {
        let Some(result) = polled else {
            let is_done = self.assembly.is_complete() && self.assembly.ends_with_body();
            return if is_done { Ok(Progress::Done) } else { Err(self.events.cut_off()) };
        };
        result?;
        let Event { data, is_error } = self.events.event();
        if is_error {
            return Err(self.events.reported_in(data));
        }
        match self.assembly.add(data, &mut |piece| ready.push_back(Ok(piece))) {
            Ok(Progress::Done) if !self.assembly.is_complete() => Err(self.events.cut_off()),
            Ok(progress) => Ok(progress),
            Err(EventError::Reported) => Err(self.events.reported_in(data)),
            Err(EventError::Failed(error)) => Err(self.events.annotate(error)),
            Err(EventError::Unreadable(error)) => Err(self.events.unreadable(error)),
            Err(EventError::TooManyCalls) => Err(self.events.invalid(too_many_calls())),
        }
    }
}

impl Ending {
    /// Polls the end of the body, for at most [`END_TIMEOUT`].
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.events.poll_end(context).is_ready() {
            return Poll::Ready(());
        }
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(END_TIMEOUT)));
        timer.as_mut().poll(context)
    }
}
