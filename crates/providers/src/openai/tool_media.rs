//! Media in tool results. The protocol takes only text there.

use super::message::split;
use crate::protocol::encoded::Encoded;
use ai_services_core::message::ChatMessage;

/// The beginning of a user message that carries media.
const USER: &[u8] = br#",{"role":"user","content":["#;

/// The media of the tool results of one round. No other message may stand between the results, so the
/// media follow the last result in a user message.
#[derive(Default)]
pub(super) struct ToolMedia<'a>(Vec<&'a [u8]>);

impl<'a> ToolMedia<'a> {
    /// Returns the maximum length of the user message around the media of an encoded message.
    pub(super) fn len(message: &ChatMessage, encoded: Encoded<'_>) -> usize {
        match encoded {
            Encoded::Kept(bytes) if !split(message, bytes).1.is_empty() => USER.len() + 2,
            _ => 0,
        }
    }

    /// Ends the round if `next` does not belong to it.
    pub(super) fn end_before(&mut self, next: &ChatMessage, body: &mut Vec<u8>) {
        if !next.is_tool_result() {
            self.end(body);
        }
    }

    /// Writes an encoded message without its media.
    pub(super) fn write(
        &mut self,
        message: &ChatMessage,
        encoded: Encoded<'a>,
        body: &mut Vec<u8>,
    ) {
        let Encoded::Kept(bytes) = encoded else { return encoded.write(body) };
        let (own, media) = split(message, bytes);
        body.extend_from_slice(own);
        if !media.is_empty() {
            self.0.push(media);
        }
    }

    /// Writes the user message with the media, if there are any.
    pub(super) fn end(&mut self, body: &mut Vec<u8>) {
        if self.0.is_empty() {
            return;
        }
        for (index, media) in self.0.drain(..).enumerate() {
            body.extend_from_slice(if index == 0 { USER } else { b"," });
            body.extend_from_slice(media);
        }
        body.extend_from_slice(b"]}");
    }
}
