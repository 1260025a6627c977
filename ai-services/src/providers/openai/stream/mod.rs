//! Answers that come piece by piece.

mod assembly;
mod calls;

use super::response;
use crate::error::{Error, ErrorKind, Result};
use crate::http::{Endpoint, Event, Events, Streamed};
use crate::model::{ChatResponse, StreamEvent, pieces};
use assembly::{Assembly, Said, Wrong};
use futures_util::Stream;
use futures_util::future::BoxFuture;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Sleep;

/// All events of an answer whose bytes are there already, split like this.
#[cfg(feature = "_fuzzing")]
pub(crate) fn read_pieces(pieces: impl IntoIterator<Item = Vec<u8>>) -> Vec<Result<StreamEvent>> {
    use futures_util::{FutureExt, StreamExt};
    let events = crate::http::given::events(pieces);
    AnswerStream::of(events).collect::<Vec<_>>().now_or_never().unwrap_or_default()
}

/// How long the end of a body is waited for after the last event. It usually comes with it; a
/// connection whose body has ended serves the next request.
const END: Duration = Duration::from_millis(50);

type Pieces = VecDeque<Result<StreamEvent>>;

/// The pieces of an answer. The request is sent when it is first polled.
pub(super) struct AnswerStream<'a> {
    state: State<'a>,
    /// What was read but not asked for yet: one event may have several pieces.
    ready: Pieces,
}

enum State<'a> {
    Asking(&'a Endpoint, BoxFuture<'a, Result<Streamed<'a>>>),
    Reading(Box<Reading<'a>>),
    /// The answer is complete, and waits for the end of the body.
    Ending(Box<Ending<'a>>),
    Ended,
}

struct Reading<'a> {
    events: Events<'a>,
    answer: Assembly,
}

struct Ending<'a> {
    events: Events<'a>,
    response: Box<ChatResponse>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<'a> AnswerStream<'a> {
    /// The answer of `endpoint` to a body that asks for a stream.
    pub(super) fn new(endpoint: &'a Endpoint, body: Vec<u8>) -> Self {
        let asking = State::Asking(endpoint, Box::pin(endpoint.stream(body)));
        Self { state: asking, ready: Pieces::new() }
    }

    /// The answer in these events.
    fn of(events: Events<'a>) -> Self {
        let reading = Reading { events, answer: Assembly::default() };
        Self { state: State::Reading(Box::new(reading)), ready: Pieces::new() }
    }
}

impl Stream for AnswerStream<'_> {
    type Item = Result<StreamEvent>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if let State::Asking(endpoint, asking) = &mut this.state {
            let answered = ready!(asking.as_mut().poll(context));
            let endpoint = *endpoint;
            match answered {
                Ok(Streamed::Events(events)) => *this = Self::of(*events),
                Ok(Streamed::Whole(answer)) => {
                    this.state = State::Ended;
                    match response::read(&answer, endpoint) {
                        Ok(response) => this.ready.extend(pieces(response).into_iter().map(Ok)),
                        Err(error) => this.ready.push_back(Err(error)),
                    }
                }
                Err(error) => {
                    this.state = State::Ended;
                    this.ready.push_back(Err(error));
                }
            }
        }
        this.poll_piece(context)
    }
}

impl AnswerStream<'_> {
    /// The next piece of an answer that has begun.
    pub(super) fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<StreamEvent>>> {
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
            self.ready.push_back(Ok(StreamEvent::Completed(ending.response)));
        }
    }

    /// Ends with an error that keeps what had come.
    fn fail(&mut self, error: Error) {
        if let State::Reading(reading) = std::mem::replace(&mut self.state, State::Ended) {
            let error = error.with_usage(reading.answer.usage);
            let partial = reading.answer.into_partial();
            let error = error.map_source(|source| partial.with_source(source).into());
            self.ready.push_back(Err(error));
        }
    }
}

impl Reading<'_> {
    fn read(&mut self, event: Option<Result<Event>>, ready: &mut Pieces) -> Result<Said> {
        let Some(event) = event else { return Err(self.events.cut_off()) };
        let Event { data, is_error } = event?;
        if is_error {
            return Err(self.events.error_in(&data));
        }
        let invalid = |message| Error::new(ErrorKind::InvalidResponse, message);
        match self.answer.add(&data, |piece| ready.push_back(Ok(piece))) {
            Ok(Said::Done) if !self.answer.is_complete() => Err(self.events.cut_off()),
            Ok(said) => Ok(said),
            Err(Wrong::Reported) => Err(self.events.error_in(&data)),
            Err(Wrong::Unreadable(error)) => {
                let wrong = invalid("the answer does not follow the protocol");
                Err(self.events.invalid(wrong.with_source(error)))
            }
            Err(Wrong::TooManyCalls) => Err(self
                .events
                .invalid(invalid("the answer has more tool calls than any may have"))),
        }
    }
}

impl Ending<'_> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.events.poll_end(context).is_ready() {
            return Poll::Ready(());
        }
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(END)));
        timer.as_mut().poll(context)
    }
}
