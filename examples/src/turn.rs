//! One turn: a question, its events and its answer, or Ctrl-C.

use crate::answer_view::{AnswerView, OutputStyle};
use crate::assistant::{Assistant, AssistantService};
use crate::screen::Screen;
use ai_services::model::TokenUsage;
use ai_services::{AnswerStream, Error, ErrorKind, Response, StreamEvent};
use std::io;

/// Outcome of a turn.
pub(crate) enum TurnOutcome {
    Answered {
        usage: TokenUsage,
        tool_calls: usize,
    },
    /// The turn waits for approval.
    Suspended,
    /// Cancelled with Ctrl-C, with the usage so far.
    Cancelled(TokenUsage),
    Failed(Error),
}

impl From<Error> for TurnOutcome {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Suspended => Self::Suspended,
            _ => Self::Failed(error),
        }
    }
}

/// Options for the delivery and display of answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChatOptions {
    pub(crate) delivery: Delivery,
    pub(crate) style: OutputStyle,
    /// `true` if tools with effects wait for approval.
    pub(crate) asks_approval: bool,
}

/// Delivery of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Streamed,
    Whole,
}

/// A running turn.
pub(crate) struct ChatTurn<'a> {
    service: &'a AssistantService,
    options: ChatOptions,
    view: AnswerView<'a>,
    usage: TokenUsage,
}

impl<'a> ChatTurn<'a> {
    pub(crate) fn new(
        service: &'a AssistantService,
        options: ChatOptions,
        screen: &'a Screen,
    ) -> Self {
        let view = AnswerView::new(options.style, screen);
        Self { service, options, view, usage: TokenUsage::default() }
    }

    /// Answers a question and shows the answer. Fails if standard output cannot be written.
    pub(crate) async fn ask(mut self, user: &str, question: &str) -> io::Result<TurnOutcome> {
        let outcome = tokio::select! {
            // Poll the signal first, so that every request can be cancelled.
            biased;
            _ = tokio::signal::ctrl_c() => None,
            outcome = self.answer(user, question) => Some(outcome?),
        };
        // The text so far remains on the screen.
        self.view.end_line()?;
        Ok(outcome.unwrap_or(TurnOutcome::Cancelled(self.usage)))
    }

    async fn answer(&mut self, user: &str, question: &str) -> io::Result<TurnOutcome> {
        let form = self.options.style.form();
        let response = match self.options.delivery {
            Delivery::Streamed => {
                let stream = self.service.stream(user, form, question);
                self.follow(stream).await?
            }
            Delivery::Whole => self.service.chat(user, form, question).await,
        };
        match response {
            Ok(response) => self.complete(&response.value, &response),
            Err(error) => Ok(error.into()),
        }
    }

    /// Goes on with the open turn of the user and shows its answer. Returns `None` if no turn is open.
    pub(crate) async fn resume(mut self, user: &str) -> io::Result<Option<TurnOutcome>> {
        let turn = tokio::select! {
            biased;
            _ = tokio::signal::ctrl_c() => None,
            turn = self.service.resume(user) => Some(turn),
        };
        Ok(match turn {
            None => Some(TurnOutcome::Cancelled(self.usage)),
            Some(Ok(None)) => None,
            Some(Ok(Some(turn))) => {
                let text = turn.response.value.text().unwrap_or_default();
                Some(self.complete(text, &turn.response)?)
            }
            Some(Err(error)) => Some(error.into()),
        })
    }

    /// Shows the answer.
    fn complete<T>(&mut self, text: &str, response: &Response<T>) -> io::Result<TurnOutcome> {
        self.view.complete(text)?;
        let (usage, tool_calls) = (response.token_usage, response.tool_executions.len());
        Ok(TurnOutcome::Answered { usage, tool_calls })
    }

    /// Shows the events of a stream and returns the answer.
    async fn follow(
        &mut self,
        mut stream: AnswerStream,
    ) -> io::Result<ai_services::Result<Response<String>>> {
        while let Some(event) = stream.next().await {
            match event {
                Ok(StreamEvent::Text(piece)) => self.view.text(&piece)?,
                Ok(StreamEvent::Thinking(piece)) => self.view.thinking(&piece)?,
                Ok(StreamEvent::ToolCall(call)) => {
                    if let Some(name) = call.name {
                        self.view.tool(&name)?;
                    }
                }
                Ok(StreamEvent::ToolStarted(call)) => self.view.tool(call.name())?,
                Ok(StreamEvent::ToolProgressed { call, progress }) => {
                    self.view.tool_progressed(call.name(), &progress);
                }
                Ok(StreamEvent::ToolFinished(execution)) => self.view.tool_ran(&execution)?,
                Ok(StreamEvent::Usage(usage)) => self.usage = usage,
                Ok(StreamEvent::Restarted) => self.view.restart()?,
                Ok(StreamEvent::Completed(response)) => return Ok(Ok(*response)),
                Ok(StreamEvent::Pending(pending)) => return Ok(Err((*pending).into())),
                Ok(_) => {}
                Err(error) => return Ok(Err(error)),
            }
        }
        Err(io::Error::other("the stream ended without an answer or an error"))
    }
}
