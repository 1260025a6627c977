//! Messages in the format of the API: a role and blocks.

use super::block::{self, Block, Returned, is_blank};
use crate::protocol::arguments::object_or_empty;
use crate::protocol::encoded::{Encoded, Frames};
use ai_services_core::memory::found_tools_of;
use ai_services_core::message::{AiMessage, ChatMessage, Content, CustomMessage, ToolResult};
use ai_services_core::model::{ToolLoading, ToolSpecifications};
use ai_services_core::{Error, ErrorKind, Result};
use serde::Serialize;
use serde_json::Value;

/// The name under which messages keep their encoded form and their
/// [`ProviderContent`](ai_services_core::message::ProviderContent), and tools theirs. All clients
/// share encoded forms, so the encoding depends on no options.
pub(super) const DIALECT: &str = "anthropic";

/// The text of a user message without content. The API rejects empty messages, and without the
/// message the model would continue its own answer.
const EMPTY_MESSAGE: &str = "(empty message)";
/// The content of a failed tool result without any. The API rejects such results.
const EMPTY_FAILURE: &str = "(the tool failed without saying why)";

/// Returns the role of a message. `None` for system messages, which are sent elsewhere.
pub(super) fn role(message: &ChatMessage) -> Option<&'static str> {
    match message {
        ChatMessage::System(_) => None,
        ChatMessage::Ai(_) => Some("assistant"),
        ChatMessage::User(_) | ChatMessage::ToolResult(_) => Some("user"),
        ChatMessage::Custom(message) => match message.attributes().get("role") {
            Some(role) if role == "assistant" => Some("assistant"),
            _ => Some("user"),
        },
    }
}

/// The form of messages that are nothing but a text.
const FRAMES: Frames = Frames::without_roles(r#"{"type":"text","text":""#, r#""}"#);

/// Returns the encoded blocks of a message with commas in between, which the message keeps if they are
/// not its text. Empty if there is nothing to send.
///
/// # Errors
///
/// [`ErrorKind::Unsupported`] for content that the API cannot carry.
pub(super) fn encoded(message: &ChatMessage) -> Result<Encoded<'_>> {
    if let Some(text) = FRAMES.verbatim(message) {
        return Ok(text);
    }
    let encoded = message.encoded(DIALECT, || blocks(message).unwrap_or_default());
    if encoded.is_empty()
        && let Err(why) = blocks(message)
    {
        return Err(Error::new(ErrorKind::Unsupported, why));
    }
    Ok(Encoded::Kept(encoded))
}

/// The name under which the results of searches keep their form with references.
const REFERENCES: &str = "anthropic-references";

/// Returns the encoded blocks of a message in a request with these tools, of which some are deferred: the result of a
/// search consists of references to the tools that it has found, from which the API loads their definitions. The API
/// rejects references to other tools.
///
/// # Errors
///
/// Same as [`encoded`].
pub(super) fn encoded_with<'m>(
    message: &'m ChatMessage,
    tools: &ToolSpecifications,
) -> Result<Encoded<'m>> {
    let is_deferred = |name: &str| {
        let mut tools = tools.as_slice().iter();
        tools.any(|tool| *tool.name == *name && tool.loading == ToolLoading::Deferred)
    };
    match message {
        ChatMessage::ToolResult(result)
            if found_tools_of(message).next().is_some()
                && found_tools_of(message).all(is_deferred) =>
        {
            let encode = || references(message, result).unwrap_or_default();
            Ok(Encoded::Kept(message.encoded(REFERENCES, encode)))
        }
        _ => encoded(message),
    }
}

fn references(message: &ChatMessage, result: &ToolResult) -> Result<Vec<u8>, &'static str> {
    let names = found_tools_of(message);
    let references = names.map(|tool_name| Block::ToolReference { tool_name }).collect();
    let mut blocks = Blocks::default();
    blocks.push(&Block::ToolResult {
        tool_use_id: block::id(result.id()),
        content: Some(Returned::Blocks(references)),
        is_error: false,
    })?;
    Ok(blocks.0)
}

