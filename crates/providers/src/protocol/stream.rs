//! Answers that come piece by piece: what all protocols have in common.
//!
//! A protocol is an [`Assembly`]: a state machine that is given one event after the other, does no I/O
//! and knows no clock. [`AnswerStream`] sends the request, feeds the assembly, and ends with the answer
//! or with an error that keeps what had come.

use crate::http::{Answer, Endpoint, Event, Events, Framing, Streamed};
use ai_services_core::model::{ChatResponse, ModelStreamEvent, PartialAnswer, TokenUsage, pieces};
use ai_services_core::{Error, ErrorKind, Result};
use futures_util::Stream;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Sleep;

/// The most tool calls of one answer. More are no answer but an attack on memory.
pub(crate) const MAX_CALLS: usize = 128;

/// What an event is beside its pieces.
#[derive(Debug, PartialEq)]
pub(crate) enum Said {
    /// There is more to come.
    More,
    /// It was the last one by the protocol.
    Done,
}

/// Why an event cannot be used.
#[derive(Debug)]
pub(crate) enum Wrong {
    /// It is an error of the server, in one of the usual forms.
    Reported,
    /// It is not the JSON it should be.
    Unreadable(serde_json::Error),
    /// It is one of more tool calls than any answer has.
    TooManyCalls,
    /// It ends the answer, for a reason that the protocol has words of its own for.
    Failed(Error),
}

/// An answer that grows event by event.
///
/// The pieces that it emits, put together, are what [`into_response`](Self::into_response) and
/// [`into_partial`](Self::into_partial) hold.
pub(crate) trait Assembly: Send + Unpin + 'static {
    /// How the server separates events.
    const FRAMING: Framing;

    /// Whether the protocol has no last event, so that the end of the body is the end of an answer that
    /// [is complete](Self::is_complete).
    const ENDS_WITH_BODY: bool = false;

    /// Adds an event, and emits its pieces.
    fn add(&mut self, data: &str, emit: &mut dyn FnMut(ModelStreamEvent)) -> Result<Said, Wrong>;

    /// Whether the model said why it stopped, without which its answer is not complete.
    fn is_complete(&self) -> bool;

    /// The tokens known so far.
    fn usage(&self) -> TokenUsage;

    /// The answer.
    fn into_response(self, attempts: u32) -> ChatResponse;

    /// The answer as far as it came.
    fn into_partial(self) -> PartialAnswer;

    /// Reads a document that came in place of a stream: an error, or a whole answer.
    fn read_whole(answer: &Answer) -> Result<ChatResponse>;
}

/// All events of an answer whose bytes are there already, split like this.
#[cfg(feature = "_fuzzing")]
pub(crate) fn read_pieces<A: Assembly>(
    answer: A,
    pieces: impl IntoIterator<Item = Vec<u8>>,
) -> Vec<Result<ModelStreamEvent>> {
    use futures_util::FutureExt;
    let events = crate::http::given::events(pieces, A::FRAMING);
    AnswerStream::of(events, answer).collect::<Vec<_>>().now_or_never().unwrap_or_default()
}

/// How long the end of a body is waited for after the last event. It usually comes with it; a
/// connection whose body has ended serves the next request.
const END: Duration = Duration::from_millis(50);

type Pieces = VecDeque<Result<ModelStreamEvent>>;

/// The pieces of an answer. The request is sent when it is first polled.
struct AnswerStream<A> {
    state: State<A>,
    /// What was read but not asked for yet: one event may have several pieces.
    ready: Pieces,
}

/// The answer of `endpoint` to a body that asks for a stream, put together by `answer`; or why there is no
/// such body.
pub(crate) fn ask_for_stream(
    endpoint: &Endpoint,
    body: Result<Vec<u8>>,
    answer: impl Assembly,
) -> BoxStream<'static, Result<ModelStreamEvent>> {
    match body {
        Ok(body) => AnswerStream::new(endpoint.clone(), body, answer).boxed(),
        Err(error) => stream::iter([Err(error)]).boxed(),
    }
}

