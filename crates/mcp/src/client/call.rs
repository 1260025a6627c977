//! Calls of tools.

use super::connection::{Connection, SentRequest};
use super::endpoint::Endpoint;
use super::failure::Failure;
use super::http::{self, Headers};
use super::link::Pause;
use super::source::Source;
use crate::clean::clean_text;
use crate::content::tool_output;
use ai_services_core::tool::{ToolError, ToolInput, ToolOutput};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ErrorCode, ErrorData,
    InputRequest, InputRequiredResult, InputResponses, ServerResult,
};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout_at};

/// Most round trips of a call in which the server asks for input.
const MAX_INPUT_ROUNDS: usize = 10;

/// The time between the last moment at which a call is sent and the time limit of its tool.
const STOP_MARGIN: Duration = Duration::from_millis(10);

/// Most characters of the message of an error of a server.
const MAX_ERROR: usize = 2_000;

/// Most bytes of the state that a server asks to have sent back.
const MAX_REQUEST_STATE: usize = 1024 * 1024;

/// Calls the tool `name` of a server.
pub(super) async fn call(
    source: Arc<Source>,
    name: Arc<str>,
    input: ToolInput,
) -> Result<ToolOutput, ToolError> {
    let arguments = arguments(&input)?;
    let mut params = CallToolRequestParams::new(name.to_string());
    params.arguments = (!arguments.is_empty()).then_some(arguments);
    let headers = call_headers(&source, &input)?;
    let permit = before_sending(&input, source.calls.acquire()).await?;
    let _permit = permit.map_err(ToolError::concealed)?;
    for _ in 0..MAX_INPUT_ROUNDS {
        match one_round(&source, &params, &headers, &input).await? {
            ServerResult::CallToolResult(result) => return tool_output(result),
            ServerResult::InputRequiredResult(required) => {
                let connection = source.link.connection(Pause::Fail).await;
                let connection = connection.map_err(|error| ToolError::new(error.to_string()))?;
                params.input_responses = responses(&connection, required.input_requests()).await?;
                params.request_state = required.state()?;
            }
            // A result without content is a result of any other kind.
            ServerResult::EmptyResult(_) => {
                return tool_output(CallToolResult::success(Vec::new()));
            }
            ServerResult::CreateTaskResult(_) => {
                return Err(ToolError::outcome_unknown(
                    "the server answered with a task, which is not supported",
                ));
            }
            _ => return Err(unreadable()),
        }
    }
    let message = format!("the server asked for input more than {MAX_INPUT_ROUNDS} times");
    Err(ToolError::new(message))
}

/// Sends a call and awaits its answer. Connects again if the connection broke before the call was sent.
async fn one_round(
    source: &Source,
    params: &CallToolRequestParams,
    headers: &Headers,
    input: &ToolInput,
) -> Result<ServerResult, ToolError> {
    for is_last in [false, true] {
        let connection = before_sending(input, source.link.connection(Pause::Wait)).await?;
        let connection = connection.map_err(|error| ToolError::new(error.to_string()))?;
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()));
        let answer = match connection.send(request, headers.clone()) {
            Ok(sent) => answer(source, &connection, sent, input).await,
            Err(failure) => Err(failure),
        };
        match answer {
            Ok(result) => return Ok(result),
            Err(Failure::NotSent(_)) if !is_last => source.link.discard(&connection),
            Err(failure) => return Err(tool_error(failure)),
        }
    }
    Err(ToolError::new("the server is not reachable"))
}

/// Awaits an answer. Each report of progress, and an open question to the user, starts the time limit again.
async fn answer(
    source: &Source,
    connection: &Connection,
    mut sent: SentRequest<'_>,
    input: &ToolInput,
) -> Result<ServerResult, Failure> {
    let limit = source.link.server.call_timeout;
    let mut progress = sent.progress.clone();
    let mut until = Instant::now() + limit;
    loop {
        tokio::select! {
            biased;
            answer = sent.answer() => return answer,
            Ok(()) = progress.changed() => {
                until = Instant::now() + limit;
                if let Some(report) = progress.borrow_and_update().clone() {
                    input.report(report);
                }
            }
            () = sleep_until(until) => {
                if !connection.has_open_question() {
                    let message = format!("the server did not answer within {limit:?}");
                    return Err(Failure::NoAnswer(message));
                }
                until = Instant::now() + limit;
            }
        }
    }
}

