//! The turn that a client asks for.

use crate::principal::Principal;
use crate::problem::Problem;
use ai_services_core::memory::MemoryId;
use ai_services_core::message::{Content, ImageContent, Media, PdfContent};
use std::fmt;
use uuid::Uuid;

/// Longest name of a conversation in bytes. Names are part of keys in databases.
const MAX_CONVERSATION_BYTES: usize = 256;

/// A message of an authenticated user in a conversation.
///
/// # Examples
///
/// A handler of [`ChatServerBuilder::service`](crate::ChatServerBuilder::service):
///
/// ```
/// use ai_services::serve::UserTurn;
/// use ai_services::{AnswerStream, ai_service};
///
/// #[ai_service]
/// trait Support {
///     fn chat(&self, #[memory_id] conversation: &ai_services::memory::MemoryId, #[user_message] text: &str)
///         -> AnswerStream;
/// }
///
/// fn answer(support: &SupportService, turn: &UserTurn) -> AnswerStream {
///     support.chat(turn.memory_id(), turn.text())
/// }
/// # let _ = answer;
/// ```
#[derive(Clone)]
pub struct UserTurn {
    principal: Principal,
    conversation: Conversation,
    memory_id: MemoryId,
    contents: Vec<Content>,
    text: String,
}

impl UserTurn {
    /// Creates the turn of a message. The message must not be empty.
    pub(crate) fn new(
        principal: Principal,
        conversation: Conversation,
        memory_id: MemoryId,
        contents: Vec<Content>,
    ) -> Result<Self, Problem> {
        let texts: Vec<&str> = contents.iter().filter_map(Content::text).collect();
        let text = texts.join("\n");
        if text.trim().is_empty() && texts.len() == contents.len() {
            return Err(Problem::invalid("the last message is empty"));
        }
        Ok(Self { principal, conversation, memory_id, contents, text })
    }

    /// Returns the memory id: by default, principal and conversation.
    #[must_use]
    pub fn memory_id(&self) -> &MemoryId {
        &self.memory_id
    }

    /// Returns the authenticated caller.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Returns the name of the conversation, as the client gave it, or the new name. Unique per principal only.
    #[must_use]
    pub fn conversation(&self) -> &str {
        self.conversation.as_str()
    }

    /// Returns the texts of the message, joined by line breaks. Empty if the message has media only.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the contents of the message: texts, and images and PDFs that were sent as data. At least one.
    #[must_use]
    pub fn contents(&self) -> &[Content] {
        &self.contents
    }
}

impl fmt::Debug for UserTurn {
    /// Leaves out the text of the conversation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserTurn").field("memory_id", &self.memory_id).finish_non_exhaustive()
    }
}

/// The name of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conversation(String);

impl Conversation {
    /// Reads the name that a client sent.
    pub(crate) fn named(name: &str) -> Result<Self, Problem> {
        if name.is_empty() || name.len() > MAX_CONVERSATION_BYTES {
            let message =
                format!("the name of the conversation needs 1 to {MAX_CONVERSATION_BYTES} bytes");
            return Err(Problem::invalid(message));
        }
        if name.chars().any(char::is_control) {
            return Err(Problem::invalid("the name of the conversation has a control character"));
        }
        Ok(Self(name.to_owned()))
    }

    /// Creates the name of a new conversation.
    pub(crate) fn new() -> Self {
        Self(Uuid::new_v4().simple().to_string())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Reads media that a client sent as a `data:` URL with base64. URLs of other kinds are refused: a client must not
/// choose what the model's provider or this server fetches.
pub(crate) fn media(url: &str) -> Result<Content, Problem> {
    let refused = || {
        Problem::invalid("media must be sent as a `data:` URL with base64, as an image or a PDF")
    };
    let (head, data) =
        url.strip_prefix("data:").ok_or_else(refused)?.split_once(',').ok_or_else(refused)?;
    let media_type = head.strip_suffix(";base64").ok_or_else(refused)?;
    let media_type = media_type.split(';').next().unwrap_or_default();
    media_of(media_type, data)
}

/// Reads media from base64.
pub(crate) fn media_of(media_type: &str, data: &str) -> Result<Content, Problem> {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(data);
    let bytes = bytes.map_err(|_| Problem::invalid("the data of a media part is not base64"))?;
    let media = Media::bytes(bytes, media_type);
    let media = media.map_err(|error| Problem::invalid(error.to_string()))?;
    match media_type {
        "application/pdf" => Ok(PdfContent::new(media).into()),
        _ if media_type.starts_with("image/") => Ok(ImageContent::new(media).into()),
        _ => Err(Problem::invalid(format!("media of the type `{media_type}` is not supported"))),
    }
}
