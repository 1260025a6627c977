//! The input of a run.

use crate::decisions::{ClientReply, ReplyAction, read_id};
use crate::endpoint::{check_role, last_message};
use crate::interrupt_id::InterruptKind;
use crate::problem::Problem;
use crate::turn::{media, media_of};
use ai_services_core::approval::ElicitationAnswer;
use ai_services_core::message::Content;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The input of a run. State, context and tools of the client are not read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunInput<'a> {
    /// Name of the conversation.
    pub(super) thread_id: String,
    pub(super) run_id: String,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
    #[serde(default)]
    resume: Option<Vec<ResumeEntry>>,
}

/// The reply to an interrupt.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResumeEntry {
    interrupt_id: String,
    status: ResumeStatus,
    #[serde(default)]
    payload: Value,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ResumeStatus {
    Resolved,
    Cancelled,
}

/// The payload of a decision about a tool call. A field with another name is an error: it could be misspelled arguments.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ApprovalPayload {
    approved: bool,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    edited_args: Option<Map<String, Value>>,
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
    /// Returns the replies to interrupts. A run with replies has no message.
    pub(super) fn replies(&self) -> Result<Vec<ClientReply>, Problem> {
        self.resume.iter().flatten().map(ResumeEntry::reply).collect()
    }

    /// Returns the contents of the last message.
    pub(super) fn contents(&self) -> Result<Vec<Content>, Problem> {
        let message: Message = last_message(&self.messages)?;
        check_role(&message.role)?;
        match message.content {
            Contents::Text(text) => Ok(vec![text.into()]),
            Contents::Parts(parts) => parts.into_iter().map(content).collect(),
        }
    }
}

impl ResumeEntry {
    fn reply(&self) -> Result<ClientReply, Problem> {
        match self.status {
            ResumeStatus::Cancelled => ClientReply::cancelled(&self.interrupt_id),
            ResumeStatus::Resolved => {
                let action = match read_id(&self.interrupt_id)?.kind {
                    InterruptKind::Approval => approval(&self.payload)?,
                    InterruptKind::Question => {
                        ReplyAction::Answer(ElicitationAnswer::Accept(self.payload.clone()))
                    }
                    InterruptKind::Task => ReplyAction::Poll,
                };
                ClientReply::new(&self.interrupt_id, action)
            }
        }
    }
}

fn approval(payload: &Value) -> Result<ReplyAction, Problem> {
    let payload = ApprovalPayload::deserialize(payload).map_err(|error| {
        Problem::invalid(format!("the payload of a decision is invalid: {error}"))
    })?;
    match payload {
        ApprovalPayload { approved: true, edited_args: None, .. } => Ok(ReplyAction::Approve),
        ApprovalPayload { approved: true, edited_args: Some(arguments), .. } => {
            Ok(ReplyAction::Edit(Value::Object(arguments).to_string()))
        }
        ApprovalPayload { approved: false, edited_args: None, reason } => {
            Ok(ReplyAction::Deny(reason))
        }
        _ => Err(Problem::invalid("a denied call has no `editedArgs`")),
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