/// Awaits a step before the call is sent. It ends before the time limit of the tool, at which the tool would be stopped
/// as if the call had been sent.
async fn before_sending<T>(
    input: &ToolInput,
    step: impl Future<Output = T>,
) -> Result<T, ToolError> {
    let Some(deadline) = input.deadline() else { return Ok(step.await) };
    let end = deadline.checked_sub(STOP_MARGIN).unwrap_or(deadline);
    timeout_at(end, step).await.map_err(|_| {
        ToolError::new("the call was not sent: the server was busy or not reachable in time")
    })
}

/// Returns the arguments as a JSON object.
pub(super) fn arguments(input: &ToolInput) -> Result<Map<String, Value>, ToolError> {
    // Checks for repeated names, and accepts what the other tools accept.
    input.arguments()?;
    let text = input.call().arguments().trim();
    if text.is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(Value::String(inner)) => serde_json::from_str(&inner).map_err(|_| not_an_object()),
        _ => Err(not_an_object()),
    }
}

fn not_an_object() -> ToolError {
    ToolError::invalid_arguments("the arguments are not a JSON object")
}

fn call_headers(source: &Source, input: &ToolInput) -> Result<Headers, ToolError> {
    let Endpoint::Http(endpoint) = &source.link.server.endpoint else { return Ok(Headers::new()) };
    let Some(call_headers) = &endpoint.call_headers else { return Ok(Headers::new()) };
    http::headers(&call_headers(input.context())).map_err(ToolError::concealed)
}

/// Answers the questions of a server. Anything but a question to the user is refused.
async fn responses(
    connection: &Connection,
    requests: impl IntoIterator<Item = (String, InputRequest)>,
) -> Result<Option<InputResponses>, ToolError> {
    let mut responses = InputResponses::new();
    for (key, request) in requests {
        let InputRequest::Elicitation(question) = request else {
            return Err(ToolError::new(
                "the server asked for input that this client does not give",
            ));
        };
        let answer = connection.answer(question.params).await;
        let answer = serde_json::to_value(answer).map_err(ToolError::concealed)?;
        responses.insert(key, answer);
    }
    Ok((!responses.is_empty()).then_some(responses))
}

/// The parts of a request for input.
trait RequiredInput {
    fn input_requests(&self) -> Vec<(String, InputRequest)>;
    fn state(&self) -> Result<Option<String>, ToolError>;
}

impl RequiredInput for InputRequiredResult {
    fn input_requests(&self) -> Vec<(String, InputRequest)> {
        self.input_requests.clone().unwrap_or_default().into_iter().collect()
    }

    fn state(&self) -> Result<Option<String>, ToolError> {
        match &self.request_state {
            Some(state) if state.len() > MAX_REQUEST_STATE => {
                Err(ToolError::new("the server's state of the request is larger than 1 MiB"))
            }
            state => Ok(state.clone()),
        }
    }
}

fn tool_error(failure: Failure) -> ToolError {
    match failure {
        Failure::NotSent(reason) => {
            ToolError::new(format!("the server is not reachable: {reason}"))
        }
        Failure::NoAnswer(reason) => ToolError::outcome_unknown(reason),
        Failure::Rejected(error) => rejection(&error),
        Failure::Refused(reason) => ToolError::new(reason),
        Failure::Unauthorized(failure) => ToolError::new(failure.to_string()),
        Failure::Invalid(_) => unreadable(),
    }
}

fn unreadable() -> ToolError {
    ToolError::outcome_unknown("the server's answer is not a tool result")
}

/// Returns the error of a call that the server answered with a protocol error.
fn rejection(error: &ErrorData) -> ToolError {
    let message = clean_text(&error.message, MAX_ERROR);
    match error.code {
        // Also an unknown tool. The model can correct its call.
        ErrorCode::INVALID_PARAMS => ToolError::invalid_arguments(message),
        code => ToolError::new(format!("{message} (error {})", code.0)),
    }
}
