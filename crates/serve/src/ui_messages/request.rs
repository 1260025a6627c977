//! The request of the AI SDK's chat transport.

use crate::endpoint::{check_role, last_message};
use crate::problem::Problem;
use crate::turn::media;
use ai_services_core::message::Content;
use http::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub(super) struct ChatRequest<'a> {
    /// Name of the conversation.
    pub(super) id: String,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
    #[serde(default)]
    trigger: Option<String>,
}

#[derive(Deserialize)]
struct UiMessage {
    role: String,
    parts: Vec<UiPart>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum UiPart {
    Text {
        text: String,
    },
    File {
        url: String,
    },
    /// Data of the application's own page.
    #[serde(other)]
    Other,
}

impl ChatRequest<'_> {
    /// Returns the contents of the last message.
    pub(super) fn contents(&self) -> Result<Vec<Content>, Problem> {
        if self.trigger.as_deref().is_some_and(|trigger| trigger != "submit-message") {
            return Err(Problem::new(
                StatusCode::BAD_REQUEST,
                "unsupported_trigger",
                "stored turns are not replaced: only the trigger `submit-message` is supported",
            ));
        }
        let message: UiMessage = last_message(&self.messages)?;
        check_role(&message.role)?;
        let contents = message.parts.into_iter().filter_map(|part| match part {
            UiPart::Text { text } => Some(Ok(text.into())),
            UiPart::File { url } => Some(media(&url)),
            UiPart::Other => None,
        });
        contents.collect()
    }
}
