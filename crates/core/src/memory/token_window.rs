//! A window that counts tokens.

use super::tokens::{Counted, TokenCountEstimator};
use super::window::{
    Limit, Maximum, MaximumGiven, NoMaximum, SystemPosition, Window, WindowParts,
    chat_memory_by_window,
};
use super::{ChatMemoryStore, MemoryId, Summarizer};
use crate::error::{Error, ErrorKind, Result};
use crate::message::{ChatMessage, Messages};
use std::fmt;
use std::sync::Arc;

const SETTER: &str = "max_tokens";

/// A chat memory that holds the newest messages, up to a maximum number of tokens.
///
/// A message is kept or evicted as a whole. Above the maximum, the oldest messages are evicted
/// first. In other respects this memory equals the
/// [`MessageWindowChatMemory`](super::MessageWindowChatMemory). Each message is counted once: its
/// count is cached with the message and the sum with the list, so the cost of adding a message does
/// not depend on the size of the window. For a memory that is created for each use, this requires
/// an estimator with an [identity](TokenCountEstimator::identity). The estimators of this crate
/// have one.
///
/// # Examples
///
/// ```
/// use ai_services::memory::{
///     ApproximateCounter, ChatMemory, InMemoryChatMemoryStore, MemoryId, TokenWindowChatMemory,
/// };
/// use ai_services::message::ChatMessage;
///
/// # async fn example() -> ai_services::Result<()> {
/// let store = InMemoryChatMemoryStore::new();
/// let provider = move |id: &MemoryId| {
///     TokenWindowChatMemory::builder()
///         .id(id)
///         .max_tokens(4_000, ApproximateCounter)
///         .store(store.clone())
///         .build()
/// };
/// let memory = provider(&"klaus".into())?;
/// memory.add(ChatMessage::user("My name is Klaus.")).await?;
/// assert_eq!(memory.messages().await?.len(), 1);
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
/// ```
///
/// # Differences from LangChain4j
///
/// Several messages that are added together are written in one step, or not at all. A message is
/// counted only once.
pub struct TokenWindowChatMemory(Window<TokenLimit>);

chat_memory_by_window!(TokenWindowChatMemory);

impl TokenWindowChatMemory {
    /// Starts building a memory. [`build`](TokenWindowChatMemoryBuilder::build) compiles only if a maximum and an
    /// estimator are set.
    pub fn builder() -> TokenWindowChatMemoryBuilder {
        TokenWindowChatMemoryBuilder::default()
    }
}

impl fmt::Debug for TokenWindowChatMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_as("TokenWindowChatMemory", f)
    }
}

/// Builds a [`TokenWindowChatMemory`]. The type parameter records whether a maximum is set.
#[derive(Default)]
#[must_use]
pub struct TokenWindowChatMemoryBuilder<Max = NoMaximum> {
    parts: WindowParts,
    limit: Max,
}

impl<Max> TokenWindowChatMemoryBuilder<Max> {
    /// Sets the memory id: a string, a [`MemoryId`], or any other type that [converts to
    /// one](super::ToMemoryId). Default: [`DEFAULT_ID`](super::DEFAULT_ID).
    pub fn id(mut self, id: impl Into<MemoryId>) -> Self {
        self.parts.id = Some(id.into());
        self
    }

    /// Sets the maximum number of tokens, at least 1, and the estimator that counts them. Includes
    /// the overhead of the list.
    pub fn max_tokens(
        self,
        maximum: usize,
        estimator: impl TokenCountEstimator + 'static,
    ) -> TokenWindowChatMemoryBuilder<TokenLimit> {
        self.limited(Maximum::Fixed(maximum), Counted::new(estimator))
    }

    /// Sets a function that returns the maximum number of tokens, and the estimator that counts
    /// them. The function is called whenever the memory is built or used.
    ///
    /// If the function returns 0, the use fails with
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration). Messages that a smaller
    /// window hides are visible again when the window grows, unless a message was added in between.
    pub fn dynamic_max_tokens(
        self,
        maximum: impl Fn(&MemoryId) -> usize + Send + Sync + 'static,
        estimator: impl TokenCountEstimator + 'static,
    ) -> TokenWindowChatMemoryBuilder<TokenLimit> {
        self.limited(Maximum::Dynamic(Box::new(maximum)), Counted::new(estimator))
    }

    fn limited(
        self,
        maximum: Maximum,
        tokens: Counted,
    ) -> TokenWindowChatMemoryBuilder<TokenLimit> {
        let limit = TokenLimit { maximum, tokens };
        TokenWindowChatMemoryBuilder { parts: self.parts, limit }
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
    pub fn build(self) -> Result<TokenWindowChatMemory>
    where
        Max: MaximumGiven<TokenLimit>,
    {
        Ok(TokenWindowChatMemory(Window::new(self.parts, self.limit.into_limit())?))
    }
}

impl<Max: fmt::Debug> fmt::Debug for TokenWindowChatMemoryBuilder<Max> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenWindowChatMemoryBuilder")
            .field("id", &self.parts.id)
            .field("max_tokens", &self.limit)
            .finish_non_exhaustive()
    }
}

/// State of a [`TokenWindowChatMemoryBuilder`]: the maximum number of tokens was set.
pub struct TokenLimit {
    maximum: Maximum,
    tokens: Counted,
}

impl fmt::Debug for TokenLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.maximum.fmt(f)
    }
}

impl Limit for TokenLimit {
    fn maximum(&self, id: &MemoryId) -> Result<usize> {
        self.maximum.now(id, SETTER)
    }

    fn size_of(&self, message: &ChatMessage) -> Result<usize> {
        self.tokens.message(message)
    }

    fn total(&self, messages: &Messages) -> Result<usize> {
        self.tokens.list(messages)
    }

    fn overhead(&self) -> usize {
        self.tokens.overhead()
    }

    fn smallest_answer(&self) -> usize {
        0
    }

    fn too_large(&self, needed: usize, maximum: usize) -> Error {
        Error::new(
            ErrorKind::TurnTooLarge,
            format!(
                "this turn alone needs {needed} tokens, but the chat memory's `max_tokens` is \
                 {maximum}: raise it, shorten the message, or limit the size of tool results"
            ),
        )
    }
}