enum State<A> {
    Asking(BoxFuture<'static, Result<Streamed>>, A),
    Reading(Box<Reading<A>>),
    /// The answer is complete, and waits for the end of the body.
    Ending(Box<Ending>),
    Ended,
}

struct Reading<A> {
    events: Events,
    answer: A,
}

struct Ending {
    events: Events,
    response: Box<ChatResponse>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<A: Assembly> AnswerStream<A> {
    /// The answer of `endpoint` to a body that asks for a stream, put together by `answer`.
    fn new(endpoint: Endpoint, body: Vec<u8>, answer: A) -> Self {
        let asking = async move { endpoint.stream(body, A::FRAMING).await };
        Self { state: State::Asking(Box::pin(asking), answer), ready: Pieces::new() }
    }

    /// The answer in these events.
    fn of(events: Events, answer: A) -> Self {
        let reading = Reading { events, answer };
        Self { state: State::Reading(Box::new(reading)), ready: Pieces::new() }
    }

    fn begin(&mut self, answered: Result<Streamed>) {
        let State::Asking(_, answer) = std::mem::replace(&mut self.state, State::Ended) else {
            return;
        };
        match answered {
            Ok(Streamed::Events(events)) => *self = Self::of(*events, answer),
            Ok(Streamed::Whole(whole)) => match A::read_whole(&whole) {
                Ok(response) => self.ready.extend(pieces(response).into_iter().map(Ok)),
                Err(error) => self.ready.push_back(Err(error)),
            },
            Err(error) => self.ready.push_back(Err(error)),
        }
    }
}

impl<A: Assembly> Stream for AnswerStream<A> {
    type Item = Result<ModelStreamEvent>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if let State::Asking(asking, _) = &mut this.state {
            let answered = ready!(asking.as_mut().poll(context));
            this.begin(answered);
        }
        this.poll_piece(context)
    }
}

impl<A: Assembly> AnswerStream<A> {
    /// The next piece of an answer that has begun.
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<ModelStreamEvent>>> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Poll::Ready(Some(piece));
            }
            match &mut self.state {
                State::Asking(..) | State::Ended => return Poll::Ready(None),
                State::Reading(reading) => {
                    let event = ready!(reading.events.poll_next(context));
                    match reading.read(event, &mut self.ready) {
                        Ok(Said::More) => {}
                        Ok(Said::Done) => self.end(),
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

    /// The last event was read.
    fn end(&mut self) {
        if let State::Reading(reading) = std::mem::replace(&mut self.state, State::Ended) {
            let Reading { events, answer } = *reading;
            let response = Box::new(answer.into_response(events.attempts()));
            self.state = State::Ending(Box::new(Ending { events, response, timer: None }));
        }
    }

    fn complete(&mut self) {
        if let State::Ending(ending) = std::mem::replace(&mut self.state, State::Ended) {
            self.ready.push_back(Ok(ModelStreamEvent::Completed(ending.response)));
        }
    }

    /// Ends with an error that keeps what had come.
    fn fail(&mut self, error: Error) {
        if let State::Reading(reading) = std::mem::replace(&mut self.state, State::Ended) {
            let error = error.with_usage(reading.answer.usage());
            let partial = reading.answer.into_partial();
            let error = error.map_source(|source| partial.with_source(source).into());
            self.ready.push_back(Err(error));
        }
    }
}

impl<A: Assembly> Reading<A> {
    fn read(&mut self, event: Option<Result<Event>>, ready: &mut Pieces) -> Result<Said> {
        let Some(event) = event else {
            return match A::ENDS_WITH_BODY && self.answer.is_complete() {
                true => Ok(Said::Done),
                false => Err(self.events.cut_off()),
            };
        };
        let Event { data, is_error } = event?;
        if is_error {
            return Err(self.events.reported_in(&data));
        }
        match self.answer.add(&data, &mut |piece| ready.push_back(Ok(piece))) {
            Ok(Said::Done) if !self.answer.is_complete() => Err(self.events.cut_off()),
            Ok(said) => Ok(said),
            Err(Wrong::Reported) => Err(self.events.reported_in(&data)),
            Err(Wrong::Failed(error)) => Err(self.events.annotate(error)),
            Err(Wrong::Unreadable(error)) => Err(self.events.unreadable(error)),
            Err(Wrong::TooManyCalls) => {
                let message = "the answer has more tool calls than any may have";
                Err(self.events.invalid(Error::new(ErrorKind::InvalidResponse, message)))
            }
        }
    }
}

impl Ending {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.events.poll_end(context).is_ready() {
            return Poll::Ready(());
        }
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(END)));
        timer.as_mut().poll(context)
    }
}
