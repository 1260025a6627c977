//! One call of a tool of a server: its request, and the errors of its requests.

use super::connection::{Connection, SentRequest};
use super::endpoint::Endpoint;
use super::failure::Failure;
use super::handler::capabilities;
use super::http;
use super::http_exchange::Headers;
use super::link::Pause;
use super::source::Source;
use crate::clean::clean_text;
use ai_services_core::tool::{ToolError, ToolInput};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ErrorCode, ErrorData, RequestMetaObject,
    ServerResult,
};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout_at};

/// The time between the last moment at which a call is sent and the time limit of its tool.
pub(super) const STOP_MARGIN: Duration = Duration::from_millis(10);

/// Most characters of the message of an error of a server.
const MAX_ERROR: usize = 2_000;

/// One call of a tool.
pub(super) struct RemoteCall {
    pub(super) source: Arc<Source>,
    pub(super) input: ToolInput,
    pub(super) params: CallToolRequestParams,
    headers: Headers,
}

/// A call that was not answered with a result.
pub(super) enum CallFailure {
    /// The server answered with an error.
    Rejected(ErrorData),
    Other(ToolError),
}

impl RemoteCall {
    /// Prepares the call of the tool `name`.
    ///
    /// # Errors
    ///
    /// Fails if the arguments are not an object, or if a header is invalid.
    pub(super) fn new(
        source: Arc<Source>,
        name: &str,
        input: ToolInput,
    ) -> Result<Self, ToolError> {
        let arguments = arguments(&input)?;
        let mut params = CallToolRequestParams::new(name.to_owned());
        params.arguments = (!arguments.is_empty()).then_some(arguments);
        let headers = call_headers(&source, &input)?;
        Ok(Self { source, input, params, headers })
    }

    /// Returns `true` if the user cannot be asked within the call, but the turn can wait for the user.
    pub(super) fn suspends_for_questions(&self) -> bool {
        self.source.link.server.elicit.is_none() && self.input.can_suspend()
    }

    /// Sends the call and awaits its answer. Waits for a free slot first, and connects again if the connection broke
    /// before the call was sent.
    pub(super) async fn send(&self) -> Result<ServerResult, CallFailure> {
        let permit = before_sending(&self.input, self.source.calls.acquire()).await?;
        let _permit = permit.map_err(ToolError::concealed)?;
        for is_last in [false, true] {
            let connection = self.connection().await?;
            self.compare(&connection).await?;
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(self.params.clone()));
            let meta = self.meta(&connection);
            let answer = match connection.send(request, self.headers.clone(), meta) {
                Ok(sent) => answer(&self.source, &connection, sent, &self.input).await,
                Err(failure) => Err(failure),
            };
            match answer {
                Ok(result) => return Ok(result),
                Err(Failure::NotSent(_)) if !is_last => self.source.link.discard(&connection),
                Err(Failure::Rejected(error)) => return Err(CallFailure::Rejected(error)),
                Err(failure) => return Err(tool_error(failure).into()),
            }
        }
        Err(ToolError::new("the server is not reachable").into())
    }

    /// Sends another request that belongs to the call, and awaits its answer.
    pub(super) async fn request(&self, request: ClientRequest) -> Result<ServerResult, Failure> {
        let connection = self.source.link.connection(Pause::Wait).await;
        let connection = connection.map_err(|error| Failure::NotSent(error.to_string()))?;
        let mut sent = connection.send(request, self.headers.clone(), self.meta(&connection))?;
        let limit = self.source.link.server.call_timeout;
        let answer = connection.user_wait.limited(limit, sent.answer()).await;
        answer.unwrap_or_else(|| Err(Failure::NoAnswer(format!("no answer within {limit:?}"))))
    }

    /// Sends a request whose answer is of no use, if the connection is open. Best effort.
    pub(super) fn post(&self, request: ClientRequest) {
        if let Some(connection) = self.source.link.open_connection() {
            connection.post(request, self.headers.clone(), self.meta(&connection));
        }
    }

    /// Compares the tool with its pin, if it may have changed since the last comparison.
    async fn compare(&self, connection: &Arc<Connection>) -> Result<(), ToolError> {
        let hidden = self.source.is_hidden(connection, &self.params.name);
        match before_sending(&self.input, hidden).await? {
            Ok(false) => Ok(()),
            Ok(true) => Err(ToolError::new("the tool differs from its pin; the call was not sent")),
            Err(error) => Err(ToolError::new(error.to_string())),
        }
    }

    /// Returns the open connection, or opens one.
    pub(super) async fn connection(&self) -> Result<Arc<Connection>, ToolError> {
        let connection = self.source.link.connection(Pause::Wait);
        let connection = before_sending(&self.input, connection).await?;
        connection.map_err(|error| ToolError::new(error.to_string()))
    }

    /// Returns the capabilities of the client for this call, which a modern server reads from each request.
    fn meta(&self, connection: &Connection) -> Option<RequestMetaObject> {
        if !connection.is_modern() {
            return None;
        }
        let asks = self.source.link.server.elicit.is_some() || self.input.can_suspend();
        let mut meta = RequestMetaObject::default();
        meta.set_client_capabilities(capabilities(asks, true));
        Some(meta)
    }
}

impl From<ToolError> for CallFailure {
    fn from(error: ToolError) -> Self {
        Self::Other(error)
    }
}

impl From<CallFailure> for ToolError {
    fn from(failure: CallFailure) -> Self {
        match failure {
            CallFailure::Rejected(error) => rejection(&error),
            CallFailure::Other(error) => error,
        }
    }
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

/// Returns the error of an answer that is not a result.
pub(super) fn unreadable() -> ToolError {
    ToolError::outcome_unknown("the server's answer is not a tool result")
}

/// Returns the error of a call that the server answered with a protocol error.
pub(super) fn rejection(error: &ErrorData) -> ToolError {
    let message = clean_text(&error.message, MAX_ERROR);
    match error.code {
        // Also an unknown tool. The model can correct its call.
        ErrorCode::INVALID_PARAMS => ToolError::invalid_arguments(message),
        code => ToolError::new(format!("{message} (error {})", code.0)),
    }
}
