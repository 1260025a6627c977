//! Events of a call.

use crate::approval::PendingTurn;
use crate::error::Error;
use crate::guardrail::{GuardrailStage, InputVerdict, OutputVerdict};
use crate::invocation::{InvocationContext, MemoryId, ToolExecution, TurnId};
use crate::message::{ChatMessage, ToolCall, UserMessage};
use crate::model::{ChatRequest, ChatResponse, Cost, Moderation, TokenUsage};
use crate::rag::{RetrievedContent, SkippedRetrieval};
use crate::tool::ToolProgress;
use std::time::Duration;

pub use crate::invocation::CallId;

/// The call that an event belongs to.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Call<'a> {
    /// The id of the call, the same in all of its events.
    pub id: CallId,
    /// The call whose model called this one as a tool, if its service has a listener.
    pub outer: Option<CallId>,
    /// The name of the trait.
    pub service: &'a str,
    /// The name of the method.
    pub method: &'a str,
    /// The memory id of the call, if it has one.
    pub memory_id: Option<&'a MemoryId>,
    /// The application's data.
    pub context: &'a InvocationContext,
}

impl<'a> Call<'a> {
    #[doc(hidden)]
    pub fn new(
        id: CallId,
        service: &'a str,
        method: &'a str,
        memory_id: Option<&'a MemoryId>,
        context: &'a InvocationContext,
    ) -> Self {
        Self { id, outer: None, service, method, memory_id, context }
    }

    /// Sets the call around this one.
    #[doc(hidden)]
    #[must_use]
    pub fn within(self, outer: Option<CallId>) -> Self {
        Self { outer, ..self }
    }
}

/// An event of a call.
///
/// Events occur in the order of the variants. Every call ends with one of the last four.
/// `AiServiceBuilder::listener` adds a listener that receives them.
///
/// A listener runs within the `tracing` span of the step: `chat` for requests and responses, `execute_tool`,
/// `retrieve`, `guardrail`, `summarize` and `moderation` for theirs, and `invoke_agent` for all others.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The call has started. It may still wait for an earlier call with the same memory id.
    Started,
    /// The prompts, as rendered from the templates of the method. Follows [`Started`](Self::Started).
    PromptsRendered {
        /// The system message of the method, if it has one.
        system: Option<&'a ChatMessage>,
        /// The user message, before guardrails and retrieval change it.
        user: &'a UserMessage,
    },
    /// The conversation was loaded. Occurs once for each attempt at the turn, if the call has a memory.
    MemoryLoaded {
        /// The version of the conversation, if its memory has versions.
        version: Option<u64>,
        /// Number of messages.
        messages: usize,
    },
    /// The stored history was malformed, and was repaired for this call.
    HistoryRepaired {
        /// Number of messages that were left out.
        dropped: usize,
        /// Number of tool results that were inserted for tool calls without a result.
        added: usize,
        /// `true` if messages were moved: tool results to the order of their calls, or a system message to
        /// the start.
        is_reordered: bool,
    },
    /// The call goes on with an open turn from its journal: a turn that was interrupted after it called tools.
    TurnResumed {
        /// The turn.
        turn: TurnId,
    },
    /// Content was retrieved for the user message.
    Retrieved {
        /// The retrieved contents, best first.
        contents: &'a [RetrievedContent],
        /// The retrievers that failed and were skipped.
        skipped: &'a [SkippedRetrieval],
    },
    /// An input guardrail has checked the user message.
    InputChecked {
        /// The name of the guardrail.
        guardrail: &'a str,
        /// The verdict of the guardrail.
        verdict: &'a InputVerdict,
    },
    /// The oldest turns did not fit into the window, and were folded into a summary by the memory's
    /// [`Summarizer`](crate::memory::Summarizer), or evicted because the summary failed. The memory is
    /// changed when the turn is stored.
    HistorySummarized {
        /// The name of the model that summarizes.
        model: &'a str,
        /// Number of messages that the summary replaces, or that are evicted.
        messages: usize,
        /// The summary, or the error because of which there is none.
        summary: Result<&'a str, &'a Error>,
        /// The usage of the model, also of a failed summary. Included in the usage of the call.
        usage: TokenUsage,
        /// The duration of the summary.
        duration: Duration,
    },
    /// A request is being sent to the model.
    RequestIssued {
        /// The request.
        request: &'a ChatRequest,
    },
    /// The model has not answered the request, or its answer was rejected while it arrived.
    RequestFailed {
        /// The error.
        error: &'a Error,
    },
    /// The model has answered.
    ResponseReceived {
        /// The response.
        response: &'a ChatResponse,
    },
    /// The moderation model has judged the user message or the answer.
    ///
    /// The user message is judged while the first request runs, so this event may come before the
    /// response. It always comes before a tool runs. An answer is judged after its output
    /// guardrails.
    Moderated {
        /// The name of the moderation model.
        model: &'a str,
        /// The stage that was judged: input for the user message, output for the answer.
        stage: GuardrailStage,
        /// The verdict of the moderation model.
        verdict: &'a Moderation,
        /// The duration of the moderation call.
        duration: Duration,
    },
    /// A tool is about to run.
    ToolStarted {
        /// The tool call that the model requested.
        call: &'a ToolCall,
    },
    /// A running tool has [reported](crate::tool::ToolInput::report) its progress.
    ToolProgressed {
        /// The tool call that the model requested.
        call: &'a ToolCall,
        /// The last progress.
        progress: &'a ToolProgress,
    },
    /// A tool has run, or failed, or has an [unknown outcome](ToolExecution::has_unknown_outcome). If its result is
    /// the answer, this event comes before the answer is checked.
    ToolFinished {
        /// The tool call and its result.
        execution: &'a ToolExecution,
    },
    /// An output guardrail has checked an answer.
    OutputChecked {
        /// The name of the guardrail.
        guardrail: &'a str,
        /// The verdict of the guardrail.
        verdict: &'a OutputVerdict,
    },
    /// The answer could not be read as the return type of the method. The model is called again, or the call fails.
    AnswerUnreadable {
        /// The reason.
        error: &'a Error,
    },
    /// Another writer has changed the conversation. The turn starts over with
    /// [`MemoryLoaded`](Self::MemoryLoaded).
    TurnReplayed {
        /// The conflict.
        error: &'a Error,
    },
    /// The turn was stored in the memory. Does not occur if the call has none.
    TurnStored {
        /// The version that the turn is based on, if the memory has versions. The new version is that of the next
        /// [`MemoryLoaded`](Self::MemoryLoaded) of the conversation.
        based_on: Option<u64>,
        /// Number of messages of the turn.
        messages: usize,
    },
    /// The call has succeeded, and its turn is stored in the memory, if the call has one.
    Completed {
        /// The usage of all model calls together.
        usage: &'a TokenUsage,
        /// The cost of all model calls together. `None` without a price table.
        cost: Option<&'a Cost>,
    },
    /// The turn waits for decisions about its tool calls. The call ends with this event.
    Suspended {
        /// The calls that wait.
        pending: &'a PendingTurn,
    },
    /// The call has failed, and its turn is not stored.
    Failed {
        /// The error that the call returns.
        error: &'a Error,
    },
    /// The call's future was dropped, or a part of the application panicked in it. Its turn is not
    /// stored.
    Cancelled,
}
