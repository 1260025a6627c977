//! What happens during a call, told to listeners.

use crate::error::Error;
use crate::guardrail::{GuardrailStage, InputVerdict, OutputVerdict};
use crate::invocation::{InvocationContext, MemoryId, ToolExecution};
use crate::message::ToolCall;
use crate::model::{ChatRequest, ChatResponse, Moderation, TokenUsage};
use crate::rag::{RetrievedContent, SkippedRetrieval};
use std::time::Duration;

/// Is told what happens during the calls of a service.
///
/// Listeners run on the calling task and should be quick. A closure of two arguments is one.
///
/// # Examples
///
/// ```
/// use ai_services::event::{Call, Event, Listener};
///
/// fn listener() -> impl Listener {
///     |call: &Call<'_>, event: &Event<'_>| {
///         if let Event::ToolFinished { execution } = event {
///             eprintln!("{}: a tool ran for {:?}", call.method, execution.duration());
///         }
///     }
/// }
/// # let _ = listener();
/// ```
#[doc(alias = "AiServiceListener")]
pub trait Listener: Send + Sync {
    /// Something happened in `call`.
    fn on_event(&self, call: &Call<'_>, event: &Event<'_>);
}

impl<F: Fn(&Call<'_>, &Event<'_>) + Send + Sync> Listener for F {
    fn on_event(&self, call: &Call<'_>, event: &Event<'_>) {
        self(call, event);
    }
}

/// Which call an event belongs to.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Call<'a> {
    /// The name of the trait.
    pub service: &'a str,
    /// The name of the method.
    pub method: &'a str,
    /// Whose call it is.
    pub memory_id: Option<&'a MemoryId>,
    /// The application's data.
    pub context: &'a InvocationContext,
}

impl<'a> Call<'a> {
    pub(crate) fn new(
        service: &'a str,
        method: &'a str,
        memory_id: Option<&'a MemoryId>,
        context: &'a InvocationContext,
    ) -> Self {
        Self { service, method, memory_id, context }
    }
}

/// Something that happened during a call, in the order in which the variants are listed. One of the last
/// three ends every call.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The call has begun; it may still wait for an earlier one on the same memory.
    Started,
    /// The stored history broke the rules of conversation and was repaired for this call.
    HistoryRepaired {
        /// Messages that were left out.
        dropped: usize,
        /// Tool results that were made up for calls without one.
        invented: usize,
    },
    /// Something was looked up for the user's message.
    Retrieved {
        /// What was found, best first.
        contents: &'a [RetrievedContent],
        /// Who failed and was passed over.
        skipped: &'a [SkippedRetrieval],
    },
    /// An input guardrail has looked at what the user said.
    InputChecked {
        /// Its name.
        guardrail: &'a str,
        /// What it thinks of it.
        verdict: &'a InputVerdict,
    },
    /// The model is being asked.
    RequestIssued {
        /// What it is asked.
        request: &'a ChatRequest,
    },
    /// The model has answered.
    ResponseReceived {
        /// What it answered.
        response: &'a ChatResponse,
    },
    /// The moderation model has judged what the user said, or the answer.
    ///
    /// What the user said is judged beside the first request, so that this may also come before the
    /// response; it always comes before a tool runs. An answer is judged after its guardrails.
    Moderated {
        /// The name of the moderation model.
        model: &'a str,
        /// What it judged: the input is what the user said, the output the answer.
        stage: GuardrailStage,
        /// What it thinks of it.
        verdict: &'a Moderation,
        /// How long it took.
        duration: Duration,
    },
    /// A tool is about to run.
    ToolStarted {
        /// What the model asked for.
        call: &'a ToolCall,
    },
    /// A tool has run, or failed. If its result is the answer, this comes before the answer is checked.
    ToolFinished {
        /// What it was asked and what it said.
        execution: &'a ToolExecution,
    },
    /// An output guardrail has looked at an answer.
    OutputChecked {
        /// Its name.
        guardrail: &'a str,
        /// What it thinks of it.
        verdict: &'a OutputVerdict,
    },
    /// The call has succeeded and is remembered.
    Completed {
        /// What all model calls cost together.
        usage: &'a TokenUsage,
    },
    /// The call has failed and is not remembered.
    Failed {
        /// Why.
        error: &'a Error,
    },
    /// The call's future was dropped; it is not remembered.
    Cancelled,
}