fn blocks(message: &ChatMessage) -> Result<Vec<u8>, &'static str> {
    let mut blocks = Blocks::default();
    match message {
        ChatMessage::System(message) => blocks.text(message.text())?,
        ChatMessage::User(message) => match message.text() {
            Some(text) => blocks.text(text)?,
            None => blocks.contents(message.contents())?,
        },
        ChatMessage::Ai(message) => blocks.answer(message)?,
        ChatMessage::ToolResult(result) => blocks.result(result)?,
        ChatMessage::Custom(message) => blocks.custom(message)?,
    }
    if blocks.0.is_empty() && message.is_user() {
        blocks.text(EMPTY_MESSAGE)?;
    }
    Ok(blocks.0)
}

/// Encoded blocks.
#[derive(Default)]
struct Blocks(Vec<u8>);

impl Blocks {
    fn push(&mut self, block: &impl Serialize) -> Result<(), &'static str> {
        if !self.0.is_empty() {
            self.0.push(b',');
        }
        let written = serde_json::to_writer(&mut self.0, block);
        written.map_err(|_| "the message cannot be written as JSON")
    }

    /// Adds a text, unless it is blank.
    fn text(&mut self, text: &str) -> Result<(), &'static str> {
        if is_blank(text) {
            return Ok(());
        }
        if self.0.is_empty() {
            // The exact size avoids a reallocation of the stored form.
            self.0.reserve_exact(r#"{"type":"text","text":""}"#.len() + text.len());
        }
        self.push(&Block::Text { text })
    }

    fn contents(&mut self, contents: &[Content]) -> Result<(), &'static str> {
        contents.iter().try_for_each(|content| match Block::of(content)? {
            Some(block) => self.push(&block),
            None => Ok(()),
        })
    }

    /// Adds the kept blocks of an answer, or else its text and calls.
    fn answer(&mut self, message: &AiMessage) -> Result<(), &'static str> {
        let own = message.provider_content().and_then(|content| content.json_of(DIALECT));
        if let Some(own) = own.and_then(elements) {
            self.0 = own.as_bytes().to_vec();
            return Ok(());
        }
        let calls = message.tool_calls();
        match message.text().filter(|text| !is_blank(text)) {
            Some(text) => self.text(text)?,
            // A refusal is sent only here.
            None if calls.is_empty() => self.text(message.refusal().unwrap_or_default())?,
            None => {}
        }
        calls.iter().try_for_each(|call| {
            let input = object_or_empty(call.arguments());
            self.push(&Block::ToolUse { id: block::id(call.id()), name: call.name(), input })
        })
    }

    fn result(&mut self, result: &ToolResult) -> Result<(), &'static str> {
        let content = match result.text() {
            Some(text) => Some(Returned::Text(text)).filter(|_| !is_blank(text)),
            None => {
                let blocks =
                    result.contents().iter().filter_map(|part| Block::of(part).transpose());
                let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
                Some(Returned::Blocks(blocks)).filter(Returned::is_not_empty)
            }
        };
        let is_error = result.is_error();
        let content = content.or(is_error.then_some(Returned::Text(EMPTY_FAILURE)));
        self.push(&Block::ToolResult { tool_use_id: block::id(result.id()), content, is_error })
    }

    fn custom(&mut self, message: &CustomMessage) -> Result<(), &'static str> {
        const WRONG: &str =
            "a custom message needs the role `user` or `assistant` and content as Anthropic has it";
        let attributes = message.attributes();
        let role = attributes.get("role").and_then(Value::as_str);
        let content = role.filter(|role| matches!(*role, "user" | "assistant"));
        match content.and_then(|_| attributes.get("content")) {
            Some(Value::String(text)) if !is_blank(text) => self.text(text),
            Some(Value::Array(blocks)) if !blocks.is_empty() => {
                blocks.iter().try_for_each(|block| self.push(block))
            }
            _ => Err(WRONG),
        }
    }
}

impl Returned<'_> {
    fn is_not_empty(&self) -> bool {
        match self {
            Self::Text(text) => !text.is_empty(),
            Self::Blocks(blocks) => !blocks.is_empty(),
        }
    }
}

/// Returns the inside of a JSON list. `None` if the list is empty or not a list.
fn elements(list: &str) -> Option<&str> {
    let elements = list.trim_ascii().strip_prefix('[')?.strip_suffix(']')?.trim_ascii();
    (!elements.is_empty()).then_some(elements)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::encoded::check_frames;

    #[test]
    fn verbatim_text_is_in_its_frame() {
        check_frames(&FRAMES, |message| blocks(message).unwrap());
    }
}
