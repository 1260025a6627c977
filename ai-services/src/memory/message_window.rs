//! A window that counts messages.

use super::window::{Limit, Maximum, Parts, SystemPosition, Window, chat_memory_by_window};
use super::{ChatMemoryStore, MemoryId};
use crate::error::{Error, ErrorKind, Result};
use crate::message::{ChatMessage, Messages};
use std::fmt;
use std::sync::Arc;

const SETTER: &str = "max_messages";

/// A chat memory that keeps the newest messages, up to a number of them.
///
/// The maximum counts every message: the system message, the user's, the model's, each call of
/// tools and each result. When there are too many, the oldest go first. Without a store the
/// messages live in this value; with one the value is cheap to make anew for each use (up to
/// three small allocations).
///
/// Within a service whole turns are evicted, so that what a model sees starts with a user message;
/// the current turn never is. On its own, the memory does what LangChain4j's does: a system message
/// at the front stays, one that equals the present one is ignored and a different one replaces it,
/// and the results of an evicted call go with it.
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
/// Several messages added at once are written at once, or not at all.
pub struct MessageWindowChatMemory(Window<MessageLimit>);

chat_memory_by_window!(MessageWindowChatMemory);

impl MessageWindowChatMemory {
    /// Starts a memory. A maximum must be set.
    pub fn builder() -> MessageWindowChatMemoryBuilder {
        MessageWindowChatMemoryBuilder::default()
    }

    /// A memory of its own, with the id [`DEFAULT_ID`](super::DEFAULT_ID), for up to `maximum`
    /// messages.
    ///
    /// A maximum of zero makes every use fail; the [`builder`](Self::builder) refuses it at once.
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
        Self(Window::unchecked(Parts::default(), MessageLimit(Maximum::Fixed(maximum))))
    }
}

impl fmt::Debug for MessageWindowChatMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_as("MessageWindowChatMemory", f)
    }
}

/// Builds a [`MessageWindowChatMemory`].
#[derive(Default)]
#[must_use]
pub struct MessageWindowChatMemoryBuilder {
    parts: Parts,
    maximum: Option<Maximum>,
}

impl MessageWindowChatMemoryBuilder {
    /// Whose memory it is: a string, a [`MemoryId`], or anything else that
    /// [can be one](super::ToMemoryId). [`DEFAULT_ID`](super::DEFAULT_ID) unless set.
    pub fn id(mut self, id: impl Into<MemoryId>) -> Self {
        self.parts.id = Some(id.into());
        self
    }

    /// How many messages fit, at least one.
    pub fn max_messages(mut self, maximum: usize) -> Self {
        self.maximum = Some(Maximum::Fixed(maximum));
        self
    }

    /// How many messages fit, asked anew whenever the memory is built or used.
    ///
    /// A use for which the function says 0 fails with
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration). Messages that a shrunken
    /// window hides come back when it grows, unless something was added in between.
    pub fn dynamic_max_messages(
        mut self,
        maximum: impl Fn(&MemoryId) -> usize + Send + Sync + 'static,
    ) -> Self {
        self.maximum = Some(Maximum::Dynamic(Box::new(maximum)));
        self
    }

    /// Where the messages are kept. Unless set, they live in the memory itself.
    pub fn store(mut self, store: impl ChatMemoryStore + 'static) -> Self {
        self.parts.store = Some(Arc::new(store));
        self
    }

    /// Puts an added system message before all others instead of behind them.
    ///
    /// Within a service the system message comes first in any case.
    pub fn always_keep_system_message_first(mut self) -> Self {
        self.parts.system_position = SystemPosition::First;
        self
    }

    /// The memory.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if no maximum was set, or if it
    /// is zero.
    pub fn build(self) -> Result<MessageWindowChatMemory> {
        let maximum = self.maximum.ok_or_else(|| Maximum::missing(SETTER))?;
        Ok(MessageWindowChatMemory(Window::new(self.parts, MessageLimit(maximum))?))
    }
}

impl fmt::Debug for MessageWindowChatMemoryBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageWindowChatMemoryBuilder")
            .field("id", &self.parts.id)
            .field("max_messages", &self.maximum)
            .finish_non_exhaustive()
    }
}

/// One message is one unit.
#[derive(Debug)]
struct MessageLimit(Maximum);

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
