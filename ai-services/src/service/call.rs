//! One call of a service method.

use super::budget::{ConversationBudget, SharedBudget};
use super::components::Components;
use super::description::{Arguments, Method};
use super::durable::Began;
use super::method_plan::MethodPlan;
use super::prompts::Prompts;
use super::spent::Prices;
use super::stream::{EventQueue, StreamItem};
use crate::event::{self, CallId, Event};
use crate::memory::{MemoryId, RequestId, Snapshot};
use crate::model::{ChatRequestParameters, ModerationModel, UsageMeter};
use crate::tool::{ToolContext, ToolInput};
use crate::{Error, InvocationContext, Result};
use std::sync::Arc;
use tracing::Span;

/// One call of a service method.
///
/// Owns or shares all of its data, so that the stream of a call may outlive the arguments.
pub(super) struct ServiceCall {
    pub(super) components: Arc<Components>,
    pub(super) plan: Arc<MethodPlan>,
    pub(super) prompts: Prompts,
    /// The parameters of the call, merged with those of the plan.
    pub(super) parameters: Arc<ChatRequestParameters>,
    pub(super) context: ToolContext,
    /// The id of the call around this call, if its service has a listener.
    pub(super) outer: Option<CallId>,
    /// The limits of this call for nested calls.
    pub(super) shared_budget: Option<Arc<SharedBudget>>,
    /// The limits of the calls around this call.
    pub(super) outer_budget: Option<Arc<SharedBudget>>,
    pub(super) delivery: Delivery,
}

/// Delivery of an answer to the stream of the call.
pub(super) enum Delivery {
    /// The call has no stream.
    None,
    /// Pieces are delivered as they arrive.
    Live(Arc<EventQueue>),
    /// The answer is delivered after it passed all checks.
    AfterCheck(Arc<EventQueue>),
}

impl ServiceCall {
    /// Renders the prompts and plans the delivery. The stream of the call reads from `queue`.
    ///
    /// # Errors
    ///
    /// If a prompt cannot be rendered, or if the user message is empty.
    pub(super) fn new(
        components: &Arc<Components>,
        method: &'static Method,
        arguments: Arguments<'_>,
        queue: Option<Arc<EventQueue>>,
    ) -> Result<Self> {
        Self::within(None, components, method, arguments, queue)
    }

    /// Same as [`new`](Self::new), for a call as a tool. The call counts its tokens in the call around it, too, and
    /// checks the budgets of that call.
    pub(super) fn nested(
        outer: &ToolInput,
        components: &Arc<Components>,
        method: &'static Method,
        arguments: Arguments<'_>,
    ) -> Result<Self> {
        Self::within(Some(outer), components, method, arguments, None)
    }

    fn within(
        outer: Option<&ToolInput>,
        components: &Arc<Components>,
        method: &'static Method,
        arguments: Arguments<'_>,
        queue: Option<Arc<EventQueue>>,
    ) -> Result<Self> {
        let plan = components.plan(method)?;
        let prompts = Prompts::render(components, &plan, &arguments)?;
        let Arguments { memory_id, parameters, context, .. } = arguments;
        let shared = plan.output.parameters();
        Ok(Self {
            components: Arc::clone(components),
            prompts,
            parameters: match parameters {
                Some(own) => Arc::new(own.or(shared)),
                None => Arc::clone(shared),
            },
            context: ToolContext {
                memory_id,
                invocation: context.unwrap_or_default(),
                meter: outer.map(|outer| UsageMeter::within(outer.meter())).unwrap_or_default(),
                call: components.new_call_id(),
            },
            outer: outer.and_then(ToolInput::service_call),
            delivery: Delivery::new(queue, plan.checks_answers),
            shared_budget: None,
            outer_budget: outer.and_then(|outer| outer.context().get().cloned()),
            plan,
        }
        .sharing_budget())
    }

    /// Creates the call that goes on with an open turn, without the caller that began it. The stream of the rest of the
    /// turn reads from `queue`.
    ///
    /// # Errors
    ///
    /// If the turn belongs to another service, or to a method that no longer exists.
    pub(super) fn of_open_turn(
        components: &Arc<Components>,
        began: &Began,
        memory_id: Option<MemoryId>,
        invocation: InvocationContext,
        queue: Option<Arc<EventQueue>>,
    ) -> Result<Self> {
        let plan =
            components.plan_named(&began.method).filter(|_| began.service == components.name);
        let plan = Arc::clone(plan.ok_or_else(|| unknown_method(components, began))?);
        let invocation = match &began.request {
            Some(request) => invocation.with(RequestId::new(request.as_str())?),
            None => invocation.without::<RequestId>(),
        };
        Ok(Self {
            components: Arc::clone(components),
            prompts: Prompts::of_open_turn(began)?,
            parameters: match &began.parameters {
                Some(own) => Arc::new(own.clone()),
                None => Arc::clone(plan.output.parameters()),
            },
            context: ToolContext {
                memory_id,
                invocation,
                meter: UsageMeter::default(),
                call: components.new_call_id(),
            },
            outer: None,
            delivery: Delivery::new(queue, plan.checks_answers),
            shared_budget: None,
            outer_budget: None,
            plan,
        }
        .sharing_budget())
    }

