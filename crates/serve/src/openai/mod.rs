//! OpenAI's protocols.

mod chat;
mod responses;

pub(crate) use chat::chat_completions;
pub(crate) use responses::responses;

use crate::endpoint::authenticate;
use crate::problem::Problem;
use crate::state::ServerState;
use ai_services_core::model::FinishReason;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header;
use serde::Serialize;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Serialize)]
struct ModelList<'a> {
    object: &'static str,
    data: Vec<Model<'a>>,
}

#[derive(Serialize)]
struct Model<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    owned_by: &'static str,
}

/// Lists the services.
pub(crate) async fn models(
    State(server): State<Arc<ServerState>>,
    request: Request,
) -> Result<Response, Problem> {
    let (head, _) = request.into_parts();
    authenticate(&server, head).await?;
    let model = |id| Model { id, object: "model", created: 0, owned_by: "ai-services" };
    let data = server.services.iter().map(|service| model(&*service.name)).collect();
    Ok(json(&ModelList { object: "list", data }))
}

/// Returns a body of JSON.
fn json(value: &impl Serialize) -> Response {
    let body = serde_json::to_string(value).unwrap_or_default();
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// Returns the current time in seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|time| time.as_secs()).unwrap_or_default()
}

/// Returns the reason for clients that do not see tools.
fn finish_reason(reason: Option<&FinishReason>) -> &'static str {
    match reason {
        Some(FinishReason::Length) => "length",
        Some(FinishReason::ContentFilter) => "content_filter",
        _ => "stop",
    }
}
