//! The choice of the user message that the memory keeps.

/// The form of the user message that is remembered when content was retrieved for it.
///
/// Both forms contain the rewrites of the input guardrails. Neither contains the instructions on the
/// form of the answer.
///
/// # Differences from LangChain4j
///
/// LangChain4j remembers the augmented message by default. Its alternative is the message before the
/// guardrails, without images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "storeRetrievedContentInChatMemory")]
pub enum Remembered {
    /// The user's own message, images included. The retrieved content is sent in this turn only.
    #[default]
    UserMessage,
    /// The message with the retrieved content. It stays in the window until it is evicted.
    AugmentedMessage,
}
