//! The steps that every endpoint shares.

use crate::answer::Phase;
use crate::principal::Principal;
use crate::problem::Problem;
use crate::state::ServerState;
use axum::body;
use axum::extract::{Request, State};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// The response header with the name of a conversation.
pub(crate) const CONVERSATION: HeaderName = HeaderName::from_static("x-conversation-id");
/// Time limit of the body of a request.
const BODY_TIME_LIMIT: Duration = Duration::from_secs(60);

/// An authenticated request.
pub(crate) struct Received {
    pub(crate) principal: Principal,
    pub(crate) head: Parts,
    body: Bytes,
}

impl Received {
    /// Authenticates a request, and reads its body.
    pub(crate) async fn new(server: &ServerState, request: Request) -> Result<Self, Problem> {
        let (head, body) = request.into_parts();
        let principal = authenticate(server, head.clone()).await?;
        // A web page of another origin can send a form or plain text without asking, but no JSON.
        let media_type =
            head.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = media_type.and_then(|value| value.split(';').next()).unwrap_or_default();
        if !media_type.trim().eq_ignore_ascii_case("application/json") {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "the body must have the type application/json",
            ));
        }
        let body = timeout(BODY_TIME_LIMIT, body::to_bytes(body, server.max_body_bytes));
        let body = body.await.map_err(|_| {
            Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", "the body took too long")
        })?;
        let body = body.map_err(|_| {
            let message =
                format!("the body has more than {} bytes, or is cut", server.max_body_bytes);
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
        })?;
        Ok(Self { principal, head, body })
    }

    /// Reads the body.
    pub(crate) fn json<'a, T: serde::Deserialize<'a>>(&'a self) -> Result<T, Problem> {
        serde_json::from_slice(&self.body)
            .map_err(|error| Problem::invalid(format!("invalid request: {error}")))
    }
}

/// Returns the principal of a request.
pub(crate) async fn authenticate(server: &ServerState, head: Parts) -> Result<Principal, Problem> {
    let rejected = || {
        Problem::new(
            StatusCode::UNAUTHORIZED,
            "unauthenticated",
            "the request is not authenticated",
        )
    };
    match (server.authenticate)(head).await {
        Ok(principal) if !principal.id().is_empty() => Ok(principal),
        Ok(_) => {
            tracing::warn!("rejected a request of a principal with an empty id");
            Err(rejected())
        }
        Err(error) => {
            tracing::debug!(%error, "rejected a request without a principal");
            Err(rejected())
        }
    }
}

/// Returns 200, or 503 while the server shuts down.
pub(crate) async fn health(State(server): State<Arc<ServerState>>) -> StatusCode {
    match *server.phase.borrow() {
        Phase::Running => StatusCode::OK,
        Phase::Draining | Phase::Stopping => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// Adds the name of the conversation to a response.
pub(crate) fn name_conversation(response: &mut axum::response::Response, conversation: &str) {
    // A name of a client may contain characters that a header cannot have. The client knows it anyway.
    if let Ok(value) = HeaderValue::from_str(conversation) {
        response.headers_mut().insert(CONVERSATION, value);
    }
}

/// Reads the last message of a history, which alone counts.
pub(crate) fn last_message<T: DeserializeOwned>(
    messages: &[&serde_json::value::RawValue],
) -> Result<T, Problem> {
    let last = messages.last().ok_or_else(|| Problem::invalid("there is no message"))?;
    serde_json::from_str(last.get())
        .map_err(|error| Problem::invalid(format!("the last message is invalid: {error}")))
}

/// Fails unless the last message is one of the user.
pub(crate) fn check_role(role: &str) -> Result<(), Problem> {
    match role {
        "user" => Ok(()),
        _ => Err(Problem::invalid("the last message must have the role `user`")),
    }
}
