//! OpenAI Responses.

mod request;
mod wire;
mod writer;

use crate::endpoint::{Received, name_conversation};
use crate::problem::Problem;
use crate::state::ServerState;
use crate::turn::UserTurn;
use axum::extract::{Request, State};
use axum::response::Response;
use request::ResponseRequest;
use std::sync::Arc;
use writer::ResponseWriter;

/// Answers a request, whole or as a stream.
pub(crate) async fn responses(
    State(server): State<Arc<ServerState>>,
    request: Request,
) -> Result<Response, Problem> {
    let received = Received::new(&server, request).await?;
    let request: ResponseRequest<'_> = received.json()?;
    request.check_supported()?;
    let service = server.service(&request.model)?;
    let conversation = request.conversation()?;
    let memory_id = server.memory_id(&received.principal, &conversation);
    let contents = request.contents()?;
    let turn = UserTurn::new(received.principal.clone(), conversation, memory_id, contents)?;
    let mut answer = server.answer(service, &turn)?;
    let writer = ResponseWriter::new(request.model.clone(), turn.conversation());
    let mut response = if request.stream.unwrap_or(false) {
        let first = answer.next().await?;
        answer.into_response(writer, Some(first))
    } else {
        let answer = answer.complete().await?;
        writer.response(&answer)
    };
    name_conversation(&mut response, turn.conversation());
    Ok(response)
}
