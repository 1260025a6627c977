//! The context of a turn for retrieval and guardrails.

use super::{InvocationContext, MemoryId};
use crate::message::{ChatMessage, Messages, SystemMessage, UserMessage};
use crate::usage::UsageMeter;
use std::fmt;
use std::sync::Arc;

/// The context of one turn for retrieval and guardrails: the user message, the memory id, and the
/// messages before it.
///
/// Immutable, and cheap to clone.
///
/// # Examples
///
/// ```
/// use ai_services::TurnContext;
/// use ai_services::message::{ChatMessage, UserMessage};
///
/// let turn = TurnContext::builder(UserMessage::new("And his brother?"))
///     .history([ChatMessage::user("Who was Theo?"), ChatMessage::ai("An art dealer.")])
///     .build();
/// assert_eq!(turn.user_message().text(), Some("And his brother?"));
/// assert_eq!(turn.history().count(), 2);
/// ```
#[derive(Clone)]
pub struct TurnContext(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    user_message: UserMessage,
    system_message: Option<SystemMessage>,
    memory_id: Option<MemoryId>,
    history: Messages,
    /// Number of messages at the start of the history that were evicted from the window.
    skipped: usize,
    invocation: InvocationContext,
    meter: UsageMeter,
}

impl TurnContext {
    /// Starts building a context with the user message.
    pub fn builder(user_message: UserMessage) -> TurnContextBuilder {
        TurnContextBuilder(Inner {
            user_message,
            system_message: None,
            memory_id: None,
            history: Messages::new(),
            skipped: 0,
            invocation: InvocationContext::new(),
            meter: UsageMeter::new(),
        })
    }

    /// Returns the user message without retrieved content.
    ///
    /// Retrieval and input guardrails get the original message. Output guardrails get the message
    /// as the input guardrails changed it.
    #[must_use]
    pub fn user_message(&self) -> &UserMessage {
        &self.0.user_message
    }

    /// Returns a copy of this context with another user message.
    #[must_use]
    pub fn with_user_message(&self, message: UserMessage) -> Self {
        Self(Arc::new(Inner { user_message: message, ..(*self.0).clone() }))
    }

    /// Returns the system message, if there is one.
    #[must_use]
    pub fn system_message(&self) -> Option<&SystemMessage> {
        self.0.system_message.as_ref()
    }

    /// Returns the memory id of the conversation, if it has one.
    #[must_use]
    pub fn memory_id(&self) -> Option<&MemoryId> {
        self.0.memory_id.as_ref()
    }

    /// Returns the remembered messages before this turn, oldest first, without the system message.
    ///
    /// The summary of a [`Summarizer`](crate::memory::Summarizer) comes first: a question and its answer.
    pub fn history(&self) -> impl DoubleEndedIterator<Item = &ChatMessage> {
        self.0.history.iter().skip(self.0.skipped)
    }

    /// Returns the application's data of this call.
    #[must_use]
    pub fn invocation(&self) -> &InvocationContext {
        &self.0.invocation
    }

    /// Returns the meter for the models that are called on behalf of this turn.
    #[must_use]
    pub fn meter(&self) -> &UsageMeter {
        &self.0.meter
    }
}

impl fmt::Debug for TurnContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnContext")
            .field("memory_id", &self.0.memory_id)
            .field("invocation", &self.0.invocation)
            .finish_non_exhaustive()
    }
}

/// Builds a [`TurnContext`]. Services build their own; tests of retrieval and guardrails use this
/// builder.
#[must_use]
pub struct TurnContextBuilder(Inner);

impl TurnContextBuilder {
    /// Sets the system message.
    pub fn system_message(mut self, message: SystemMessage) -> Self {
        self.0.system_message = Some(message);
        self
    }

    /// Sets the memory id of the conversation.
    pub fn memory_id(mut self, id: MemoryId) -> Self {
        self.0.memory_id = Some(id);
        self
    }

    /// Sets the messages before this turn, oldest first.
    pub fn history(mut self, messages: impl IntoIterator<Item = ChatMessage>) -> Self {
        self.0.history = messages.into_iter().collect::<Vec<_>>().into();
        self.0.skipped = 0;
        self
    }

    /// Sets a history that is shared instead of copied. Skips its first `skipped` messages.
    #[doc(hidden)]
    pub fn shared_history(mut self, history: Messages, skipped: usize) -> Self {
        (self.0.history, self.0.skipped) = (history, skipped);
        self
    }

    /// Sets the application's data.
    pub fn invocation(mut self, context: InvocationContext) -> Self {
        self.0.invocation = context;
        self
    }

    /// Sets the meter that counts token usage.
    pub fn meter(mut self, meter: UsageMeter) -> Self {
        self.0.meter = meter;
        self
    }

    /// Builds the context.
    #[must_use]
    pub fn build(self) -> TurnContext {
        TurnContext(Arc::new(self.0))
    }
}

impl fmt::Debug for TurnContextBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnContextBuilder").finish_non_exhaustive()
    }
}
