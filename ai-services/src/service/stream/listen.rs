//! Listening to a model while it answers.

use super::outlet::{Outlet, Progress};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ChatResponse, StreamEvent, ToolCallDelta};
use crate::service::moderation::Verdict;
use futures_util::stream::{BoxStream, StreamExt};

/// Hands on what a model says, and gives its whole answer at the end. Nothing is handed on before
/// the verdict on the user's message is there.
pub(crate) async fn listen(
    mut model: BoxStream<'_, Result<StreamEvent>>,
    outlet: &Outlet,
    verdict: &mut Verdict<'_>,
    answer_tool: Option<&str>,
) -> Result<ChatResponse> {
    let mut event = verdict.beside(async { Ok(model.next().await) }).await?;
    verdict.verify().await?;
    let mut translation = Translation { answer_tool, ..Translation::default() };
    loop {
        let piece = match event {
            Some(Ok(StreamEvent::Completed(response))) => return Ok(*response),
            Some(Ok(StreamEvent::Text(text))) => {
                translation.has_text |= !text.is_empty();
                Progress::Text(text)
            }
            Some(Ok(StreamEvent::Thinking(text))) => Progress::Thinking(text),
            Some(Ok(StreamEvent::ToolCall(delta))) => {
                if translation.begins_answer(&delta) {
                    outlet.send(Progress::Restarted).await;
                }
                translation.translate(delta)
            }
            Some(Err(error)) => return Err(error),
            None => return Err(no_end()),
        };
        if !matches!(&piece, Progress::Text(text) if text.is_empty()) {
            outlet.send(piece).await;
        }
        event = model.next().await;
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

    fn translate(&self, delta: ToolCallDelta) -> Progress {
        match self.answer == Some(delta.index) {
            true => Progress::Text(delta.arguments),
            false => Progress::ToolCall(delta),
        }
    }
}

fn no_end() -> Error {
    Error::new(ErrorKind::InvalidResponse, "the model's stream ended without an answer")
}
