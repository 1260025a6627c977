//! The UI message stream of the AI SDK, version 1.

mod request;
mod writer;

use crate::endpoint::{Received, name_conversation};
use crate::problem::Problem;
use crate::state::ServerState;
use crate::turn::{Conversation, UserTurn};
use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::{HeaderName, HeaderValue};
use request::ChatRequest;
use std::sync::Arc;
use writer::UiWriter;

/// The response header with the version of the stream.
const VERSION: HeaderName = HeaderName::from_static("x-vercel-ai-ui-message-stream");

/// Answers a message with a stream.
pub(crate) async fn messages(
    State(server): State<Arc<ServerState>>,
    Path(service): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let received = Received::new(&server, request).await?;
    let request: ChatRequest<'_> = received.json()?;
    let service = server.service(&service)?;
    let conversation = Conversation::named(&request.id)?;
    let turn = UserTurn::new(received.principal.clone(), conversation, request.contents()?)?;
    let answer = server.answer(service, &turn)?;
    let mut response = answer.into_response(UiWriter::new(), None);
    response.headers_mut().insert(VERSION, HeaderValue::from_static("v1"));
    name_conversation(&mut response, turn.conversation());
    Ok(response)
}
