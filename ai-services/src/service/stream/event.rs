//! What a stream of a service tells.

use super::outlet::Progress;
use crate::invocation::ToolExecution;
use crate::message::ToolCall;
use crate::model::{TokenUsage, ToolCallDelta};
use crate::rag::RetrievedContent;
use crate::service::response::Response;

/// An item of an [`AnswerStream`](super::AnswerStream): something that happened on the way to the answer,
/// or the answer itself.
///
/// What a *model* streams is a [`model::ModelStreamEvent`](crate::model::ModelStreamEvent); a call may consist
/// of several streams of a model, with tools running in between. More variants may be added, so match
/// with a wildcard.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StreamEvent<T = String> {
    /// What was retrieved for the user's message, best first; perhaps nothing. Told before everything else,
    /// if the service has a retriever.
    Retrieved(Vec<RetrievedContent>),
    /// A piece of the model's text. The pieces since the last tool together are the answer.
    Text(String),
    /// A piece of what the model thinks.
    Thinking(String),
    /// A piece of a tool call that the model is writing.
    ToolCall(ToolCallDelta),
    /// A tool is about to run.
    ToolStarted(ToolCall),
    /// A tool has run, or failed. If its result is the answer and answers are checked, this is told once the
    /// answer was accepted as it is; if it was rewritten, that is told as text instead.
    ToolFinished(Box<ToolExecution>),
    /// The tokens of the turn so far; told after every answer of the model.
    Usage(TokenUsage),
    /// The text so far was not an answer of the method's type. It is void: the model was told what is
    /// wrong with it and answers again.
    Restarted,
    /// The end: the whole answer. The turn is in the memory.
    Completed(Box<Response<T>>),
}

impl<T> From<Progress> for StreamEvent<T> {
    fn from(progress: Progress) -> Self {
        match progress {
            Progress::Retrieved(contents) => Self::Retrieved(contents),
            Progress::Text(text) => Self::Text(text),
            Progress::Thinking(text) => Self::Thinking(text),
            Progress::ToolCall(delta) => Self::ToolCall(delta),
            Progress::ToolStarted(call) => Self::ToolStarted(call),
            Progress::ToolFinished(execution) => Self::ToolFinished(execution),
            Progress::Usage(usage) => Self::Usage(usage),
            Progress::Restarted => Self::Restarted,
        }
    }
}
