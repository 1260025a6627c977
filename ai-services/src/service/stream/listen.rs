//! Listening to a model while it answers.

use super::outlet::{Outlet, Progress};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ChatResponse, ModelStreamEvent, ToolCallDelta};
use crate::service::guards::{Chunks, Part};
use crate::service::moderation::Verdict;
use futures_util::stream::{BoxStream, StreamExt};

/// Who is told what a model says.
pub(crate) struct Listening<'a> {
    /// Nobody, if the answer is held back until the whole of it was checked.
    pub(crate) outlet: Option<&'a Outlet>,
    /// The tool whose arguments are the answer.
    pub(crate) answer_tool: Option<&'a str>,
    /// Who checks the pieces.
    pub(crate) chunks: Chunks<'a>,
}

/// Hands on what a model says, and gives its whole answer at the end. Nothing is handed on before
/// the verdict on the user's message is there.
pub(crate) async fn listen(
    mut model: BoxStream<'_, Result<ModelStreamEvent>>,
    verdict: &mut Verdict<'_>,
    listening: Listening<'_>,
) -> Result<ChatResponse> {
    let mut event = verdict.beside(async { Ok(model.next().await) }).await?;
    verdict.verify().await.map_err(|error| with_cost(error, event.as_ref()))?;
    let Listening { outlet, answer_tool, chunks } = listening;
    let translation = Translation { answer_tool, ..Translation::default() };
    let mut telling = Telling { outlet, translation, chunks };
    loop {
        match event {
            Some(Ok(ModelStreamEvent::Completed(response))) => return telling.end(*response).await,
            Some(Ok(ModelStreamEvent::Text(text))) => telling.text(Part::Text, text).await?,
            Some(Ok(ModelStreamEvent::Thinking(text))) => {
                telling.tell(Progress::Thinking(text)).await
            }
            Some(Ok(ModelStreamEvent::ToolCall(delta))) => telling.call(delta).await?,
            Some(Err(error)) => return Err(error),
            None => return Err(no_end()),
        }
        event = model.next().await;
    }
}

/// An answer that was there already when the message turned out to be flagged was paid for, and so was one
/// that failed.
fn with_cost(error: Error, event: Option<&Result<ModelStreamEvent>>) -> Error {
    match event {
        Some(Ok(ModelStreamEvent::Completed(response))) => error.with_usage(response.usage),
        Some(Err(failed)) => match failed.usage() {
            Some(usage) => error.with_usage(*usage),
            None => error,
        },
        _ => error,
    }
}

/// An answer that is being told.
struct Telling<'a> {
    outlet: Option<&'a Outlet>,
    translation: Translation<'a>,
    chunks: Chunks<'a>,
}

impl Telling<'_> {
    async fn tell(&mut self, progress: Progress) {
        if let Some(outlet) = self.outlet {
            outlet.send(progress).await;
        }
    }

    async fn text(&mut self, part: Part, text: String) -> Result<()> {
        let told = self.chunks.check(part, text)?;
        self.tell_text(part, told).await;
        Ok(())
    }

    async fn tell_text(&mut self, part: Part, text: String) {
        // Text beside a tool that takes the answer is none of it.
        let is_beside = part == Part::Text && self.translation.answer.is_some();
        if !text.is_empty() && !is_beside {
            self.translation.has_text |= part == Part::Text;
            self.tell(Progress::Text(text)).await;
        }
    }

    async fn call(&mut self, delta: ToolCallDelta) -> Result<()> {
        if self.translation.begins_answer(&delta) {
            self.tell(Progress::Restarted).await;
        }
        match self.translation.is_answer(&delta) {
            true => self.text(Part::Answer, delta.arguments).await,
            false => {
                self.tell(Progress::ToolCall(delta)).await;
                Ok(())
            }
        }
    }

    /// The whole answer, as it was told.
    async fn end(mut self, response: ChatResponse) -> Result<ChatResponse> {
        for part in [Part::Text, Part::Answer] {
            let rest = self.chunks.finish(part);
            let rest = rest.map_err(|error| error.with_usage(response.usage))?;
            self.tell_text(part, rest).await;
        }
        self.chunks.applied_to(response, self.translation.answer_tool)
    }
}

/// What a tool takes as the answer is told as its text.
#[derive(Default)]
struct Translation<'a> {
    answer_tool: Option<&'a str>,
    /// The number of the call that is the answer.
    answer: Option<usize>,
    /// Whether there was text before it.
    has_text: bool,
}

impl Translation<'_> {
    /// Whether the call turns out to be the answer, after a text that is none.
    fn begins_answer(&mut self, delta: &ToolCallDelta) -> bool {
        let begins = self.answer.is_none()
            && self.answer_tool.is_some()
            && delta.name.as_deref() == self.answer_tool;
        if begins {
            self.answer = Some(delta.index);
        }
        begins && self.has_text
    }

    fn is_answer(&self, delta: &ToolCallDelta) -> bool {
        self.answer == Some(delta.index)
    }
}

fn no_end() -> Error {
    Error::new(ErrorKind::InvalidResponse, "the model's stream ended without an answer")
}
