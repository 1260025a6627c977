//! One turn: a question, what happens on the way, and the answer, until it is there or Ctrl-C.

use crate::assistant::{Assistant, AssistantService};
use crate::page::{Look, Page};
use crate::screen::Screen;
use ai_services::model::TokenUsage;
use ai_services::{AnswerStream, Error, Response, StreamEvent};
use std::io;

/// How a turn ended. One that was not answered leaves no trace in the memory.
pub(crate) enum Ended {
    Answered(Box<Response<String>>),
    /// By Ctrl-C, after this was spent.
    Cancelled(TokenUsage),
    Failed(Error),
}

/// How the model is asked, and how its answers are shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    pub(crate) delivery: Delivery,
    pub(crate) look: Look,
}

/// How an answer comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Streamed,
    Whole,
}

/// A turn that runs.
pub(crate) struct Turn<'a> {
    service: &'a AssistantService,
    manner: Manner,
    page: Page<'a>,
    spent: TokenUsage,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(service: &'a AssistantService, manner: Manner, screen: &'a Screen) -> Self {
        let page = Page::new(manner.look, screen);
        Self { service, manner, page, spent: TokenUsage::default() }
    }

    /// Shows the answer to a question. Fails if it cannot be shown.
    pub(crate) async fn ask(mut self, user: &str, question: &str) -> io::Result<Ended> {
        let ended = tokio::select! {
            // First, so that no request is made that could not be cancelled.
            biased;
            _ = tokio::signal::ctrl_c() => None,
            ended = self.answer(user, question) => Some(ended?),
        };
        // What was shown so far stays.
        self.page.end_line()?;
        Ok(ended.unwrap_or(Ended::Cancelled(self.spent)))
    }

    async fn answer(&mut self, user: &str, question: &str) -> io::Result<Ended> {
        let form = self.manner.look.form();
        let answered = match self.manner.delivery {
            Delivery::Streamed => {
                let stream = self.service.stream(user, form, question);
                self.follow(stream).await?
            }
            Delivery::Whole => self.service.chat(user, form, question).await,
        };
        Ok(match answered {
            Ok(response) => {
                self.page.complete(&response.value)?;
                Ended::Answered(Box::new(response))
            }
            Err(error) => Ended::Failed(error),
        })
    }

    /// Shows what happens, up to the answer.
    async fn follow(
        &mut self,
        mut stream: AnswerStream,
    ) -> io::Result<ai_services::Result<Response<String>>> {
        while let Some(event) = stream.next().await {
            match event {
                Ok(StreamEvent::Text(piece)) => self.page.text(&piece)?,
                Ok(StreamEvent::Thinking(piece)) => self.page.thought(&piece)?,
                Ok(StreamEvent::ToolCall(call)) => {
                    if let Some(name) = call.name {
                        self.page.tool(&name)?;
                    }
                }
                Ok(StreamEvent::ToolStarted(call)) => self.page.tool(call.name())?,
                Ok(StreamEvent::ToolFinished(execution)) => self.page.tool_ran(&execution)?,
                Ok(StreamEvent::Usage(usage)) => self.spent = usage,
                Ok(StreamEvent::Restarted) => self.page.restart()?,
                Ok(StreamEvent::Completed(response)) => return Ok(Ok(*response)),
                Ok(_) => {}
                Err(error) => return Ok(Err(error)),
            }
        }
        Err(io::Error::other("a stream ends with an answer or an error"))
    }
}
