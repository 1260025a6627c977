//! The request of OpenAI Responses.

use crate::endpoint::{check_role, last_message};
use crate::problem::Problem;
use crate::turn::{Conversation, media};
use ai_services_core::message::Content;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use uuid::Uuid;

/// A request. The sampling settings of clients are not read.
#[derive(Deserialize)]
pub(super) struct ResponseRequest<'a> {
    pub(super) model: String,
    #[serde(borrow)]
    input: &'a RawValue,
    #[serde(default)]
    pub(super) stream: Option<bool>,
    #[serde(default)]
    conversation: Option<WireConversation>,
    #[serde(default)]
    previous_response_id: Option<String>,
    #[serde(default, borrow)]
    tools: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    background: Option<bool>,
    #[serde(default)]
    text: Option<TextSettings>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WireConversation {
    Name(String),
    Object { id: String },
}

#[derive(Deserialize)]
struct TextSettings {
    #[serde(default)]
    format: Option<TextFormat>,
}

#[derive(Deserialize)]
struct TextFormat {
    r#type: String,
}

#[derive(Deserialize)]
struct InputMessage {
    role: String,
    content: InputContents,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum InputContents {
    Text(String),
    Parts(Vec<InputPart>),
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum InputPart {
    #[serde(rename = "input_text")]
    Text { text: String },
    #[serde(rename = "input_image")]
    Image { image_url: String },
    #[serde(rename = "input_file")]
    File { file_data: String },
}

impl ResponseRequest<'_> {
    /// Refuses requests whose answer would silently differ from what the client expects.
    pub(super) fn check_supported(&self) -> Result<(), Problem> {
        let refused = |what: &'static str| {
            Err(Problem::new(StatusCode::BAD_REQUEST, "unsupported_parameter", what))
        };
        if self.tools.as_ref().is_some_and(|tools| !tools.is_empty()) {
            return refused("the tools are the server's: `tools` is not supported");
        }
        if self.background == Some(true) {
            return refused("`background` is not supported");
        }
        let format = self.text.as_ref().and_then(|text| text.format.as_ref());
        if format.is_some_and(|format| format.r#type != "text") {
            return refused("the form of the answer is the service's: `text.format` must be text");
        }
        Ok(())
    }

    /// Returns the conversation that the request names, or a new one.
    pub(super) fn conversation(&self) -> Result<Conversation, Problem> {
        match (&self.conversation, &self.previous_response_id) {
            (Some(_), Some(_)) => Err(Problem::invalid(
                "give either `conversation` or `previous_response_id`, not both",
            )),
            (Some(WireConversation::Name(name) | WireConversation::Object { id: name }), None) => {
                Conversation::named(name)
            }
            (None, Some(id)) => conversation_of(id),
            (None, None) => Ok(Conversation::new()),
        }
    }

    /// Returns the contents of the last message.
    pub(super) fn contents(&self) -> Result<Vec<Content>, Problem> {
        let input = self.input.get();
        if let Ok(text) = serde_json::from_str::<String>(input) {
            return Ok(vec![text.into()]);
        }
        let items: Vec<&RawValue> = serde_json::from_str(input)
            .map_err(|_| Problem::invalid("`input` must be a text or a list"))?;
        let message: InputMessage = last_message(&items)?;
        check_role(&message.role)?;
        match message.content {
            InputContents::Text(text) => Ok(vec![text.into()]),
            InputContents::Parts(parts) => parts.into_iter().map(content).collect(),
        }
    }
}

fn content(part: InputPart) -> Result<Content, Problem> {
    match part {
        InputPart::Text { text } => Ok(text.into()),
        InputPart::Image { image_url: url } | InputPart::File { file_data: url } => media(&url),
    }
}

/// Creates the id of a response. It names the conversation, so that nothing is stored for `previous_response_id`.
pub(super) fn response_id(conversation: &str) -> String {
    format!("resp_{}.{}", URL_SAFE_NO_PAD.encode(conversation), Uuid::new_v4().simple())
}

/// Returns the conversation of a response.
fn conversation_of(response_id: &str) -> Result<Conversation, Problem> {
    let unknown =
        || Problem::new(StatusCode::NOT_FOUND, "response_not_found", "there is no such response");
    let encoded = response_id.strip_prefix("resp_").and_then(|id| id.split_once('.'));
    let (encoded, _) = encoded.ok_or_else(unknown)?;
    let name = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| unknown())?;
    Conversation::named(std::str::from_utf8(&name).map_err(|_| unknown())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_id_names_its_conversation() {
        for name in ["c1", "a.b_c", "zwölf", "x/y"] {
            let conversation = conversation_of(&response_id(name)).unwrap();
            assert_eq!(conversation.as_str(), name);
        }
        for id in ["", "resp_", "resp_x", "resp_!.1", "chat_YQ.1", "resp_.1"] {
            assert!(conversation_of(id).is_err(), "{id}");
        }
    }
}
