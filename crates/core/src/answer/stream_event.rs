//! The events of a streamed answer.

use super::response::Response;
use crate::approval::PendingTurn;
use crate::message::ToolCall;
use crate::model::{TokenUsage, ToolCallDelta};
use crate::rag::RetrievedContent;
use crate::tool::{ToolExecution, ToolProgress};

/// An item of an `AnswerStream`: an event of the call, or the answer.
///
/// A *model* streams [`model::ModelStreamEvent`](crate::model::ModelStreamEvent)s. One call may
/// contain several streams of a model, with tool calls in between. More variants may be added, so
/// match with a wildcard.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StreamEvent<T = String> {
    /// The content that was retrieved for the user message, best first. May be empty. Sent before
    /// all other events if the service has a retriever.
    Retrieved(Vec<RetrievedContent>),
    /// A piece of the model's text. All pieces since the last tool call form the answer.
    Text(String),
    /// A piece of the model's thinking.
    Thinking(String),
    /// A piece of a tool call while the model writes it.
    ToolCall(ToolCallDelta),
    /// A tool is about to run.
    ToolStarted(ToolCall),
    /// A running tool has [reported](crate::tool::ToolInput::report) its progress. While the stream is not polled,
    /// only the last report of each tool is kept.
    ToolProgressed {
        /// The tool call.
        call: ToolCall,
        /// The last progress.
        progress: ToolProgress,
    },
    /// A tool has run or failed. If its result is the answer and answers are checked, the event is
    /// sent after the answer was accepted unchanged; a rewritten answer is sent as text instead.
    ToolFinished(Box<ToolExecution>),
    /// The token usage of the turn so far. Sent after every response of the model.
    Usage(TokenUsage),
    /// The text so far is void: it was not an answer of the method's type, and the model answers
    /// again.
    Restarted,
    /// The turn waits for decisions about its tool calls. The last event of a suspended turn.
    Pending(Box<PendingTurn>),
    /// The complete answer, as the last event. The turn is in the memory.
    Completed(Box<Response<T>>),
}
