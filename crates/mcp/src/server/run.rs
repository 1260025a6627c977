//! One run of a tool for a client.

use super::gate::Gate;
use super::mcp_call::{Era, McpCall};
use super::principal::McpPrincipal;
use super::request_state::{Binding, RequestState, Sealer};
use ai_services_core::memory::TurnId;
use ai_services_core::message::{ToolCall, ToolResult};
use ai_services_core::model::UsageMeter;
use ai_services_core::tool::{
    Runner, ToolContext, ToolExecution, ToolObserver, ToolProgress, ToolSettings, Toolbox,
};
use futures_util::future;
use rmcp::model::{
    InputRequiredResult, InputResponses, JsonObject, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{Peer, RequestContext};
use rmcp::{ErrorData, RoleServer};
use tokio::sync::watch;

/// The parts of a server that run tools.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) settings: ToolSettings,
    pub(super) gate: Gate,
    pub(super) sealer: Sealer,
}

/// A tool that a client wants to run.
pub(super) struct Target<'a> {
    pub(super) method: &'static str,
    pub(super) toolbox: &'a Toolbox,
    pub(super) name: &'a str,
    pub(super) arguments: JsonObject,
    pub(super) input_responses: Option<InputResponses>,
    pub(super) request_state: Option<String>,
}

/// The outcome of a run.
pub(super) enum Outcome {
    Result(ToolResult),
    InputRequired(InputRequiredResult),
}

impl Engine {
    /// Runs a tool. A failed tool is a result. If the client cancels the request or closes the connection, the future
    /// of the tool is dropped.
    pub(super) async fn run(
        &self,
        target: Target<'_>,
        principal: Option<&McpPrincipal>,
        context: RequestContext<RoleServer>,
    ) -> Result<Outcome, ErrorData> {
        let cancelled = context.ct.clone();
        tokio::select! {
            biased;
            () = cancelled.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
            outcome = self.run_to_end(target, principal, context) => outcome,
        }
    }

    async fn run_to_end(
        &self,
        target: Target<'_>,
        principal: Option<&McpPrincipal>,
        context: RequestContext<RoleServer>,
    ) -> Result<Outcome, ErrorData> {
        let binding = Binding {
            method: target.method,
            name: target.name,
            arguments: &target.arguments,
            caller: principal.map(McpPrincipal::memory_id),
        };
        let mut state = match &target.request_state {
            Some(sealed) => self.sealer.open(sealed, &binding)?,
            None => RequestState::new(TurnId::new(), InputResponses::new()),
        };
        let turn = state.turn();
        state.answers.extend(target.input_responses.unwrap_or_default());
        let call = McpCall::new(&context, state.answers);
        let arguments = serde_json::to_string(&target.arguments)
            .map_err(|_| ErrorData::invalid_params("the arguments are not JSON", None))?;
        let tool_call = ToolCall::new(context.id.to_string(), target.name, arguments);
        let Some(_permit) = self.gate.enter().await else {
            let busy =
                ToolResult::new(tool_call.id(), target.name, "the server is busy; call again");
            return Ok(Outcome::Result(busy.into_error()));
        };
        let tool_context = tool_context(principal, &call);
        let (reports, progress) = watch::channel(None);
        let running = async {
            let observer = Progress(reports);
            let (round, deadline) = (1, None);
            let (toolbox, settings) = (target.toolbox, &self.settings);
            let (context, observer) = (&tool_context, &observer);
            let runner = Runner { toolbox, turn, round, context, settings, observer, deadline };
            runner.run(std::slice::from_ref(&tool_call)).await
        };
        let sending = send_progress(progress, context.meta.get_progress_token(), &context.peer);
        let (run, ()) = future::join(running, sending).await;
        if let Some(error) = &run.failure {
            tracing::warn!(tool = target.name, kind = ?error.kind(), "a tool failed");
        }
        let Some(result) = run.executions.first().map(ToolExecution::result) else {
            return Err(ErrorData::internal_error("the tool has no result", None));
        };
        self.outcome(result, &call, turn, &binding)
    }

    /// Returns the questions of a tool that failed because they are not answered, and otherwise its result.
    fn outcome(
        &self,
        result: &ToolResult,
        call: &McpCall,
        turn: TurnId,
        binding: &Binding<'_>,
    ) -> Result<Outcome, ErrorData> {
        let questions = call.take_questions();
        if !result.is_error() || call.era() == Era::Sessions {
            return Ok(Outcome::Result(result.clone()));
        }
        if let Some(missing) = questions.missing {
            return Err(ErrorData::missing_required_client_capability(missing));
        }
        if questions.asked.is_empty() {
            return Ok(Outcome::Result(result.clone()));
        }
        let mut answers = call.answers().clone();
        answers.retain(|key, _| !questions.asked.contains_key(key));
        let sealed = self.sealer.seal(&RequestState::new(turn, answers), binding)?;
        Ok(Outcome::InputRequired(InputRequiredResult::new(Some(questions.asked), Some(sealed))))
    }
}

fn tool_context(principal: Option<&McpPrincipal>, call: &McpCall) -> ToolContext {
    let invocation = principal.map(|principal| principal.context().clone()).unwrap_or_default();
    ToolContext {
        memory_id: principal.map(|principal| principal.memory_id().clone()),
        invocation: invocation.with(call.clone()),
        meter: UsageMeter::default(),
        call: None,
    }
}

/// Passes the progress of a tool on. Ends when the tool has ended and its last progress is sent.
async fn send_progress(
    mut progress: watch::Receiver<Option<ToolProgress>>,
    token: Option<ProgressToken>,
    peer: &Peer<RoleServer>,
) {
    let Some(token) = token else { return };
    let mut last = f64::NEG_INFINITY;
    while progress.changed().await.is_ok() {
        let Some(report) = progress.borrow_and_update().clone() else { continue };
        // The protocol demands that the value increases.
        if report.completed <= last {
            continue;
        }
        last = report.completed;
        let mut params = ProgressNotificationParam::new(token.clone(), report.completed);
        params.total = report.total;
        params.message = report.message;
        if peer.notify_progress(params).await.is_err() {
            return;
        }
    }
}

/// Keeps the last progress of a tool until it is sent.
struct Progress(watch::Sender<Option<ToolProgress>>);

impl ToolObserver for Progress {
    fn tool_started(&self, _: &ToolCall) {}

    fn tool_progressed(&self, _: &ToolCall, progress: &ToolProgress) {
        self.0.send_replace(Some(progress.clone()));
    }

    fn tool_finished(&self, _: &ToolExecution) {}
}
