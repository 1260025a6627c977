//! The rendered prompts of one call.

use super::components::Components;
use super::description::Arguments;
use super::durable::Began;
use super::method_plan::MethodPlan;
use super::user_message;
use crate::message::{ChatMessage, SystemMessage, UserMessage};
use crate::{Error, ErrorKind, Result};

/// The rendered prompts of one call.
pub(super) struct Prompts {
    pub(super) system: Option<ChatMessage>,
    pub(super) user: UserMessage,
}

impl Prompts {
    /// Renders the prompts. Values are text: nothing in them is read as a template.
    pub(super) fn render(
        components: &Components,
        plan: &MethodPlan,
        arguments: &Arguments<'_>,
    ) -> Result<Self> {
        let system = system_message(components, plan, arguments)?;
        let clock = &*components.settings.clock;
        let template = plan.method.user.map(|template| template.render(arguments.variables, clock));
        let mut user =
            user_message::build(plan.method, template.transpose()?, arguments.user_message)?;
        let name = arguments.user_name.as_ref().filter(|name| !name.is_missing());
        if let Some(name) = name {
            user = user.with_name(name.to_text()?);
        }
        Ok(Self { system: system.map(Into::into), user })
    }

    /// Returns the prompts of an open turn, as its journal has them.
    pub(super) fn of_open_turn(began: &Began) -> Result<Self> {
        let ChatMessage::User(user) = &began.user else {
            return Err(Error::new(ErrorKind::Store, "a journal has no user message"));
        };
        Ok(Self { system: began.system.clone(), user: user.clone() })
    }
}

fn system_message(
    components: &Components,
    plan: &MethodPlan,
    arguments: &Arguments<'_>,
) -> Result<Option<SystemMessage>> {
    let settings = &components.settings;
    if let Some(fixed) = &plan.system {
        return Ok(Some(fixed.clone()));
    }
    if let Some(template) = &plan.method.system {
        let text = template.render(arguments.variables, &*settings.clock)?;
        return Ok(Some(SystemMessage::new(text)));
    }
    let provider = settings.system_message_provider.as_ref();
    let text = provider.and_then(|provider| provider(arguments.memory_id.as_ref()));
    Ok(text.map(SystemMessage::new))
}
