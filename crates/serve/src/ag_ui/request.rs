//! The input of a run.

use crate::endpoint::{check_role, last_message};
use crate::problem::Problem;
use crate::turn::{media, media_of};
use ai_services_core::message::Content;
use http::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The input of a run. State, context and tools of the client are not read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunInput<'a> {
    /// Name of the conversation.
    pub(super) thread_id: String,
    pub(super) run_id: String,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
    #[serde(default, borrow)]
    resume: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: Contents,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Contents {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Part {
    Text { text: String },
    Image { source: Source },
    Document { source: Source },
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Source {
    Data {
        value: String,
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    Url {
        value: String,
    },
}

impl RunInput<'_> {
    /// Returns the contents of the last message.
    pub(super) fn contents(&self) -> Result<Vec<Content>, Problem> {
        if self.resume.as_ref().is_some_and(|entries| !entries.is_empty()) {
            return Err(Problem::new(
                StatusCode::BAD_REQUEST,
                "unsupported_resume",
                "interrupts are decided by the application, not by `resume`",
            ));
        }
        let message: Message = last_message(&self.messages)?;
        check_role(&message.role)?;
        match message.content {
            Contents::Text(text) => Ok(vec![text.into()]),
            Contents::Parts(parts) => parts.into_iter().map(content).collect(),
        }
    }
}

fn content(part: Part) -> Result<Content, Problem> {
    match part {
        Part::Text { text } => Ok(text.into()),
        Part::Image { source } | Part::Document { source } => match source {
            Source::Data { value, mime_type } => media_of(&mime_type, &value),
            Source::Url { value } => media(&value),
        },
    }
}
