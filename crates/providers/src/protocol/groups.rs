//! Messages of protocols in which each message has a role and a list of parts, and roles take turns:
//! neighbours of one role become one message.

use ai_services_core::Result;
use ai_services_core::message::ChatMessage;
use std::borrow::Cow;

/// How a protocol writes its messages.
pub(crate) struct Grouping<'a> {
    /// The member that holds the parts, for example `content`.
    pub(crate) parts: &'static str,
    /// The encoded parts of a message, with commas in between and no brackets around; empty if it has
    /// none to send.
    pub(crate) encode: &'a dyn for<'m> Fn(&'m ChatMessage) -> Result<Cow<'m, [u8]>>,
    /// The role of a message; `None` if it is said elsewhere.
    pub(crate) role: fn(&ChatMessage) -> Option<&'static str>,
}

impl Grouping<'_> {
    /// A list of messages as JSON, with brackets.
    ///
    /// # Errors
    ///
    /// That of the first message that cannot be encoded.
    pub(crate) fn write<'m>(
        &self,
        messages: impl IntoIterator<Item = &'m ChatMessage>,
        body: &mut Vec<u8>,
    ) -> Result<()> {
        body.push(b'[');
        let mut speaker = None;
        for message in messages {
            let Some(role) = (self.role)(message) else { continue };
            let parts = (self.encode)(message)?;
            if parts.is_empty() {
                continue;
            }
            if speaker == Some(role) {
                body.push(b',');
            } else {
                if speaker.is_some() {
                    body.extend_from_slice(b"]},");
                }
                self.open(role, body);
                speaker = Some(role);
            }
            body.extend_from_slice(&parts);
        }
        body.extend_from_slice(if speaker.is_some() { b"]}]" } else { b"]" });
        Ok(())
    }

    fn open(&self, role: &str, body: &mut Vec<u8>) {
        for text in [r#"{"role":""#, role, r#"",""#, self.parts, r#"":["#] {
            body.extend_from_slice(text.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(messages: &[ChatMessage]) -> String {
        let grouping = Grouping {
            parts: "content",
            encode: &|message| {
                Ok(Cow::Owned(message.text().unwrap_or_default().to_owned().into_bytes()))
            },
            role: |message| match message {
                ChatMessage::System(_) => None,
                ChatMessage::Ai(_) => Some("assistant"),
                _ => Some("user"),
            },
        };
        let mut body = Vec::new();
        grouping.write(messages, &mut body).unwrap();
        String::from_utf8(body).unwrap()
    }

    #[test]
    fn neighbours_of_one_role_are_one_message() {
        assert_eq!(written(&[]), "[]");
        let messages = [
            ChatMessage::system("0"),
            ChatMessage::user("1"),
            ChatMessage::user("2"),
            ChatMessage::ai("3"),
            ChatMessage::ai(""),
            ChatMessage::tool_result("id", "t", "4"),
            ChatMessage::user("5"),
        ];
        assert_eq!(
            written(&messages),
            r#"[{"role":"user","content":[1,2]},{"role":"assistant","content":[3]},{"role":"user","content":[4,5]}]"#
        );
    }
}
