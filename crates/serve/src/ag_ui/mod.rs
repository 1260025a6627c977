//! AG-UI 1.0.

mod interrupts;
mod request;
mod writer;

use crate::endpoint::{Received, name_conversation};
use crate::problem::Problem;
use crate::state::ServerState;
use crate::tool_tracker::ToolTracker;
use crate::turn::{Conversation, UserTurn};
use axum::extract::{Path, Request, State};
use axum::response::Response;
use interrupts::InterruptWriter;
use request::RunInput;
use std::sync::Arc;
use writer::RunWriter;

/// Answers a message, or goes on with a turn that was decided, with a run.
pub(crate) async fn run(
    State(server): State<Arc<ServerState>>,
    Path(service): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let received = Received::new(&server, request).await?;
    let input: RunInput<'_> = received.json()?;
    let service = server.service(&service)?;
    let conversation = Conversation::named(&input.thread_id)?;
    let memory_id = server.memory_id(&received.principal, &conversation);
    let replies = input.replies()?;
    let (answer, tools) = if replies.is_empty() {
        let contents = input.contents()?;
        let turn = UserTurn::new(
            received.principal.clone(),
            conversation.clone(),
            memory_id.clone(),
            contents,
        )?;
        (server.answer(service, &turn)?, ToolTracker::new())
    } else {
        server.resume(service, &received.principal, &memory_id, replies).await?
    };
    let interrupts = InterruptWriter::new(&memory_id, service.edits());
    let writer = RunWriter::new(input.thread_id, input.run_id, tools, interrupts);
    let mut response = answer.into_response(writer, None);
    name_conversation(&mut response, conversation.as_str());
    Ok(response)
}
