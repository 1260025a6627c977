//! One call: what was said, on behalf of whom, and who is told of it.

use super::components::Components;
use super::description::{Arguments, Method};
use super::form::AnswerForm;
use super::guards::Guards;
use super::stream::{Outlet, Progress};
use super::user_message;
use crate::error::Result;
use crate::event::{Call, Event};
use crate::invocation::{InvocationContext, MemoryId};
use crate::message::{ChatMessage, SystemMessage, UserMessage};
use crate::model::{ChatRequestParameters, ModerationModel, UsageMeter};
use crate::tool::Surroundings;
use std::sync::Arc;

/// What is said in one call, and on behalf of whom. Owns all of it, so that a stream may outlive
/// the arguments it was made from.
pub(super) struct Said {
    pub(super) system: Option<ChatMessage>,
    pub(super) user: UserMessage,
    /// Parameters for this call alone.
    pub(super) parameters: Option<ChatRequestParameters>,
    surroundings: Surroundings,
}

impl Said {
    /// Renders the prompts. Values are text; nothing in them is read as a template.
    pub(super) fn render(
        components: &Components,
        method: &'static Method,
        arguments: Arguments<'_>,
    ) -> Result<Self> {
        let Arguments { memory_id, variables, user_message: parts, user_name, parameters, context } =
            arguments;
        let clock = &*components.clock;
        let system = match (&method.system, &components.system_message_provider) {
            (Some(template), _) => {
                Some(match components.plans.of(method).and_then(|plan| plan.system.as_ref()) {
                    Some(fixed) => fixed.clone(),
                    None => SystemMessage::new(template.render(variables, clock)?),
                })
            }
            (None, Some(provider)) => provider(memory_id.as_ref()).map(SystemMessage::new),
            (None, None) => None,
        };
        let template = method.user.map(|template| template.render(variables, clock)).transpose()?;
        let mut user = user_message::of(method, template, parts)?;
        if let Some(name) = user_name {
            user = user.with_name(name.to_text()?);
        }
        Ok(Self {
            system: system.map(Into::into),
            user,
            parameters,
            surroundings: Surroundings {
                memory_id,
                context: context.unwrap_or_default(),
                ..Surroundings::default()
            },
        })
    }
}

/// One call of a method, with its prompts rendered.
pub(super) struct Invocation<'a> {
    pub(super) components: &'a Components,
    pub(super) method: &'static Method,
    pub(super) said: &'a Said,
    /// How the answer is asked for.
    pub(super) form: &'a AnswerForm,
    /// The guardrails of the method.
    pub(super) guards: &'a Guards,
    /// Who is told of the answer while it grows.
    pub(super) outlet: Option<&'a Outlet>,
}

impl<'a> Invocation<'a> {
    pub(super) fn memory_id(&self) -> Option<&MemoryId> {
        self.said.surroundings.memory_id.as_ref()
    }

    pub(super) fn context(&self) -> &InvocationContext {
        &self.said.surroundings.context
    }

    pub(super) fn surroundings(&self) -> &Surroundings {
        &self.said.surroundings
    }

    /// Where the usage of models is counted that are asked beside the model itself.
    pub(super) fn meter(&self) -> &UsageMeter {
        &self.said.surroundings.meter
    }

    /// The parameters of this call, over those of the service and of the answer's form.
    pub(super) fn parameters(&self) -> Arc<ChatRequestParameters> {
        let shared = self.form.parameters();
        match &self.said.parameters {
            Some(own) => Arc::new(own.or(shared)),
            None => Arc::clone(shared),
        }
    }

    /// Who judges the user's message, if the method wants it judged.
    pub(super) fn moderation_model(&self) -> Option<&'a dyn ModerationModel> {
        self.components.moderation_model.as_deref().filter(|_| self.method.moderate)
    }

    /// Who judges the answer, if the method wants it judged.
    pub(super) fn judge_of_answers(&self) -> Option<&'a dyn ModerationModel> {
        self.components.moderation_model.as_deref().filter(|_| self.method.moderate_answer)
    }

    /// Whether anybody looks at what was said before and after the model.
    pub(super) fn has_stages(&self) -> bool {
        self.components.augmentor.is_some() || self.guards.has_input() || self.guards.has_output()
    }

    /// Whether nothing of an answer may be told before the whole of it was checked.
    pub(super) fn checks_answers(&self) -> bool {
        self.guards.has_output() || self.judge_of_answers().is_some()
    }

    /// Where what the model says is told at once, while it says it.
    pub(super) fn live_outlet(&self) -> Option<&'a Outlet> {
        self.outlet.filter(|_| !self.checks_answers())
    }

    /// Where what the model says is told only once it was checked.
    pub(super) fn held_outlet(&self) -> Option<&'a Outlet> {
        self.outlet.filter(|_| self.checks_answers())
    }

    /// Tells that what was said so far is void, if it was told.
    pub(super) fn begin_again(&self) {
        if let Some(outlet) = self.live_outlet() {
            outlet.push(Progress::Restarted);
        }
    }

    /// Tells whoever watches the answer grow.
    pub(super) fn tell(&self, progress: impl FnOnce() -> Progress) {
        if let Some(outlet) = self.outlet {
            outlet.push(progress());
        }
    }

    /// Waits until whoever watches has seen everything so far, and wants to see more.
    pub(super) async fn told(&self) {
        if let Some(outlet) = self.outlet {
            outlet.emptied().await;
        }
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
