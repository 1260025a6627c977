//! The components of a service.

use super::budget::Budget;
use super::description::{AnswerForm, Method};
use super::guards::Guards;
use super::memories::Memories;
use super::method_plan::MethodPlan;
use super::method_tools::MethodTools;
use super::output_plan::{ModelAbilities, OutputPlan};
use super::settings::ServiceSettings;
use super::spent::Prices;
use crate::Result;
use crate::event::CallId;
use crate::message::SystemMessage;
use crate::model::{Capability, ChatModel};
use crate::tool::Toolbox;
use std::sync::Arc;

/// The components of a service. They never change once the service is built.
pub(super) struct Components {
    pub(super) name: &'static str,
    pub(super) model: Arc<dyn ChatModel>,
    pub(super) toolbox: Arc<Toolbox>,
    pub(super) memories: Memories,
    pub(super) settings: ServiceSettings,
    /// The guardrails of the builder and the trait.
    pub(super) guards: Guards,
    /// The plans of the methods in [`Service::METHODS`](super::Service::METHODS).
    pub(super) plans: Vec<Arc<MethodPlan>>,
}

impl Components {
    /// Adds the plans of these methods.
    ///
    /// # Errors
    ///
    /// If a method names a tool that does not exist, or if the output strategy needs an ability that the model does
    /// not have.
    pub(super) fn with_plans(mut self, methods: &[&'static Method]) -> Result<Self> {
        self.plans = methods.iter().map(|method| self.new_plan(method)).collect::<Result<_>>()?;
        Ok(self)
    }

    /// Returns the plan of a method. A method that is not listed is planned for this call alone.
    pub(super) fn plan(&self, method: &'static Method) -> Result<Arc<MethodPlan>> {
        match self.plans.iter().find(|plan| std::ptr::eq(plan.method, method)) {
            Some(plan) => Ok(Arc::clone(plan)),
            None => self.new_plan(method),
        }
    }

    /// Returns the plan of the method with this name.
    pub(super) fn plan_named(&self, method: &str) -> Option<&Arc<MethodPlan>> {
        self.plans.iter().find(|plan| plan.method.name == method)
    }

    fn new_plan(&self, method: &'static Method) -> Result<Arc<MethodPlan>> {
        let tools = MethodTools::new(method, &self.toolbox, &self.settings.tool_providers)?;
        tools.check_model(method, &*self.model)?;
        let abilities = ModelAbilities {
            model: &*self.model,
            strategy: self.settings.output_strategy,
            parameters: &tools.parameters(&self.settings.parameters),
            tools: &tools,
        };
        let augmentor = self.settings.augmentor.clone().filter(|_| method.retrieval);
        let is_durable = self.settings.durable_turns.is_some();
        self.settings.approval.check(tools.own(), is_durable)?;
        let declared = method.budgets.iter().copied();
        let budget = declared.fold(self.settings.budget, Budget::stricter).of_calls();
        budget.check(self.settings.price_table.is_some())?;
        let can_forbid_tools = abilities.contains(Capability::ForbidTools);
        let guards = self.guards.and(&method.guardrails);
        let AnswerForm { shape, check } = (method.answer)();
        let moderates_answers = method.moderate_answer && self.settings.moderation_model.is_some();
        Ok(Arc::new(MethodPlan {
            method,
            system: method.system.and_then(|template| template.fixed()).map(SystemMessage::new),
            output: OutputPlan::new(shape, &abilities)?,
            check_answer: check,
            needs_context: augmentor.is_some()
                || !guards.input().is_empty()
                || !guards.output().is_empty(),
            checks_answers: !guards.output().is_empty() || moderates_answers,
            guards,
            shares_budget: tools.may_nest()
                && [Some(budget), self.settings.conversation_budget]
                    .iter()
                    .flatten()
                    .any(Budget::limits_amounts),
            tools,
            augmentor,
            measures_time: [Some(budget), self.settings.conversation_budget]
                .iter()
                .flatten()
                .any(|budget| budget.running_time.is_some()),
            budget,
            can_forbid_tools,
        }))
    }

    /// Returns the id of a new call. `None` if no listener receives it.
    pub(super) fn new_call_id(&self) -> Option<CallId> {
        (!self.settings.listeners.is_empty()).then(CallId::new)
    }

    pub(super) fn prices(&self) -> Option<Prices<'_>> {
        let table = self.settings.price_table.as_deref()?;
        Some(Prices { table, model: self.model.name() })
    }
}
