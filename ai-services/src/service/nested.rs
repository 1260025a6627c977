//! Calls of a service as a tool of another service.

use super::call::ServiceCall;
use super::components::Components;
use super::description::{Arguments, Method};
use super::entry;
use super::handle::AiService;
use super::invoke::invoke;
use super::open_turn::{self, Due};
use super::response::Reply;
use super::turn::FinishedTurn;
use crate::approval::{PendingTurn, Suspension, now};
use crate::memory::{MemoryId, RequestId, ToMemoryId};
use crate::model::{ChatResponse, Cost, TokenUsage};
use crate::output::{Output, Shape};
use crate::rag::RetrievedContent;
use crate::tool::{Effect, PendingProbe, StartedTool, Tool, ToolError, ToolInput, ToolOutput};
use crate::{Error, ErrorKind, InvocationContext, Result, boxed};
use ai_services_core::trace::StepSpan;
use futures_util::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;

/// The services around a nested call, from the outermost tool to the innermost one.
struct Nesting {
    services: Vec<&'static str>,
    /// The memory id of the outermost call.
    id: Option<MemoryId>,
}

/// Starts the call of a method as a tool. `arguments` are those that the model wrote.
///
/// # Errors
///
/// If services are nested too deep, if the method needs a memory id and the outer call has none, or if the prompts
/// cannot be rendered.
pub fn start(
    service: &AiService,
    method: &'static Method,
    input: &ToolInput,
    arguments: Arguments<'_>,
) -> Result<StartedTool, ToolError> {
    let components = service.components();
    let context = nested_context(components, input, uses_memory(components, &arguments))?;
    let arguments = Arguments { context: Some(context), ..arguments };
    let span = entry::span(components, method);
    let call = ServiceCall::nested(input, components, method, arguments).map_err(tool_error)?;
    let running: BoxFuture<'static, _> = Box::pin(async move {
        let (mut reply, mut step) = (ToolReply::new(call.plan.check_answer), StepSpan::new(span));
        entry::describe(&step, Some(&call));
        let outcome = step.run(boxed(|| invoke(&call, &mut reply))).await;
        entry::record(&mut step, outcome.as_ref().map(|()| reply.usage));
        match (outcome, reply.output) {
            (Ok(()), Some(output)) => Ok(output),
            (Ok(()), None) => Err(ToolError::concealed("the call ended without an answer")),
            (Err(error), _) => Err(tool_error(error)),
        }
    });
    Ok(StartedTool::Running(running))
}

/// Returns the conversation of a nested call: the pair of the outer memory id and the name of the service.
///
/// # Errors
///
/// If the outer call has no memory id.
pub fn memory_id(service: &AiService, input: &ToolInput) -> Result<MemoryId, ToolError> {
    let name = service.components().name;
    let Some(outer) = input.memory_id() else {
        return Err(ToolError::fatal(format!(
            "`{}` of `{name}` requires a memory id, but the method that calls it as a tool has no `#[memory_id]` \
             parameter",
            input.call().name()
        )));
    };
    Ok((outer.as_str(), name).to_memory_id())
}

/// Returns the memory id of the outermost call, as a template shows it.
pub fn id_text(input: &ToolInput) -> String {
    outermost_id(input).map(|id| id.as_str().to_owned()).unwrap_or_default()
}

fn outermost_id(input: &ToolInput) -> Option<&MemoryId> {
    match input.context().get::<Nesting>() {
        Some(around) => around.id.as_ref(),
        None => input.memory_id(),
    }
}

