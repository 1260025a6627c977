//! Messages in the format of a provider.

use ai_services_core::message::ChatMessage;

/// A message in the format of a provider.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Encoded<'a> {
    /// The encoded form that the message keeps. Empty if the protocol cannot carry the message.
    Kept(&'a [u8]),
    /// A text that needs no escapes. The message keeps no other form.
    Verbatim { before: &'static str, text: &'a str, after: &'static str },
}

/// The parts of an encoded message around its text: for a message that is nothing but a text, they depend
/// on its role alone.
#[derive(Clone, Copy)]
pub(crate) struct Frames {
    pub(crate) system: &'static str,
    pub(crate) user: &'static str,
    pub(crate) ai: &'static str,
    pub(crate) end: &'static str,
}

impl Frames {
    /// Frames of messages with their role and content: those of chat completions, which Ollama has adopted.
    pub(crate) const ROLE_AND_CONTENT: Self = Self {
        system: r#"{"role":"system","content":""#,
        user: r#"{"role":"user","content":""#,
        ai: r#"{"role":"assistant","content":""#,
        end: r#""}"#,
    };

    /// Frames of messages that are encoded without their roles.
    pub(crate) const fn without_roles(begin: &'static str, end: &'static str) -> Self {
        Self { system: begin, user: begin, ai: begin, end }
    }

    /// Returns a message whose text needs no escapes.
    pub(crate) fn verbatim<'a>(&self, message: &'a ChatMessage) -> Option<Encoded<'a>> {
        let before = match message {
            ChatMessage::System(_) => self.system,
            ChatMessage::User(_) => self.user,
            ChatMessage::Ai(_) => self.ai,
            ChatMessage::ToolResult(_) | ChatMessage::Custom(_) => return None,
        };
        Some(Encoded::Verbatim { before, text: message.verbatim_text()?, after: self.end })
    }
}

impl Encoded<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Kept(bytes) => bytes.len(),
            Self::Verbatim { before, text, after } => before.len() + text.len() + after.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the message to a body.
    pub(crate) fn write(&self, body: &mut Vec<u8>) {
        match self {
            Self::Kept(bytes) => body.extend_from_slice(bytes),
            Self::Verbatim { before, text, after } => {
                body.extend_from_slice(before.as_bytes());
                body.extend_from_slice(text.as_bytes());
                body.extend_from_slice(after.as_bytes());
            }
        }
    }
}

/// Checks that verbatim texts are what `encode` returns for the same messages.
#[cfg(test)]
pub(crate) fn check_frames(frames: &Frames, encode: impl Fn(&ChatMessage) -> Vec<u8>) {
    let text = "Hi, é and 😀!";
    for message in [ChatMessage::system(text), ChatMessage::user(text), ChatMessage::ai(text)] {
        let mut body = Vec::new();
        let encoded = frames.verbatim(&message).unwrap();
        encoded.write(&mut body);
        assert_eq!(String::from_utf8(body), String::from_utf8(encode(&message)));
        assert_eq!(encoded.len(), encode(&message).len());
    }
    for message in [ChatMessage::user("a\n"), ChatMessage::tool_result("id", "t", "a")] {
        assert!(frames.verbatim(&message).is_none(), "{message:?}");
    }
}
