//! Questions of a server to the user that are part of an answer: the call ends, and is sent again.

use super::call_state::{CallState, Task};
use super::elicitation::{self, to_elicitation};
use super::remote_call::{RemoteCall, rejection};
use ai_services_core::approval::{Elicitation, ElicitationAnswer, Suspension};
use ai_services_core::tool::ToolError;
use rmcp::model::{
    ElicitRequestParams, ErrorData, InputRequest, InputRequests, InputRequiredResult,
    InputResponses,
};
use serde_json::Value;

/// Most bytes of the state that a server asks to have sent back.
const MAX_REQUEST_STATE: usize = 1024 * 1024;

/// Most bytes of the questions of one answer, as JSON.
const MAX_QUESTIONS: usize = 64 * 1024;

/// The error code of a server that needs the user to visit web pages before the call.
const URL_ELICITATION_REQUIRED: i32 = -32042;

/// The questions of one answer of a server, with their keys.
pub(super) struct Questions {
    keys: Vec<String>,
    params: Vec<ElicitRequestParams>,
    /// The state that the server wants back with the answers.
    pub(super) request_state: Option<String>,
    round: u32,
}

impl Questions {
    /// Returns the questions of an answer to a call.
    ///
    /// # Errors
    ///
    /// Fails if the server asks for anything but an answer of the user, or exceeds a limit.
    pub(super) fn of_call(required: InputRequiredResult, round: u32) -> Result<Self, ToolError> {
        let request_state = required.request_state;
        if request_state.as_ref().is_some_and(|state| state.len() > MAX_REQUEST_STATE) {
            let message = "the server's state of the request is larger than 1 MiB";
            return Err(ToolError::new(message));
        }
        let questions = Self::of_requests(required.input_requests.unwrap_or_default())?;
        Ok(Self { request_state, round, ..questions })
    }

    /// Returns the questions of a task.
    ///
    /// # Errors
    ///
    /// Same as [`of_call`](Self::of_call).
    pub(super) fn of_requests(requests: InputRequests) -> Result<Self, ToolError> {
        let size = serde_json::to_string(&requests).map_or(usize::MAX, |text| text.len());
        if size > MAX_QUESTIONS {
            return Err(ToolError::new("the questions of the server are larger than 64 KiB"));
        }
        let (mut keys, mut params) = (Vec::new(), Vec::new());
        for (key, request) in requests {
            let InputRequest::Elicitation(question) = request else {
                return Err(ToolError::new(
                    "the server asked for input that this client does not give",
                ));
            };
            keys.push(key);
            params.push(question.params);
        }
        Ok(Self { keys, params, request_state: None, round: 0 })
    }

    /// Answers the questions of a call within the call, or suspends its turn.
    ///
    /// # Errors
    ///
    /// Fails if the turn is suspended.
    pub(super) async fn answer(
        self,
        call: &RemoteCall,
    ) -> Result<Option<InputResponses>, ToolError> {
        let Self { keys, params, request_state, round } = self;
        if call.suspends_for_questions()
            && let Some(elicitations) = elicitations(call, &params)
        {
            let state = CallState::Input { round, keys, request_state };
            return Err(suspended(state, elicitations));
        }
        inline(call, keys, params).await
    }

    /// Answers the questions of a task within the call, or suspends its turn.
    ///
    /// # Errors
    ///
    /// Fails if the turn is suspended.
    pub(super) async fn answer_for_task(
        self,
        call: &RemoteCall,
        task: &Task,
    ) -> Result<Option<InputResponses>, ToolError> {
        let Self { keys, params, .. } = self;
        if call.suspends_for_questions()
            && let Some(elicitations) = elicitations(call, &params)
        {
            return Err(suspended(CallState::Task(task.asking(keys)), elicitations));
        }
        inline(call, keys, params).await
    }
}

