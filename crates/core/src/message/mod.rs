//! Messages, their content, and their JSON form.
//!
//! Messages are immutable and shared: cloning one copies a pointer. A message caches its token
//! count and its encoded form for a provider, so a long history is neither copied nor encoded again
//! for every call.

mod ai;
mod cache;
mod codec;
mod content;
mod list;
mod tool;
mod user;

pub use ai::{AiMessage, AiMessageBuilder, ProviderContent};
pub(crate) use codec::read_message;
pub use codec::{
    FORMAT_VERSION, message_from_json, message_to_json, messages_from_json, messages_to_json,
    messages_to_langchain4j_json,
};
pub(crate) use content::Contents;
pub use content::{
    AudioContent, Content, ImageContent, ImageDetail, Media, MediaSource, PdfContent, ToContents,
    VideoContent,
};
pub use list::{Iter, Messages};
pub use tool::{ToolCall, ToolResult};
pub use user::{CustomMessage, SystemMessage, UserMessage};

pub(crate) use cache::{Cached, Encoded};

/// Data that an application attaches to a message. Never sent to a model.
pub type Attributes = serde_json::Map<String, serde_json::Value>;

/// One message of a conversation.
///
/// # Examples
///
/// ```
/// use ai_services::message::ChatMessage;
///
/// let messages = [ChatMessage::system("Be brief."), ChatMessage::user("Hello!")];
/// assert_eq!(messages[1].text(), Some("Hello!"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum ChatMessage {
    /// Instructions of the application.
    System(SystemMessage),
    /// The message of the user.
    User(UserMessage),
    /// The answer of the model, or its tool calls.
    Ai(AiMessage),
    /// The result of a tool call.
    #[doc(alias = "ToolExecutionResultMessage")]
    ToolResult(ToolResult),
    /// Any other message, for models with message types of their own.
    Custom(CustomMessage),
}

impl ChatMessage {
    /// Creates a system message.
    pub fn system(text: impl Into<Box<str>>) -> Self {
        SystemMessage::new(text).into()
    }

    /// Creates a user message with one text.
    pub fn user(text: impl Into<Box<str>>) -> Self {
        UserMessage::new(text).into()
    }

    /// Creates an assistant message with one text.
    pub fn ai(text: impl Into<Box<str>>) -> Self {
        AiMessage::new(text).into()
    }

    /// Creates the result of call `id` of the tool `name`, with one text.
    pub fn tool_result(
        id: impl Into<Box<str>>,
        name: impl Into<Box<str>>,
        text: impl Into<Box<str>>,
    ) -> Self {
        ToolResult::new(id, name, text).into()
    }

    /// Returns the text, if the message consists of a single text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::System(message) => Some(message.text()),
            Self::User(message) => message.text(),
            Self::Ai(message) => message.text(),
            Self::ToolResult(message) => message.text(),
            Self::Custom(_) => None,
        }
    }

    /// Returns the assistant message, if this is one.
    #[must_use]
    pub fn as_ai(&self) -> Option<&AiMessage> {
        match self {
            Self::Ai(message) => Some(message),
            _ => None,
        }
    }

    /// Returns the tool calls of an assistant message. Empty for every other message.
    #[must_use]
    pub fn tool_calls(&self) -> &[ToolCall] {
        self.as_ai().map_or(&[], AiMessage::tool_calls)
    }

    /// Returns `true` for a [`System`](Self::System) message.
    #[must_use]
    pub fn is_system(&self) -> bool {
        matches!(self, Self::System(_))
    }

    /// Returns `true` for a [`User`](Self::User) message.
    #[must_use]
    pub fn is_user(&self) -> bool {
        matches!(self, Self::User(_))
    }

    /// Returns `true` for a [`ToolResult`](Self::ToolResult) message.
    #[must_use]
    pub fn is_tool_result(&self) -> bool {
        matches!(self, Self::ToolResult(_))
    }

    /// Returns the message in a provider's format, encoded by `encode` on the first call and
    /// cached.
    ///
    /// For implementations of [`ChatModel`](crate::model::ChatModel): a history is sent again with
    /// every request, but encoded only once. `dialect` names the format. `encode` must depend on nothing
    /// but the message and the dialect.
    ///
    /// The message keeps one encoded form per dialect for as long as it lives, so the number of
    /// dialects should be small. The clients of the five protocols have eleven dialects in total. They use
    /// more than one per protocol only for messages with thinking, tool calls, media in tool results or
    /// [`provider_content`](AiMessage::provider_content), and none for a
    /// [`verbatim_text`](Self::verbatim_text).
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::message::ChatMessage;
    ///
    /// let message = ChatMessage::user("Hi");
    /// let encode = || message.text().unwrap_or_default().to_uppercase().into_bytes();
    /// assert_eq!(message.encoded("loud", encode), b"HI");
    /// assert_eq!(message.encoded("loud", || unreachable!()), b"HI");
    /// ```
    pub fn encoded(&self, dialect: &'static str, encode: impl Fn() -> Vec<u8>) -> &[u8] {
        self.cached().encoded.get_or_encode(dialect, encode)
    }

    /// Returns the text of a message that is nothing but a text, if a JSON string carries the text
    /// unchanged: it is not blank, and has no quotation marks, backslashes or control characters.
    ///
    /// For implementations of [`ChatModel`](crate::model::ChatModel): the text is copied into a request
    /// as it is, so an [`encoded`](Self::encoded) form, which is a second copy of the text, is not needed.
    /// The text is checked once, and the result is cached.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::message::{ChatMessage, UserMessage};
    ///
    /// assert_eq!(ChatMessage::user("Hi").verbatim_text(), Some("Hi"));
    /// assert_eq!(ChatMessage::user("\"Hi\"").verbatim_text(), None);
    /// assert_eq!(ChatMessage::from(UserMessage::new("Hi").with_name("Ann")).verbatim_text(), None);
    /// ```
    #[must_use]
    pub fn verbatim_text(&self) -> Option<&str> {
        let text = match self {
            Self::System(message) => message.text(),
            Self::User(message) if message.name().is_none() => message.text()?,
            Self::Ai(message) => message.only_text()?,
            Self::User(_) | Self::ToolResult(_) | Self::Custom(_) => return None,
        };
        self.cached().is_verbatim(text).then_some(text)
    }

    /// Returns the data cached with this message.
    pub(crate) fn cached(&self) -> &Cached {
        match self {
            Self::System(message) => message.cached(),
            Self::User(message) => message.cached(),
            Self::Ai(message) => message.cached(),
            Self::ToolResult(message) => message.cached(),
            Self::Custom(message) => message.cached(),
        }
    }
}

impl From<SystemMessage> for ChatMessage {
    fn from(message: SystemMessage) -> Self {
        Self::System(message)
    }
}

impl From<UserMessage> for ChatMessage {
    fn from(message: UserMessage) -> Self {
        Self::User(message)
    }
}

impl From<AiMessage> for ChatMessage {
    fn from(message: AiMessage) -> Self {
        Self::Ai(message)
    }
}

impl From<ToolResult> for ChatMessage {
    fn from(message: ToolResult) -> Self {
        Self::ToolResult(message)
    }
}

impl From<CustomMessage> for ChatMessage {
    fn from(message: CustomMessage) -> Self {
        Self::Custom(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_is_two_pointers_wide() {
        assert_eq!(size_of::<ChatMessage>(), 2 * size_of::<usize>());
    }
}
