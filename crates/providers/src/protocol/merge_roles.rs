//! Merging of messages for protocols in which the roles of messages alternate: consecutive messages of
//! one role become one message with the parts of all.

use super::encoded::Encoded;
use ai_services_core::Result;
use ai_services_core::message::ChatMessage;

/// The encoding of messages with roles and parts.
pub(crate) struct RoleMerger<'a> {
    /// Name of the member that holds the parts, for example `content`.
    pub(crate) parts: &'static str,
    /// Returns the encoded parts of a message with commas in between, without brackets. Empty if the
    /// message is not sent.
    pub(crate) encode: &'a dyn for<'m> Fn(&'m ChatMessage) -> Result<Encoded<'m>>,
    /// Returns the role of a message; `None` if the message is sent elsewhere.
    pub(crate) role: fn(&ChatMessage) -> Option<&'static str>,
}

impl RoleMerger<'_> {
    /// Writes a JSON list of messages.
    ///
    /// # Errors
    ///
    /// The error of the first message that cannot be encoded.
    pub(crate) fn write<'m>(
        &self,
        messages: impl IntoIterator<Item = &'m ChatMessage>,
        body: &mut Vec<u8>,
    ) -> Result<()> {
        body.push(b'[');
        let mut last_role = None;
        for message in messages {
            let Some(role) = (self.role)(message) else { continue };
            let parts = (self.encode)(message)?;
            if parts.is_empty() {
                continue;
            }
            if last_role == Some(role) {
                body.push(b',');
            } else {
                if last_role.is_some() {
                    body.extend_from_slice(b"]},");
                }
                self.open(role, body);
                last_role = Some(role);
            }
            parts.write(body);
        }
        body.extend_from_slice(if last_role.is_some() { b"]}]" } else { b"]" });
        Ok(())
    }

    /// Writes the beginning of a message.
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
        let merger = RoleMerger {
            parts: "content",
            encode: &|message| Ok(Encoded::Kept(message.text().unwrap_or_default().as_bytes())),
            role: |message| match message {
                ChatMessage::System(_) => None,
                ChatMessage::Ai(_) => Some("assistant"),
                _ => Some("user"),
            },
        };
        let mut body = Vec::new();
        merger.write(messages, &mut body).unwrap();
        String::from_utf8(body).unwrap()
    }

    #[test]
    fn consecutive_messages_of_one_role_are_merged() {
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
