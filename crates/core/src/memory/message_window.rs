//! A window that counts messages.

use super::window::{
    Limit, Maximum, MaximumGiven, NoMaximum, SystemPosition, Window, WindowParts,
    chat_memory_by_window,
};
use super::{ChatMemoryStore, MemoryId, Summarizer};
use crate::error::{Error, ErrorKind, Result};
use crate::message::{ChatMessage, Messages};
use std::fmt;
use std::sync::Arc;

const SETTER: &str = "max_messages";

/// A chat memory that holds the newest messages, up to a maximum number.
///
/// The maximum counts every message: system, user and assistant messages, each message with tool
/// calls and each tool result. Above the maximum, the oldest messages are evicted first. Without a
/// store, the messages live in this value. With a store, the value is cheap to create for each use
/// (up to three small allocations).
///
/// Within a service, whole turns are evicted, so the messages sent to a model start with a user
/// message. The current turn is never evicted. On its own, the memory behaves like LangChain4j's: a
/// system message at the front stays, an equal system message is ignored, a different one replaces
/// the old one, and the results of an evicted tool call are evicted with it.
///
/// # Examples
///
/// ```
/// use ai_services::memory::{ChatMemory, MessageWindowChatMemory};
/// use ai_services::message::ChatMessage;
///
/// # async fn example() -> ai_services::Result<()> {
/// let memory = MessageWindowChatMemory::builder().id("klaus").max_messages(2).build()?;
/// memory.add(ChatMessage::user("My name is Klaus.")).await?;
/// memory.add(ChatMessage::ai("Hello Klaus!")).await?;
/// memory.add(ChatMessage::user("What is my name?")).await?;
/// assert_eq!(memory.messages().await?[0].text(), Some("Hello Klaus!"));
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
/// ```
///
/// # Differences from LangChain4j
///
/// Several messages that are added together are written in one step, or not at all.
pub struct MessageWindowChatMemory(Window<MessageLimit>);

chat_memory_by_window!(MessageWindowChatMemory);

impl MessageWindowChatMemory {
    /// Starts building a memory. [`build`](MessageWindowChatMemoryBuilder::build) compiles only if a maximum is set.
    pub fn builder() -> MessageWindowChatMemoryBuilder {
        MessageWindowChatMemoryBuilder::default()
    }

    /// Creates a memory without a store, with the id [`DEFAULT_ID`](super::DEFAULT_ID), for up to
    /// `maximum` messages.
    ///
    /// With a maximum of zero, every use fails. The [`builder`](Self::builder) rejects zero
    /// immediately.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::memory::{ChatMemory, MessageWindowChatMemory};
    ///
    /// assert_eq!(MessageWindowChatMemory::with_max_messages(10).id().as_str(), "default");
    /// ```
    #[must_use]
    pub fn with_max_messages(maximum: usize) -> Self {
        Self(Window::unchecked(WindowParts::default(), MessageLimit(Maximum::Fixed(maximum))))
    }
}

impl fmt::Debug for MessageWindowChatMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_as("MessageWindowChatMemory", f)
    }
}

/// Builds a [`MessageWindowChatMemory`]. The type parameter records whether a maximum is set.
#[derive(Default)]
#[must_use]
pub struct MessageWindowChatMemoryBuilder<Max = NoMaximum> {
    parts: WindowParts,
    limit: Max,
}

impl<Max> MessageWindowChatMemoryBuilder<Max> {
    /// Sets the memory id: a string, a [`MemoryId`], or any other type that [converts to
    /// one](super::ToMemoryId). Default: [`DEFAULT_ID`](super::DEFAULT_ID).
    pub fn id(mut self, id: impl Into<MemoryId>) -> Self {
        self.parts.id = Some(id.into());
        self
    }

    /// Sets the maximum number of messages. At least 1.
    pub fn max_messages(self, maximum: usize) -> MessageWindowChatMemoryBuilder<MessageLimit> {
        self.limited(Maximum::Fixed(maximum))
    }

    /// Sets a function that returns the maximum number of messages. It is called whenever the
    /// memory is built or used.
    ///
    /// If the function returns 0, the use fails with
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration). Messages that a smaller
    /// window hides are visible again when the window grows, unless a message was added in between.
    pub fn dynamic_max_messages(
        self,
        maximum: impl Fn(&MemoryId) -> usize + Send + Sync + 'static,
    ) -> MessageWindowChatMemoryBuilder<MessageLimit> {
        self.limited(Maximum::Dynamic(Box::new(maximum)))
    }

    fn limited(self, maximum: Maximum) -> MessageWindowChatMemoryBuilder<MessageLimit> {
        MessageWindowChatMemoryBuilder { parts: self.parts, limit: MessageLimit(maximum) }
    }

    /// Sets the store of the messages. Default: the messages live in the memory itself.
    pub fn store(mut self, store: impl ChatMemoryStore + 'static) -> Self {
        self.parts.store = Some(Arc::new(store));
        self
    }

    /// Folds evicted turns into a summary, within a service. Default: evicted turns are forgotten.
    pub fn summarizer(mut self, summarizer: Summarizer) -> Self {
        self.parts.summarizer = Some(summarizer);
        self
    }

    /// Inserts an added system message before all other messages instead of after them.
    ///
    /// Within a service, the system message always comes first.
    pub fn always_keep_system_message_first(mut self) -> Self {
        self.parts.system_position = SystemPosition::First;
        self
    }

    /// Builds the memory.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if the maximum is zero.
    pub fn build(self) -> Result<MessageWindowChatMemory>
    where
        Max: MaximumGiven<MessageLimit>,
    {
        Ok(MessageWindowChatMemory(Window::new(self.parts, self.limit.into_limit())?))
    }
}

impl<Max: fmt::Debug> fmt::Debug for MessageWindowChatMemoryBuilder<Max> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageWindowChatMemoryBuilder")
            .field("id", &self.parts.id)
            .field("max_messages", &self.limit)
            .finish_non_exhaustive()
    }
}

/// State of a [`MessageWindowChatMemoryBuilder`]: the maximum number of messages was set.
pub struct MessageLimit(Maximum);

impl fmt::Debug for MessageLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Limit for MessageLimit {
    fn maximum(&self, id: &MemoryId) -> Result<usize> {
        self.0.now(id, SETTER)
    }

    fn size_of(&self, _: &ChatMessage) -> Result<usize> {
        Ok(1)
    }

    fn total(&self, messages: &Messages) -> Result<usize> {
        Ok(messages.len())
    }

    fn overhead(&self) -> usize {
        0
    }

    fn smallest_answer(&self) -> usize {
        1
    }

    fn too_large(&self, needed: usize, maximum: usize) -> Error {
        Error::new(
            ErrorKind::TurnTooLarge,
            format!(
                "this turn alone needs {needed} messages with its answer, but the chat memory's \
                 `max_messages` is {maximum}: raise it, or let the model call fewer tools"
            ),
        )
    }
}
