//! Request bodies whose messages are one JSON list.

use super::encoded::Encoded;
use super::json_object::JsonObject;
use ai_services_core::message::ChatMessage;
use ai_services_core::{Error, Result};
use serde_json::{Map, Value};

/// The encoded parameters of a request whose messages are one JSON list.
pub(crate) struct ListPrefix {
    /// `{"model":"…"` and all other members that do not depend on messages or tools.
    head: Vec<u8>,
    /// `,"tool_choice":…` or empty. Sent only with tools.
    tool_choice: Vec<u8>,
    /// Name of the member that holds the messages.
    messages: &'static str,
    /// `true` if the extra parameters contain the messages.
    pub(crate) has_messages: bool,
    /// `true` if the extra parameters contain the tools.
    pub(crate) has_tools: bool,
}

impl ListPrefix {
    /// Creates a prefix. `messages` names the list; `extra` may replace the list and the tools.
    pub(crate) fn new(
        head: JsonObject<'_>,
        tool_choice: JsonObject<'_>,
        messages: &'static str,
        extra: Option<&Map<String, Value>>,
    ) -> Self {
        let has = |name| extra.is_some_and(|extra| extra.contains_key(name));
        Self {
            head: head.into_bytes(),
            tool_choice: tool_choice.into_bytes(),
            messages,
            has_messages: has(messages),
            has_tools: has("tools"),
        }
    }

    /// Returns a body in one allocation. `write` appends the messages, which take at most `len` bytes
    /// with all commas.
    pub(crate) fn body(
        &self,
        len: usize,
        tools: Option<&[u8]>,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Vec<u8> {
        /// `,"":[],"tools":}`, rounded up.
        const SYNTAX: usize = 24;
        let tool_choice = if self.has_tools || tools.is_some() { &*self.tool_choice } else { &[] };
        let size = self.head.len() + self.messages.len() + len + tool_choice.len() + SYNTAX;
        let mut body = Vec::with_capacity(size + tools.map_or(0, <[u8]>::len));
        body.extend_from_slice(&self.head);
        if !self.has_messages {
            body.extend_from_slice(b",\"");
            body.extend_from_slice(self.messages.as_bytes());
            body.extend_from_slice(b"\":[");
            write(&mut body);
            body.push(b']');
        }
        if let Some(tools) = tools {
            body.extend_from_slice(br#","tools":"#);
            body.extend_from_slice(tools);
        }
        body.extend_from_slice(tool_choice);
        body.push(b'}');
        body
    }
}

/// Returns the length of encoded messages with a comma after each.
///
/// # Errors
///
/// That of `unsupported` for the first message without an encoding.
pub(crate) fn list_len<'a>(
    mut messages: impl Iterator<Item = (&'a ChatMessage, Encoded<'a>)>,
    unsupported: impl Fn(&ChatMessage) -> Error,
) -> Result<usize> {
    messages.try_fold(0, |len, (message, encoded)| match encoded.len() {
        0 => Err(unsupported(message)),
        own => Ok(len + own + 1),
    })
}

/// Appends encoded messages with commas in between.
pub(crate) fn write_list<'a>(
    messages: impl Iterator<Item = (&'a ChatMessage, Encoded<'a>)>,
    body: &mut Vec<u8>,
) {
    for (index, (_, encoded)) in messages.enumerate() {
        if index > 0 {
            body.push(b',');
        }
        encoded.write(body);
    }
}
