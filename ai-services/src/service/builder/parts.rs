//! The parts that a builder has collected.

use crate::model::ChatModel;
use crate::service::components::Components;
use crate::service::description::{DeclaredGuardrails, Method};
use crate::service::guards::Guards;
use crate::service::memories::{Memories, MemorySources};
use crate::service::settings::ServiceSettings;
use crate::tool::{Tool, Toolbox};
use crate::{Error, Result};
use std::sync::Arc;

/// The parts that a builder has collected, without the chat model.
#[derive(Default)]
pub(super) struct BuilderParts {
    pub(super) tools: Vec<Tool>,
    pub(super) memories: MemorySources,
    pub(super) settings: ServiceSettings,
    pub(super) guards: Guards,
}

impl BuilderParts {
    /// Builds the components of a service.
    ///
    /// # Errors
    ///
    /// If the parts are inconsistent.
    pub(super) fn build(
        self,
        model: Arc<dyn ChatModel>,
        name: &'static str,
        methods: &[&'static Method],
        declared: &DeclaredGuardrails,
    ) -> Result<Components> {
        let Self { tools, memories, settings, guards } = self;
        if settings.tools.concurrency == 0 {
            return Err(Error::configuration("`tool_concurrency` must be at least 1"));
        }
        if let Some(budget) = settings.conversation_budget {
            budget.check(settings.price_table.is_some())?;
        }
        let components = Components {
            name,
            model,
            toolbox: Arc::new(Toolbox::new(tools)?),
            memories: Memories::new(memories),
            settings,
            guards: guards.and(declared),
            plans: Vec::new(),
        };
        components.with_plans(methods)
    }
}