/// Returns the tool with the effect that follows from the service, and with a probe of its suspended turns.
pub(crate) fn with_properties(
    tool: Tool,
    service: &AiService,
    (method, has_memory_id): (&'static Method, bool),
) -> Tool {
    let (tool, components) = (tool.nested(), service.components());
    let is_durable = components.settings.durable_turns.is_some();
    let has_memory = has_memory_id || components.memories.shared.is_some();
    let has_tools = components.plan(method).map_or(true, |plan| plan.tools.may_exist());
    let tool = match (has_memory, is_durable) {
        (true, true) => tool.with_effect(Effect::Idempotent),
        (false, _) if !has_tools => tool.with_effect(Effect::ReadOnly),
        (true, false) | (false, _) => tool,
    };
    if has_memory && is_durable && components.settings.approval.handler.is_none() {
        return tool.with_pending_probe(probe(service));
    }
    tool
}

/// Returns a function that looks up if a turn of the service still waits.
fn probe(service: &AiService) -> Arc<PendingProbe> {
    let service = service.clone();
    Arc::new(move |pending: &PendingTurn| {
        let (service, pending) = (service.clone(), pending.clone());
        Box::pin(async move { is_pending(&service, &pending).await })
    })
}

async fn is_pending(service: &AiService, pending: &PendingTurn) -> Result<bool> {
    let id = MemoryId::from(pending.memory_id.as_str());
    let turn = open_turn::read(&service.journal(&id)?).await?;
    let open = turn.and_then(|turn| {
        let pending = turn.pending(&id, now());
        pending.or_else(|| open_turn::pending_tasks(&turn, &id, Due::Later))
    });
    if open.is_some_and(|open| open.position == pending.position) {
        return Ok(true);
    }
    // The turn may be that of a service which is a tool of this one.
    let toolbox = &service.components().toolbox;
    for tool in toolbox.names().filter_map(|name| toolbox.get(name)) {
        if tool.is_pending(pending).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn uses_memory(components: &Components, arguments: &Arguments<'_>) -> bool {
    arguments.memory_id.is_some() || components.memories.shared.is_some()
}

/// Returns the application data of the outer call for the nested call. A call that uses a memory gets the key of the
/// tool call as the id of its request, so that a repetition finds the stored answer.
fn nested_context(
    components: &Components,
    input: &ToolInput,
    uses_memory: bool,
) -> Result<InvocationContext, ToolError> {
    let around = input.context().get::<Nesting>();
    let mut services = around.map(|around| around.services.clone()).unwrap_or_default();
    services.push(components.name);
    let max = components.settings.max_nesting;
    if services.len() > max {
        return Err(ToolError::fatal(format!(
            "services are nested as tools of each other more than {max} deep: {}; raise \
             `AiServiceBuilder::max_nesting` if this is not a cycle",
            services.join(" -> ")
        )));
    }
    let context =
        input.context().clone().with(Nesting { services, id: outermost_id(input).cloned() });
    if !uses_memory {
        return Ok(context.without::<RequestId>());
    }
    let request = RequestId::new(input.idempotency_key()).map_err(ToolError::fatal)?;
    Ok(context.with(request))
}

/// Converts the error of a nested call. The model of the outer call learns the reason only if it can react to it.
fn tool_error(error: Error) -> ToolError {
    use ErrorKind::{
        Configuration, Guardrail, Moderation, Prompt, Refused, Suspended, Tool, UnknownOutcome,
    };
    match error.kind() {
        Suspended => match error.detail::<PendingTurn>() {
            Some(pending) => ToolError::suspended(Suspension::Pending(pending.clone())),
            None => ToolError::fatal(error),
        },
        // Fatal for the nested call, for example because services call each other in a circle.
        Configuration | Prompt | Tool => ToolError::fatal(error),
        Guardrail | Moderation | Refused => ToolError::new(error.to_string()),
        UnknownOutcome => {
            ToolError::outcome_unknown("the end of the call was not confirmed").with_source(error)
        }
        _ => ToolError::concealed(error),
    }
}

/// The reply of a nested call, as the output of a tool.
struct ToolReply {
    check: fn(&ChatResponse, &Shape) -> Result<()>,
    output: Option<ToolOutput>,
    usage: TokenUsage,
    cost: Option<Cost>,
}

impl ToolReply {
    fn new(check: fn(&ChatResponse, &Shape) -> Result<()>) -> Self {
        Self { check, output: None, usage: TokenUsage::default(), cost: None }
    }
}

impl Reply for ToolReply {
    fn read(&mut self, answer: &ChatResponse, shape: &Shape) -> Result<()> {
        (self.check)(answer, shape)?;
        self.output = Some(output(answer, shape));
        Ok(())
    }

    fn complete(&mut self, turn: FinishedTurn, _: Vec<RetrievedContent>) {
        (self.usage, self.cost) = (turn.spent.usage, turn.spent.cost);
    }

    fn usage(&self) -> TokenUsage {
        self.usage
    }

    fn cost(&self) -> Option<Cost> {
        self.cost
    }
}

/// Returns an answer as JSON if the method returns a structure, and as its text otherwise.
fn output(answer: &ChatResponse, shape: &Shape) -> ToolOutput {
    let text = answer.message.text().unwrap_or_default();
    if shape.schema().is_none() {
        return ToolOutput::text(if text.is_empty() { "success" } else { text });
    }
    // A single value without JSON, such as a number, is not changed.
    let value = Value::from_response(answer, shape).map(|value| value.to_string());
    ToolOutput::text(value.unwrap_or_else(|_| text.to_owned()))
}
