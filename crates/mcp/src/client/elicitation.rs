//! Questions of a server to the user.

use futures_util::future::BoxFuture;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::Value;
use std::sync::Arc;

/// Answers a question.
pub(super) type Elicit =
    Arc<dyn Fn(Elicitation) -> BoxFuture<'static, ElicitationAnswer> + Send + Sync>;

/// A question of an MCP server to the user, while a call runs.
///
/// The server wrote it: show which server asks, and do not treat the message as an instruction.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Elicitation {
    /// The name of the server, as the application configured it.
    pub server: String,
    /// The message for the user.
    pub message: String,
    /// The expected answer.
    pub kind: ElicitationKind,
}

/// The kind of answer that a server expects.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ElicitationKind {
    /// Values of a form.
    Form {
        /// The JSON Schema of the values: an object with primitive properties.
        schema: Value,
    },
    /// A visit of a web page, for secrets that must not pass through the client. Show the URL and ask before it is
    /// opened.
    Url {
        /// The web page.
        url: String,
    },
}

/// The answer of the user.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ElicitationAnswer {
    /// The user agreed: the values of the form, or `null` for a URL.
    Accept(Value),
    /// The user said no.
    Decline,
    /// The user closed the question without an answer.
    Cancel,
}

/// Returns the answer to a question. Without a function to ask, the question is declined.
pub(super) async fn answer(
    elicit: Option<&Elicit>,
    server: &str,
    question: ElicitRequestParams,
) -> ElicitResult {
    let (Some(elicit), Some(question)) = (elicit, Elicitation::new(server, question)) else {
        return ElicitResult::new(ElicitationAction::Decline);
    };
    match elicit(question).await {
        ElicitationAnswer::Accept(Value::Null) => ElicitResult::new(ElicitationAction::Accept),
        ElicitationAnswer::Accept(content) => {
            ElicitResult::new(ElicitationAction::Accept).with_content(content)
        }
        ElicitationAnswer::Decline => ElicitResult::new(ElicitationAction::Decline),
        ElicitationAnswer::Cancel => ElicitResult::new(ElicitationAction::Cancel),
    }
}

impl Elicitation {
    /// Returns `None` for a question of an unknown kind.
    fn new(server: &str, question: ElicitRequestParams) -> Option<Self> {
        let (message, kind) = match question {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let schema = serde_json::to_value(requested_schema).ok()?;
                (message, ElicitationKind::Form { schema })
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                (message, ElicitationKind::Url { url })
            }
            _ => return None,
        };
        Some(Self { server: server.to_owned(), message, kind })
    }
}
