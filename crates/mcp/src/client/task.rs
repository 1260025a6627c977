//! Calls that a server handles as a task: the call is answered with a handle, which is polled.

use super::call_state::{CallState, Task};
use super::failure::Failure;
use super::questions::{self, Questions};
use super::remote_call::{RemoteCall, STOP_MARGIN, rejection, unreadable};
use crate::clean::clean_text;
use crate::content::tool_output;
use ai_services_core::approval::{ElicitationAnswer, Suspension};
use ai_services_core::tool::{ToolError, ToolOutput};
use rmcp::model::{
    CancelTaskParams, CancelTaskRequest, ClientRequest, ErrorCode, ErrorData, GetTaskParams,
    GetTaskRequest, InputRequests, JsonObject, ServerResult, TaskPayload, UpdateTaskParams,
    UpdateTaskRequest,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, sleep};

/// Most times that a task asks for input.
const MAX_INPUT_ROUNDS: u32 = 10;

/// Most characters of a text of a server in an error.
const MAX_REASON: usize = 300;

/// The state of a task at one poll.
enum Poll {
    Ended(Result<ToolOutput, ToolError>),
    Works,
    Asks(InputRequests),
}

/// Follows a task that has just begun. In a durable turn, its handle is in the journal before the first poll, so that the
/// call is never sent again.
pub(super) async fn begin(call: &RemoteCall, task: Task) -> Result<ToolOutput, ToolError> {
    let cancellation = CancelOnDrop::new(call, &task);
    let state = CallState::Task(task.clone()).awaiting(Vec::new())?;
    call.input.checkpoint(state).await?;
    sleep(task.interval()).await;
    poll_until_end(call, task, cancellation).await
}

/// Goes on with a task whose turn was suspended or interrupted.
pub(super) async fn follow(
    call: &RemoteCall,
    mut task: Task,
    answers: &[ElicitationAnswer],
) -> Result<ToolOutput, ToolError> {
    let cancellation = CancelOnDrop::new(call, &task);
    if let Some(responses) = questions::responses(&task.asked, answers)? {
        task.respond(responses);
    }
    poll_until_end(call, task, cancellation).await
}

async fn poll_until_end(
    call: &RemoteCall,
    mut task: Task,
    mut cancellation: CancelOnDrop<'_>,
) -> Result<ToolOutput, ToolError> {
    let end = end_of_wait(call);
    loop {
        send_responses(call, &mut task).await;
        match poll(call, &mut task).await {
            Poll::Ended(outcome) => {
                cancellation.disarm();
                return outcome;
            }
            Poll::Asks(requests) => {
                task.rounds += 1;
                if task.rounds > MAX_INPUT_ROUNDS {
                    return Err(cancellation.cancel("the task asked for input too often"));
                }
                let questions = Questions::of_requests(requests)?;
                if let Some(responses) = questions.answer_for_task(call, &task).await? {
                    task.respond(responses);
                    continue;
                }
            }
            Poll::Works => {}
        }
        if task.is_too_old() {
            return Err(cancellation.cancel("the task did not end within 30 days"));
        }
        if end.is_some_and(|end| Instant::now() + task.interval() >= end) {
            let state = CallState::Task(task).awaiting(Vec::new())?;
            return Err(ToolError::suspended(Suspension::Awaits(state)));
        }
        sleep(task.interval()).await;
    }
}

/// Returns the time at which the turn is suspended. `None` if it cannot be: the time limit of the tool applies.
fn end_of_wait(call: &RemoteCall) -> Option<Instant> {
    if !call.input.can_suspend() {
        return None;
    }
    let wait = Instant::now().checked_add(call.source.link.server.task_wait);
    let limit = call.input.deadline().and_then(|deadline| deadline.checked_sub(STOP_MARGIN));
    wait.into_iter().chain(limit).min()
}

/// Sends the answers of the user, until the server has confirmed them. A repetition has no effect.
async fn send_responses(call: &RemoteCall, task: &mut Task) {
    let Some(responses) = task.responses.clone() else { return };
    let params = UpdateTaskParams::new(task.id.clone(), responses);
    let request = ClientRequest::UpdateTaskRequest(UpdateTaskRequest::new(params));
    match call.request(request).await {
        // A refusal: the task no longer needs the answers, as the next poll shows.
        Ok(_) | Err(Failure::Rejected(_) | Failure::Invalid(_)) => task.responses = None,
        Err(
            Failure::NotSent(_)
            | Failure::NoAnswer(_)
            | Failure::Refused(_)
            | Failure::Unauthorized(_),
        ) => {}
    }
}

/// Asks for the state of a task. A poll has no effect, so that a failed one is repeated.
async fn poll(call: &RemoteCall, task: &mut Task) -> Poll {
    let params = GetTaskParams::new(task.id.clone());
    let request = ClientRequest::GetTaskRequest(GetTaskRequest::new(params));
    let state = match call.request(request).await {
        Ok(ServerResult::GetTaskResult(state)) => state.task,
        Ok(_) | Err(Failure::Invalid(_)) => return Poll::Ended(Err(unreadable())),
        Err(Failure::Rejected(error)) if error.code != ErrorCode::INTERNAL_ERROR => {
            let reason = clean_text(&error.message, MAX_REASON);
            let message = format!("the server no longer knows the task of the call: {reason}");
            return Poll::Ended(Err(ToolError::outcome_unknown(message)));
        }
        Err(_) => return Poll::Works,
    };
    task.set_interval(state.task.poll_interval_ms);
    match state.payload {
        TaskPayload::Completed { result } => {
            Poll::Ended(read(result).ok_or_else(unreadable).and_then(tool_output))
        }
        TaskPayload::Failed { error } => {
            let error = read::<ErrorData>(error);
            Poll::Ended(Err(error.map_or_else(unreadable, |error| rejection(&error))))
        }
        TaskPayload::Cancelled => {
            let message = "the server canceled the task of the call";
            Poll::Ended(Err(ToolError::outcome_unknown(message)))
        }
        TaskPayload::InputRequired { mut input_requests } => {
            // The server may show questions for a while after they were answered.
            input_requests.retain(|key, _| !task.answered.contains(key));
            if input_requests.is_empty() { Poll::Works } else { Poll::Asks(input_requests) }
        }
        _ => Poll::Works,
    }
}

fn read<T: DeserializeOwned>(object: JsonObject) -> Option<T> {
    serde_json::from_value(Value::Object(object)).ok()
}

/// Cancels a task that nothing follows any more. The task of a durable turn goes on, because the turn can be resumed.
struct CancelOnDrop<'a> {
    call: &'a RemoteCall,
    task: String,
    is_armed: bool,
}

impl<'a> CancelOnDrop<'a> {
    fn new(call: &'a RemoteCall, task: &Task) -> Self {
        Self { call, task: task.id.clone(), is_armed: !call.input.can_suspend() }
    }

    fn disarm(&mut self) {
        self.is_armed = false;
    }

    /// Cancels the task, also that of a durable turn, and returns the error of its call.
    fn cancel(mut self, reason: &str) -> ToolError {
        self.is_armed = true;
        ToolError::outcome_unknown(reason)
    }
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.is_armed {
            let params = CancelTaskParams::new(std::mem::take(&mut self.task));
            let request = CancelTaskRequest::new(params);
            self.call.post(ClientRequest::CancelTaskRequest(request));
        }
    }
}
