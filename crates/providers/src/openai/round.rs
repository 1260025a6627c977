//! Tool results with media: the protocol takes only text there.

use super::message::split;
use ai_services_core::message::ChatMessage;
use std::borrow::Cow;

/// The beginning of a user message that carries media.
const USER: &[u8] = br#",{"role":"user","content":["#;

/// The media of the tool results of one round. Nothing may stand between those, so that the media
/// follow behind the last of them, in a message of the user.
#[derive(Default)]
pub(super) struct Round<'a>(Vec<(&'a ChatMessage, Cow<'a, [u8]>)>);

impl<'a> Round<'a> {
    /// At most how much longer the body becomes by a message that is encoded as this.
    pub(super) fn extra_len(message: &ChatMessage, encoded: &[u8]) -> usize {
        if split(message, encoded).1.is_empty() { 0 } else { USER.len() + 2 }
    }

    /// Ends the round if `next` is not of it.
    pub(super) fn end_before(&mut self, next: &ChatMessage, body: &mut Vec<u8>) {
        if !next.is_tool_result() {
            self.end(body);
        }
    }

    /// Writes a message, but for its media.
    pub(super) fn write(
        &mut self,
        message: &'a ChatMessage,
        encoded: Cow<'a, [u8]>,
        body: &mut Vec<u8>,
    ) {
        let (own, media) = split(message, &encoded);
        body.extend_from_slice(own);
        if !media.is_empty() {
            self.0.push((message, encoded));
        }
    }

    /// Writes the media, if there are any.
    pub(super) fn end(&mut self, body: &mut Vec<u8>) {
        if self.0.is_empty() {
            return;
        }
        for (index, (message, encoded)) in self.0.drain(..).enumerate() {
            body.extend_from_slice(if index == 0 { USER } else { b"," });
            body.extend_from_slice(split(message, &encoded).1);
        }
        body.extend_from_slice(b"]}");
    }
}
