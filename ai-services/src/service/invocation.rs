//! One call: what was said, on behalf of whom, and who is told of it.

use super::components::Components;
use super::description::{Arguments, Method};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Call, Event};
use crate::invocation::{InvocationContext, MemoryId, ToolExecution};
use crate::message::{ChatMessage, SystemMessage, ToolCall, UserMessage};
use crate::model::{ChatRequestParameters, ModerationModel};
use crate::tool::{Observer, Surroundings};
use std::sync::Arc;

/// One call of a method, with its prompts rendered.
pub(super) struct Invocation<'a> {
    pub(super) components: &'a Components,
    pub(super) method: &'static Method,
    pub(super) system: Option<ChatMessage>,
    pub(super) user: UserMessage,
    pub(super) parameters: Arc<ChatRequestParameters>,
    surroundings: Surroundings,
}

impl<'a> Invocation<'a> {
    /// Renders the prompts. Values are text; nothing in them is read as a template.
    pub(super) fn new(
        components: &'a Components,
        method: &'static Method,
        arguments: Arguments<'_>,
    ) -> Result<Self> {
        let Arguments { memory_id, variables, user_message, user_name, parameters, context } =
            arguments;
        let clock = &*components.clock;
        let system = match (&method.system, &components.system_message_provider) {
            (Some(template), _) => Some(match components.fixed_prompts.system(method) {
                Some(fixed) => fixed.clone(),
                None => SystemMessage::new(template.render(variables, clock)?),
            }),
            (None, Some(provider)) => provider(memory_id.as_ref()).map(SystemMessage::new),
            (None, None) => None,
        };
        let user = match (&method.user, user_message) {
            (Some(template), _) => template.render(variables, clock)?,
            (None, Some(text)) => text.into_text()?,
            (None, None) => return Err(no_user_message(method)),
        };
        let mut user = UserMessage::new(user);
        if let Some(name) = user_name {
            user = user.with_name(name.into_text()?);
        }
        let parameters = match parameters {
            Some(own) => Arc::new(own.or(&components.parameters)),
            None => Arc::clone(&components.parameters),
        };
        Ok(Self {
            components,
            method,
            system: system.map(Into::into),
            user,
            parameters,
            surroundings: Surroundings { memory_id, context: context.unwrap_or_default() },
        })
    }

    pub(super) fn memory_id(&self) -> Option<&MemoryId> {
        self.surroundings.memory_id.as_ref()
    }

    pub(super) fn context(&self) -> &InvocationContext {
        &self.surroundings.context
    }

    pub(super) fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// Who judges the user's message, if the method wants it judged.
    pub(super) fn moderation_model(&self) -> Option<&'a dyn ModerationModel> {
        self.components.moderation_model.as_deref().filter(|_| self.method.moderate)
    }

    /// Tells the listeners.
    pub(super) fn emit(&self, event: &Event<'_>) {
        if self.components.listeners.is_empty() {
            return;
        }
        let call =
            Call::new(self.components.name, self.method.name, self.memory_id(), self.context());
        for listener in &self.components.listeners {
            listener.on_event(&call, event);
        }
    }
}

impl Observer for Invocation<'_> {
    fn tool_started(&self, call: &ToolCall) {
        self.emit(&Event::ToolStarted { call });
    }

    fn tool_finished(&self, execution: &ToolExecution) {
        self.emit(&Event::ToolFinished { execution });
    }
}

/// Generated code always has one; a hand-made description may not.
fn no_user_message(method: &Method) -> Error {
    Error::new(ErrorKind::Prompt, format!("method `{}` has no user message", method.name))
}
