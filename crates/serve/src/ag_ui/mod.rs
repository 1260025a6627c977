//! AG-UI 1.0.

mod request;
mod writer;

use crate::endpoint::{Received, name_conversation};
use crate::problem::Problem;
use crate::state::ServerState;
use crate::turn::{Conversation, UserTurn};
use axum::extract::{Path, Request, State};
use axum::response::Response;
use request::RunInput;
use std::sync::Arc;
use writer::RunWriter;

/// Answers a message with a run.
pub(crate) async fn run(
    State(server): State<Arc<ServerState>>,
    Path(service): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let received = Received::new(&server, request).await?;
    let input: RunInput<'_> = received.json()?;
    let service = server.service(&service)?;
    let conversation = Conversation::named(&input.thread_id)?;
    let turn = UserTurn::new(received.principal.clone(), conversation, input.contents()?)?;
    let answer = server.answer(service, &turn)?;
    let writer = RunWriter::new(input.thread_id, input.run_id);
    let mut response = answer.into_response(writer, None);
    name_conversation(&mut response, turn.conversation());
    Ok(response)
}
