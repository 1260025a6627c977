//! Calls of tools.

use super::call_state::{CallState, Task};
use super::questions::{self, Questions};
use super::remote_call::{CallFailure, RemoteCall, unreadable};
use super::source::Source;
use super::task;
use crate::content::tool_output;
use ai_services_core::tool::{ToolError, ToolInput, ToolOutput};
use rmcp::model::{CallToolResult, ServerResult};
use std::sync::Arc;

/// Most round trips of a call in which the server asks for input.
const MAX_INPUT_ROUNDS: u32 = 10;

/// Calls the tool `name` of a server, or goes on with a call that was suspended.
pub(super) async fn call(
    source: Arc<Source>,
    name: Arc<str>,
    input: ToolInput,
) -> Result<ToolOutput, ToolError> {
    let mut call = RemoteCall::new(source, &name, input)?;
    let continuation = call.input.continuation().cloned();
    let (mut round, mut may_visit) = (0, true);
    if let Some(continuation) = continuation {
        match CallState::read(continuation.state)? {
            CallState::Task(task) => return task::follow(&call, task, &continuation.answers).await,
            CallState::Input { round: last, keys, request_state } => {
                round = last;
                call.params.input_responses = questions::responses(&keys, &continuation.answers)?;
                call.params.request_state = request_state;
            }
            CallState::Visits => {
                questions::check_visits(&continuation.answers)?;
                may_visit = false;
            }
        }
    }
    while round < MAX_INPUT_ROUNDS {
        let result = match call.send().await {
            Ok(result) => result,
            Err(CallFailure::Rejected(error)) if may_visit => {
                // The error means that nothing was executed.
                questions::visit(&call, &error).await?;
                may_visit = false;
                continue;
            }
            Err(failure) => return Err(failure.into()),
        };
        match result {
            ServerResult::CallToolResult(result) => return tool_output(result),
            ServerResult::InputRequiredResult(required) => {
                round += 1;
                let questions = Questions::of_call(required, round)?;
                let request_state = questions.request_state.clone();
                call.params.input_responses = questions.answer(&call).await?;
                call.params.request_state = request_state;
            }
            // A result without content is a result of any other kind.
            ServerResult::EmptyResult(_) => {
                return tool_output(CallToolResult::success(Vec::new()));
            }
            ServerResult::CreateTaskResult(created) => {
                return task::begin(&call, Task::new(&created.task)?).await;
            }
            _ => return Err(unreadable()),
        }
    }
    let message = format!("the server asked for input more than {MAX_INPUT_ROUNDS} times");
    Err(ToolError::new(message))
}