/// Returns the answers of the user with the keys of their questions.
pub(super) fn responses(
    keys: &[String],
    answers: &[ElicitationAnswer],
) -> Result<Option<InputResponses>, ToolError> {
    let mut responses = InputResponses::new();
    for (key, answer) in keys.iter().zip(answers) {
        let answer = serde_json::to_value(elicitation::to_result(answer.clone()));
        responses.insert(key.clone(), answer.map_err(ToolError::concealed)?);
    }
    Ok((!responses.is_empty()).then_some(responses))
}

/// Asks the user to visit the web pages that a server requires before the call: within the call, or by suspending its
/// turn.
///
/// # Errors
///
/// Fails with the error of the server if it does not name web pages, or if the user cannot be asked. Fails if the user
/// does not agree, or if the turn is suspended.
pub(super) async fn visit(call: &RemoteCall, error: &ErrorData) -> Result<(), ToolError> {
    let pages = (error.code.0 == URL_ELICITATION_REQUIRED).then(|| pages(error)).flatten();
    let Some(pages) = pages else { return Err(rejection(error)) };
    if call.suspends_for_questions()
        && let Some(elicitations) = elicitations(call, &pages)
    {
        return Err(suspended(CallState::Visits, elicitations));
    }
    let server = &call.source.link.server;
    if server.elicit.is_none() {
        return Err(rejection(error));
    }
    let mut answers = Vec::with_capacity(pages.len());
    let connection = call.connection().await?;
    for page in pages {
        answers.push(elicitation::to_answer(connection.answer(page).await));
    }
    check_visits(&answers)
}

/// Fails if the user did not agree to visit all web pages.
pub(super) fn check_visits(answers: &[ElicitationAnswer]) -> Result<(), ToolError> {
    if answers.iter().all(|answer| matches!(answer, ElicitationAnswer::Accept(_))) {
        return Ok(());
    }
    let message = "the call was not executed: the server needs the user to visit a web page first, and the user did not agree";
    Err(ToolError::new(message))
}

/// Returns the web pages of an error of a server. `None` if there are none, or if they are larger than 64 KiB.
fn pages(error: &ErrorData) -> Option<Vec<ElicitRequestParams>> {
    let pages = error.data.as_ref()?.get("elicitations")?;
    if pages.to_string().len() > MAX_QUESTIONS {
        return None;
    }
    let pages: Vec<ElicitRequestParams> = serde_json::from_value(pages.clone()).ok()?;
    let is_page = |page: &_| matches!(page, ElicitRequestParams::UrlElicitationParams { .. });
    (!pages.is_empty() && pages.iter().all(is_page)).then_some(pages)
}

/// Returns the questions for the user. `None` if there are none, or if one is of an unknown kind.
fn elicitations(call: &RemoteCall, params: &[ElicitRequestParams]) -> Option<Vec<Elicitation>> {
    let server = &call.source.link.server.name;
    let questions = params.iter().map(|question| to_elicitation(server, question.clone()));
    let questions: Vec<_> = questions.collect::<Option<_>>()?;
    (!questions.is_empty()).then_some(questions)
}

fn suspended(state: CallState, elicitations: Vec<Elicitation>) -> ToolError {
    match state.awaiting(elicitations) {
        Ok(awaited) => ToolError::suspended(Suspension::Awaits(awaited)),
        Err(error) => error,
    }
}

/// Answers questions by the function of the application. Without one, they are declined.
async fn inline(
    call: &RemoteCall,
    keys: Vec<String>,
    params: Vec<ElicitRequestParams>,
) -> Result<Option<InputResponses>, ToolError> {
    if keys.is_empty() {
        return Ok(None);
    }
    let connection = call.connection().await?;
    let mut responses = InputResponses::new();
    for (key, question) in keys.into_iter().zip(params) {
        let answer: Result<Value, _> = serde_json::to_value(connection.answer(question).await);
        responses.insert(key, answer.map_err(ToolError::concealed)?);
    }
    Ok(Some(responses))
}
