//! The JSON array of LangChain4j, which accepts fewer values than this crate.

use super::content::WireContent;
use super::text::WireText;
use super::unwritable;
use super::wire::{Wire, wire};
use crate::error::Result;
use crate::message::ChatMessage;
use std::fmt::Write;

/// Writes messages as a JSON array that LangChain4j reads.
///
/// LangChain4j rejects a whole array because of one value that it does not accept. The array therefore differs
/// from the messages in these cases:
///
/// - Refusals and answers in their provider's own format are left out, because LangChain4j has no fields for
///   them.
/// - A system message without text is left out.
/// - A user message or a tool result without contents has an empty text.
/// - Characters that are not allowed in a URL are percent-encoded.
///
/// [`messages_from_json`](super::messages_from_json) reads the array back.
///
/// # Errors
///
/// Same as [`messages_to_json`](super::messages_to_json).
///
/// # Examples
///
/// ```
/// use ai_services::message::{ChatMessage, messages_from_json, messages_to_langchain4j_json};
///
/// let messages = vec![ChatMessage::system("Be brief.")];
/// let json = messages_to_langchain4j_json(&messages)?;
/// assert_eq!(json, r#"[{"type":"SYSTEM","text":"Be brief."}]"#);
/// assert_eq!(messages_from_json(&json)?.to_vec(), messages);
/// # Ok::<(), ai_services::Error>(())
/// ```
#[doc(alias = "messagesToJson")]
pub fn messages_to_langchain4j_json<'a>(
    messages: impl IntoIterator<Item = &'a ChatMessage>,
) -> Result<String> {
    let messages: Vec<_> = messages.into_iter().filter_map(accepted).collect();
    serde_json::to_string(&messages).map_err(unwritable)
}

/// Returns the form of a message that LangChain4j accepts, if there is one.
fn accepted(message: &ChatMessage) -> Option<Wire<'_>> {
    let mut wire = wire(message);
    match &mut wire {
        Wire::System(system) if is_blank(&system.text.0) => return None,
        Wire::System(_) | Wire::Custom(_) => {}
        Wire::User(user) => accept_contents(&mut user.contents),
        Wire::ToolExecutionResult(result) => accept_contents(&mut result.contents),
        Wire::Ai(answer) => (answer.refusal, answer.provider_content) = (None, None),
    }
    Some(wire)
}

fn accept_contents(contents: &mut Vec<WireContent<'_>>) {
    if contents.is_empty() {
        contents.push(WireContent::text(""));
    }
    contents.iter_mut().filter_map(WireContent::url_mut).for_each(encode);
}

/// Returns whether a text is blank for Java's `String::trim`.
fn is_blank(text: &str) -> bool {
    text.chars().all(|letter| letter <= ' ')
}

/// Percent-encodes the characters that `java.net.URI` does not accept.
fn encode(WireText(url): &mut WireText<'_>) {
    let authority = url.split_once("//").map_or(0, |(scheme, rest)| {
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        scheme.len() + "//".len() + end
    });
    let fragment = url.find('#').unwrap_or(url.len());
    let mut encoded = String::with_capacity(url.len());
    for (index, letter) in url.char_indices() {
        let is_accepted = match letter {
            '%' => is_escape(url.get(index + 1..index + 3)),
            // An IP address in version 6.
            '[' | ']' => index < authority,
            '#' => index <= fragment,
            '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}' => false,
            letter => !letter.is_control() && !letter.is_whitespace(),
        };
        if is_accepted {
            encoded.push(letter);
            continue;
        }
        for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
            // Writing to a string does not fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    if encoded.len() != url.len() {
        *url = encoded.into();
    }
}

fn is_escape(digits: Option<&str>) -> bool {
    digits.is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{
        AiMessage, ImageContent, ProviderContent, SystemMessage, ToolResult, UserMessage,
        messages_from_json,
    };

    fn read_back(message: impl Into<ChatMessage>) -> Vec<ChatMessage> {
        let json = messages_to_langchain4j_json(&[message.into()]).unwrap();
        messages_from_json(&json).unwrap().to_vec()
    }

    #[test]
    fn array_for_langchain4j_has_only_its_fields() {
        let content = ProviderContent::from_json("p", "[]").unwrap();
        let answer = AiMessage::builder().text("t").thinking("hm").refusal("no");
        let answer = answer.provider_content(content).build();
        let messages = [ChatMessage::user("u"), answer.into()];
        let json = messages_to_langchain4j_json(&messages).unwrap();
        assert_eq!(
            json,
            r#"[{"type":"USER","contents":[{"type":"TEXT","text":"u"}]},{"type":"AI","text":"t","thinking":"hm","toolExecutionRequests":[],"attributes":{}}]"#
        );
        let known = AiMessage::builder().text("t").thinking("hm").build();
        let read = messages_from_json(&json).unwrap();
        assert_eq!(read.to_vec(), [ChatMessage::user("u"), known.into()]);
    }

    #[test]
    fn array_for_langchain4j_has_no_empty_messages() {
        for text in ["", " \n\t", "\u{0}"] {
            assert_eq!(read_back(SystemMessage::new(text)), [], "{text:?}");
        }
        assert_eq!(read_back(SystemMessage::new("\u{a0}")).len(), 1);
        assert_eq!(read_back(UserMessage::from_contents([])), [ChatMessage::user("")]);
        let empty = ToolResult::from_contents("1", "t", []);
        assert_eq!(read_back(empty), [ToolResult::new("1", "t", "").into()]);
    }

    #[test]
    fn urls_for_langchain4j_are_encoded() {
        for (url, encoded) in [
            ("https://x/a b?q={1}|2#c#d", "https://x/a%20b?q=%7B1%7D%7C2#c%23d"),
            ("https://[::1]/a[1]%20%zz%", "https://[::1]/a%5B1%5D%20%25zz%25"),
            ("https://x/ä/你?q=%C3%A4\u{3000}", "https://x/ä/你?q=%C3%A4%E3%80%80"),
            ("data:image/png;base64,AA==", "data:image/png;base64,AA=="),
            ("a b//c[1]", "a%20b//c[1]"),
        ] {
            let image = |url: &str| UserMessage::from_contents([ImageContent::url(url).into()]);
            assert_eq!(read_back(image(url)), [image(encoded).into()]);
        }
    }
}
