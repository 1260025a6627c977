//! Questions of a server to the user.

use ai_services_core::approval::{Elicitation, ElicitationAnswer, ElicitationKind};
use futures_util::future::BoxFuture;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::Value;
use std::sync::Arc;

/// Answers a question.
pub(super) type Elicit =
    Arc<dyn Fn(Elicitation) -> BoxFuture<'static, ElicitationAnswer> + Send + Sync>;

/// Returns the answer to a question. Without a function to ask, the question is declined.
pub(super) async fn answer(
    elicit: Option<&Elicit>,
    server: &str,
    question: ElicitRequestParams,
) -> ElicitResult {
    let Some(elicit) = elicit else { return to_result(ElicitationAnswer::Decline) };
    match to_elicitation(server, question) {
        Some(question) => to_result(elicit(question).await),
        None => to_result(ElicitationAnswer::Decline),
    }
}

/// Returns an answer as the server gets it.
pub(super) fn to_result(answer: ElicitationAnswer) -> ElicitResult {
    match answer {
        ElicitationAnswer::Accept(Value::Null) => ElicitResult::new(ElicitationAction::Accept),
        ElicitationAnswer::Accept(content) => {
            ElicitResult::new(ElicitationAction::Accept).with_content(content)
        }
        ElicitationAnswer::Cancel => ElicitResult::new(ElicitationAction::Cancel),
        _ => ElicitResult::new(ElicitationAction::Decline),
    }
}

/// Returns the answer that a server gets.
pub(super) fn to_answer(result: ElicitResult) -> ElicitationAnswer {
    match result.action {
        ElicitationAction::Accept => ElicitationAnswer::Accept(result.content.unwrap_or_default()),
        ElicitationAction::Cancel => ElicitationAnswer::Cancel,
        _ => ElicitationAnswer::Decline,
    }
}

/// Returns the question for the user. `None` if it is of an unknown kind.
pub(super) fn to_elicitation(server: &str, question: ElicitRequestParams) -> Option<Elicitation> {
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
    Some(Elicitation::new(server, message, kind))
}
