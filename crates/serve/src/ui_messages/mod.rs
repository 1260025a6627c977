//! The UI message stream of the AI SDK, version 1.

mod request;
mod writer;

use crate::endpoint::{Received, name_conversation};
use crate::problem::Problem;
use crate::state::ServerState;
use crate::tool_tracker::ToolTracker;
use crate::turn::{Conversation, UserTurn};
use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::{HeaderName, HeaderValue};
use request::{ChatInput, ChatRequest};
use std::sync::Arc;
use writer::UiWriter;

/// The response header with the version of the stream.
const VERSION: HeaderName = HeaderName::from_static("x-vercel-ai-ui-message-stream");

/// Answers a message, or goes on with a turn that was decided, with a stream.
pub(crate) async fn messages(
    State(server): State<Arc<ServerState>>,
    Path(service): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let received = Received::new(&server, request).await?;
    let request: ChatRequest<'_> = received.json()?;
    let service = server.service(&service)?;
    let conversation = Conversation::named(&request.id)?;
    let memory_id = server.memory_id(&received.principal, &conversation);
    let (answer, tools) = match request.input()? {
        ChatInput::Message(contents) => {
            let turn = UserTurn::new(
                received.principal.clone(),
                conversation.clone(),
                memory_id.clone(),
                contents,
            )?;
            (server.answer(service, &turn)?, ToolTracker::new())
        }
        ChatInput::Replies(replies) => {
            server.resume(service, &received.principal, &memory_id, replies).await?
        }
    };
    let mut response = answer.into_response(UiWriter::new(&memory_id, tools), None);
    response.headers_mut().insert(VERSION, HeaderValue::from_static("v1"));
    name_conversation(&mut response, conversation.as_str());
    Ok(response)
}
