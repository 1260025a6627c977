//! Preparation of the user message: retrieval, input guardrails, instructions.

use super::budget::Budgets;
use super::call::ServiceCall;
use super::checks::check_input;
use super::durable::Began;
use super::guardrail_context::GuardrailContext;
use super::memory_session::MemorySession;
use super::prepared_message::PreparedMessage;
use super::retrieval::{augment, retrieve};
use super::spent::Spent;
use super::user_message;
use crate::Result;
use crate::TurnContext;
use crate::memory::Snapshot;
use crate::message::{ChatMessage, UserMessage};
use crate::rag::Retrieved;

/// The prepared user message. The context is `None` without retrieval and guardrails.
pub(super) type PreparedTurn<'a> = (PreparedMessage<'a>, Option<Box<GuardrailContext>>);

/// Prepares the user message, if the budgets allow a request. The usage of other models is added to `spent` even on failure.
pub(super) async fn prepare<'a>(
    call: &'a ServiceCall,
    session: &MemorySession,
    snapshot: &Snapshot,
    budgets: Budgets<'_>,
    spent: &mut Spent,
) -> Result<PreparedTurn<'a>> {
    budgets.check_request(spent)?;
    let (message, context) = if call.plan.needs_context {
        let turn = turn_context(call, session, snapshot);
        let outcome = Box::pin(retrieve_and_check(call, turn)).await;
        spent.add_metered(call.meter(), call.prices());
        let (message, context) = outcome?;
        // A guardrail may have removed the whole text.
        user_message::check(call.plan.method, message.guarded())?;
        (message, Some(Box::new(context)))
    } else {
        (PreparedMessage::new(&call.prompts.user), None)
    };
    let instructed = call.plan.output.instruct(message.augmented());
    Ok((message.with_instructed(instructed), context))
}

/// Returns the prepared user message of a turn that is resumed.
pub(super) fn restore<'a>(
    call: &'a ServiceCall,
    session: &MemorySession,
    snapshot: &Snapshot,
    began: &Began,
) -> PreparedTurn<'a> {
    let message = PreparedMessage::new(&call.prompts.user)
        .with_guarded(as_user(&began.user))
        .with_augmented(began.augmented.as_ref().and_then(as_user))
        .with_instructed(began.instructed.as_ref().and_then(as_user));
    if !call.plan.needs_context {
        return (message, None);
    }
    let turn = turn_context(call, session, snapshot).with_user_message(message.guarded().clone());
    let context = GuardrailContext::new(turn, Retrieved::new(began.sources()));
    (message, Some(Box::new(context)))
}

fn as_user(message: &ChatMessage) -> Option<UserMessage> {
    match message {
        ChatMessage::User(message) => Some(message.clone()),
        _ => None,
    }
}

/// Retrieves content, runs the input guardrails, which see the content, and adds it to the message.
async fn retrieve_and_check(
    call: &ServiceCall,
    turn: TurnContext,
) -> Result<(PreparedMessage<'_>, GuardrailContext)> {
    let mut context = retrieve(call, turn).await?;
    let mut message = PreparedMessage::new(&call.prompts.user);
    if !call.plan.guards.input().is_empty() {
        let guarded = check_input(call, &context).await?;
        // Output guardrails must not see text that was removed from the message.
        context.turn = context.turn.with_user_message(guarded.clone());
        message = message.with_guarded(Some(guarded));
    }
    let augmented = augment(call, message.guarded(), &context)?;
    Ok((message.with_augmented(augmented), context))
}

fn turn_context(call: &ServiceCall, session: &MemorySession, snapshot: &Snapshot) -> TurnContext {
    let user = &call.prompts.user;
    let system = call.prompts.system.as_ref().or(snapshot.system());
    let mut turn = TurnContext::builder(user.clone())
        .invocation(call.context.invocation.clone())
        .meter(call.meter().clone());
    if let Some(ChatMessage::System(system)) = system {
        turn = turn.system_message(system.clone());
    }
    if let Some(id) = call.memory_id() {
        turn = turn.memory_id(id.clone());
    }
    // A message that is too large for the window may still become smaller before it is sent.
    let skipped = session.skipped(snapshot, system, &[user.clone().into()]).unwrap_or(0);
    let (history, skipped) = snapshot.sent(skipped);
    turn.shared_history(history, skipped).build()
}
