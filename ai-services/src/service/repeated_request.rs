//! The answer to a request that was answered before.

use super::call::ServiceCall;
use super::memory_session::MemorySession;
use super::open_turn::discard_answered;
use super::response::Reply;
use super::spent::Spent;
use super::stream::{emit_text, emit_thinking};
use super::turn::FinishedTurn;
use crate::Result;
use crate::memory::Snapshot;
use crate::message::{AiMessage, ChatMessage, ToolCall};
use crate::model::ChatResponse;
use crate::tool::ToolExecution;
use futures_util::future::BoxFuture;
use std::time::Duration;

/// Replies with the stored answer to the request of the call, and deletes an open journal of the request. Returns `false`
/// if the history has no such answer.
///
/// The reply contains the answer and the executions of its tools, without usage, cost and durations.
///
/// # Errors
///
/// If the stored answer is not a value of the method's type: another method has answered the request. Fails if the
/// request was answered, and the window has evicted the answer, or if the journal cannot be deleted.
pub(super) fn repeat<'a>(
    call: &'a ServiceCall,
    session: &'a MemorySession,
    snapshot: &'a Snapshot,
    reply: &'a mut dyn Reply,
) -> BoxFuture<'a, Result<bool>> {
    Box::pin(async move {
        let is_answered = reply_with_stored_answer(call, snapshot, reply)?;
        if is_answered {
            discard_answered(call, session, snapshot).await?;
        } else if let Some(request) = call.request_id().filter(|_| snapshot.history().len() > 0) {
            session.check_request(request).await?;
        }
        Ok(is_answered)
    })
}

fn reply_with_stored_answer(
    call: &ServiceCall,
    snapshot: &Snapshot,
    reply: &mut dyn Reply,
) -> Result<bool> {
    let Some(turn) = call.request_id().and_then(|request| snapshot.turn_of(request)) else {
        return Ok(false);
    };
    let Some(ChatMessage::Ai(answer)) = turn.last() else { return Ok(false) };
    if let Some(queue) = call.delivery.queue() {
        emit_thinking(queue, answer);
        emit_text(queue, answer);
    }
    let response = Box::new(ChatResponse::new(answer.clone()));
    reply.read(&response, call.plan.output.shape())?;
    let finished = FinishedTurn {
        spent: Spent::default(),
        executions: executions(&turn),
        intermediate: Vec::new(),
        rejected: Vec::new(),
        answer: response,
    };
    reply.complete(finished, Vec::new());
    Ok(true)
}

/// Returns the tool calls of a stored turn with their results.
fn executions(turn: &[ChatMessage]) -> Vec<ToolExecution> {
    let mut calls: Vec<&ToolCall> = Vec::new();
    let mut executions = Vec::new();
    for message in turn {
        match message {
            ChatMessage::Ai(message) => calls = AiMessage::tool_calls(message).iter().collect(),
            ChatMessage::ToolResult(result) => {
                let call = calls.iter().find(|call| call.id() == result.id());
                executions.extend(
                    call.map(|call| ToolExecution::new(call, result.clone(), Duration::ZERO)),
                );
            }
            _ => {}
        }
    }
    executions
}
