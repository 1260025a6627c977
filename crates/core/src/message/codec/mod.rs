//! The JSON form of messages.
//!
//! A message is written in LangChain4j's format, so histories can move in both directions. A list
//! is written with a version: `{"v":1,"messages":[…]}`. Reading also accepts LangChain4j's bare
//! array and its older form of tool results.

mod content;
mod langchain4j;
mod tagged;
mod text;
mod text_only;
mod wire;

pub use langchain4j::messages_to_langchain4j_json;

use super::{ChatMessage, Messages};
use crate::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The format version that [`messages_to_json`] writes.
pub const FORMAT_VERSION: u32 = 1;

/// Writes messages as JSON with a version marker.
///
/// # Errors
///
/// Currently never fails. The signature leaves room for messages that cannot be serialized.
///
/// # Examples
///
/// ```
/// use ai_services::message::{ChatMessage, messages_from_json, messages_to_json};
///
/// let messages = vec![ChatMessage::user("Hello!"), ChatMessage::ai("Hi.")];
/// let json = messages_to_json(&messages)?;
/// assert!(json.starts_with(r#"{"v":1,"#));
/// assert_eq!(messages_from_json(&json)?.to_vec(), messages);
/// # Ok::<(), ai_services::Error>(())
/// ```
pub fn messages_to_json<'a>(messages: impl IntoIterator<Item = &'a ChatMessage>) -> Result<String> {
    #[derive(Serialize)]
    struct Envelope<'a> {
        v: u32,
        messages: Vec<&'a ChatMessage>,
    }
    let messages = messages.into_iter().collect();
    serde_json::to_string(&Envelope { v: FORMAT_VERSION, messages }).map_err(unwritable)
}

/// Reads the output of [`messages_to_json`], or a list that LangChain4j wrote.
///
/// Empty text and `null` are read as an empty list.
///
/// # Errors
///
/// Returns [`ErrorKind::Store`] for text in any other format, and for a version newer than
/// [`FORMAT_VERSION`].
#[doc(alias = "messagesFromJson")]
pub fn messages_from_json(json: &str) -> Result<Messages> {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        v: u32,
        #[serde(borrow)]
        messages: &'a RawValue,
    }
    let list = match json.trim_start() {
        "" => return Ok(Messages::new()),
        list if list.starts_with('[') => list,
        other => match serde_json::from_str::<Option<Envelope<'_>>>(other).map_err(malformed)? {
            None => return Ok(Messages::new()),
            Some(Envelope { v, .. }) if v > FORMAT_VERSION => return Err(too_new(v)),
            Some(envelope) => envelope.messages.get(),
        },
    };
    serde_json::from_str::<Vec<ChatMessage>>(list).map(Messages::from).map_err(malformed)
}

/// Writes one message as JSON, without a version.
///
/// LangChain4j reads the JSON of most messages; [`messages_to_langchain4j_json`] names the exceptions.
///
/// The same text is written by [`serde_json`] for a [`ChatMessage`].
///
/// # Errors
///
/// Same as [`messages_to_json`].
///
/// # Examples
///
/// ```
/// use ai_services::message::{ChatMessage, message_from_json, message_to_json};
///
/// let message = ChatMessage::ai("Hi.");
/// assert_eq!(message_from_json(&message_to_json(&message)?)?, message);
/// # Ok::<(), ai_services::Error>(())
/// ```
#[doc(alias = "messageToJson")]
pub fn message_to_json(message: &ChatMessage) -> Result<String> {
    serde_json::to_string(message).map_err(unwritable)
}

/// Reads one message that [`message_to_json`] or LangChain4j wrote.
///
/// # Errors
///
/// Returns [`ErrorKind::Store`] for text in any other format.
#[doc(alias = "messageFromJson")]
pub fn message_from_json(json: &str) -> Result<ChatMessage> {
    read_message(json).map_err(malformed)
}

/// Same as [`message_from_json`], with the error of the parser.
pub(crate) fn read_message(json: &str) -> serde_json::Result<ChatMessage> {
    text_only::read(json).map_or_else(|| serde_json::from_str(json), Ok)
}

fn unwritable(source: serde_json::Error) -> Error {
    Error::new(ErrorKind::Store, "messages cannot be written as JSON").with_source(source)
}

fn malformed(source: serde_json::Error) -> Error {
    Error::new(ErrorKind::Store, "stored messages are not in a known format").with_source(source)
}

fn too_new(version: u32) -> Error {
    Error::new(
        ErrorKind::Store,
        format!(
            "stored messages have format version {version}; this build reads up to {FORMAT_VERSION}"
        ),
    )
}

#[cfg(test)]
mod one_pass_tests;
#[cfg(test)]
mod tests;