    /// Lets nested calls check the budgets of this call, if they limit tokens or cost and a service may be a tool.
    fn sharing_budget(mut self) -> Self {
        if !self.plan.shares_budget {
            return self;
        }
        let (context, prices) = (&mut self.context, &self.components.settings.price_table);
        let outer = context.invocation.get::<Arc<SharedBudget>>().cloned();
        let shared = Arc::new(SharedBudget::new(context.meter.clone(), prices.clone(), outer));
        let invocation = std::mem::take(&mut context.invocation);
        context.invocation = invocation.with(Arc::clone(&shared));
        self.shared_budget = Some(shared);
        self
    }

    /// Returns the id of the application's request, if it has set one.
    pub(super) fn request_id(&self) -> Option<&RequestId> {
        self.context.invocation.get()
    }

    pub(super) fn memory_id(&self) -> Option<&MemoryId> {
        self.context.memory_id.as_ref()
    }

    /// Returns the usage of the models that are called in addition to the chat model.
    pub(super) fn meter(&self) -> &UsageMeter {
        &self.context.meter
    }

    pub(super) fn prices(&self) -> Option<Prices<'_>> {
        self.components.prices()
    }

    /// Returns the budget of the conversation, if there is one, with the amounts of its stored turns.
    ///
    /// # Errors
    ///
    /// If these amounts are not readable.
    pub(super) fn conversation_budget(
        &self,
        snapshot: &Snapshot,
    ) -> Result<Option<Box<ConversationBudget<'_>>>> {
        let budget = self.components.settings.conversation_budget.as_ref();
        let new = |budget| ConversationBudget::new(budget, snapshot.spent()).map(Box::new);
        budget.map(new).transpose()
    }

    /// Returns the model that checks the user message, if the method asks for it.
    pub(super) fn message_moderation(&self) -> Option<&dyn ModerationModel> {
        self.moderation_model().filter(|_| self.plan.method.moderate)
    }

    /// Returns the model that checks the answer, if the method asks for it.
    pub(super) fn answer_moderation(&self) -> Option<&dyn ModerationModel> {
        self.moderation_model().filter(|_| self.plan.method.moderate_answer)
    }

    fn moderation_model(&self) -> Option<&dyn ModerationModel> {
        self.components.settings.moderation_model.as_deref()
    }

    /// Returns `true` if events are received.
    pub(super) fn has_listeners(&self) -> bool {
        self.context.call.is_some()
    }

    /// Sends an event to the listeners.
    pub(super) fn emit(&self, event: &Event<'_>) {
        let Some(id) = self.context.call else { return };
        let (service, method) = (self.components.name, self.plan.method.name);
        let context = &self.context.invocation;
        let call = event::Call::new(id, service, method, self.memory_id(), context);
        let call = call.within(self.outer);
        for listener in &self.components.settings.listeners {
            listener.notify(&call, event);
        }
    }

    /// Sends an event to the listeners within the span of its step.
    pub(super) fn emit_in(&self, span: &Span, event: &Event<'_>) {
        if self.has_listeners() {
            span.in_scope(|| self.emit(event));
        }
    }
}

/// The error of an open turn whose method no longer exists.
fn unknown_method(components: &Components, began: &Began) -> Error {
    Error::configuration(format!(
        "the open turn belongs to the method `{}` of `{}`, but this is `{}`{}; resume it with a program that has \
         the method, or cancel it with `AiService::cancel_open_turn`",
        began.method,
        began.service,
        components.name,
        if began.service == components.name { ", which no longer has the method" } else { "" },
    ))
}

impl Delivery {
    fn new(queue: Option<Arc<EventQueue>>, checks_answers: bool) -> Self {
        match queue {
            None => Self::None,
            Some(queue) if checks_answers => Self::AfterCheck(queue),
            Some(queue) => Self::Live(queue),
        }
    }

    /// Returns the queue of the stream, if there is one.
    pub(super) fn queue(&self) -> Option<&EventQueue> {
        match self {
            Self::None => None,
            Self::Live(queue) | Self::AfterCheck(queue) => Some(queue),
        }
    }

    /// Returns the queue if pieces of the answer are delivered as they arrive.
    pub(super) fn live(&self) -> Option<&EventQueue> {
        match self {
            Self::Live(queue) => Some(queue),
            Self::None | Self::AfterCheck(_) => None,
        }
    }

    /// Returns the queue if the answer is delivered after it passed all checks.
    pub(super) fn after_check(&self) -> Option<&EventQueue> {
        match self {
            Self::AfterCheck(queue) => Some(queue),
            Self::None | Self::Live(_) => None,
        }
    }

    /// Adds an item to the stream, if there is one.
    pub(super) fn emit(&self, item: impl FnOnce() -> StreamItem) {
        if let Some(queue) = self.queue() {
            queue.push(item());
        }
    }

    /// Declares the delivered pieces of the answer void, if there may be any.
    pub(super) fn restart(&self) {
        if let Some(queue) = self.live() {
            queue.push(StreamItem::Restarted);
        }
    }

    /// Returns `true` once the stream has an item.
    pub(super) fn is_used(&self) -> bool {
        self.queue().is_some_and(EventQueue::is_used)
    }

    /// Waits until the stream's caller has received all items and polls for more.
    pub(super) async fn flush(&self) {
        if let Some(queue) = self.queue() {
            queue.drained().await;
        }
    }
}
