//! The request of the AI SDK's chat transport.

use crate::decisions::{ClientReply, ReplyAction};
use crate::endpoint::{check_role, last_message};
use crate::problem::Problem;
use crate::turn::media;
use ai_services_core::approval::ElicitationAnswer;
use ai_services_core::message::Content;
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChatRequest<'a> {
    /// Name of the conversation.
    pub(super) id: String,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
    #[serde(default)]
    trigger: Option<String>,
    /// Answers to questions of tools, from the `body` of the page's request.
    #[serde(default)]
    tool_answers: Option<Vec<ToolAnswers>>,
}

/// The answers to the questions of a tool call.
#[derive(Clone, Deserialize)]
struct ToolAnswers {
    /// The id in the data of the questions.
    id: String,
    answers: Vec<ElicitationAnswer>,
}

/// The input of the user.
pub(super) enum ChatInput {
    Message(Vec<Content>),
    Replies(Vec<ClientReply>),
}

/// The last message, if it is one of the assistant: the page has added decisions to it.
#[derive(Deserialize)]
struct AssistantMessage {
    role: String,
    parts: Vec<AssistantPart>,
}

#[derive(Deserialize)]
struct AssistantPart {
    r#type: String,
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    approval: Option<Approval>,
    #[serde(default)]
    data: Option<Value>,
}

#[derive(Deserialize)]
struct Approval {
    id: String,
    #[serde(default)]
    approved: Option<bool>,
    #[serde(default)]
    reason: Option<String>,
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
    /// Returns the message or the decisions of the user.
    pub(super) fn input(&self) -> Result<ChatInput, Problem> {
        if self.trigger.as_deref().is_some_and(|trigger| trigger != "submit-message") {
            return Err(Problem::new(
                StatusCode::BAD_REQUEST,
                "unsupported_trigger",
                "stored turns are not replaced: only the trigger `submit-message` is supported",
            ));
        }
        let replies = self.replies()?;
        match replies.is_empty() {
            true => self.contents().map(ChatInput::Message),
            false => Ok(ChatInput::Replies(replies)),
        }
    }

    /// Returns the decisions: answers in the body, else approvals in the last message, else a look for the end of the
    /// tasks there.
    fn replies(&self) -> Result<Vec<ClientReply>, Problem> {
        if let Some(answers) = self.tool_answers.as_ref().filter(|answers| !answers.is_empty()) {
            let replies = |call: &ToolAnswers| ClientReply::answers(&call.id, call.answers.clone());
            let replies: Vec<_> = answers.iter().map(replies).collect::<Result<_, _>>()?;
            return Ok(replies.into_iter().flatten().collect());
        }
        let last = self.messages.last().and_then(|last| serde_json::from_str(last.get()).ok());
        let last = last.filter(|last: &AssistantMessage| last.role == "assistant");
        let Some(AssistantMessage { parts, .. }) = last else { return Ok(Vec::new()) };
        let approvals: Vec<_> =
            parts.iter().filter_map(AssistantPart::approval).collect::<Result<_, _>>()?;
        if !approvals.is_empty() {
            return Ok(approvals);
        }
        parts.iter().filter_map(AssistantPart::task).collect()
    }

    /// Returns the contents of the last message.
    fn contents(&self) -> Result<Vec<Content>, Problem> {
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

impl AssistantPart {
    /// Returns the decision about a tool call whose result is missing.
    fn approval(&self) -> Option<Result<ClientReply, Problem>> {
        let approval = self.approval.as_ref()?;
        if self.state.as_deref() != Some("approval-responded") {
            return None;
        }
        let action = match approval.approved? {
            true => ReplyAction::Approve,
            false => ReplyAction::Deny(approval.reason.clone()),
        };
        Some(ClientReply::new(&approval.id, action))
    }

    /// Returns the look for the end of a task.
    fn task(&self) -> Option<Result<ClientReply, Problem>> {
        let data = self.data.as_ref().filter(|_| self.r#type == "data-tool-task")?;
        let id = data.get("id")?.as_str()?;
        Some(ClientReply::new(id, ReplyAction::Poll))
    }
}
