//! The part of a method's calls that never changes.

use super::budget::Budget;
use super::description::Method;
use super::guards::Guards;
use super::method_tools::MethodTools;
use super::output_plan::OutputPlan;
use crate::Result;
use crate::message::SystemMessage;
use crate::model::ChatResponse;
use crate::output::Shape;
use crate::rag::RetrievalAugmentor;
use std::sync::Arc;

/// Everything about a method that is the same in all its calls. Made when the service is built.
pub(super) struct MethodPlan {
    pub(super) method: &'static Method,
    /// The system message, if it has no variables. It is encoded only once.
    pub(super) system: Option<SystemMessage>,
    pub(super) output: OutputPlan,
    /// Fails if an answer is not a value of the method's type.
    pub(super) check_answer: fn(&ChatResponse, &Shape) -> Result<()>,
    pub(super) tools: MethodTools,
    pub(super) augmentor: Option<Arc<dyn RetrievalAugmentor>>,
    pub(super) guards: Guards,
    /// The budget of each call.
    pub(super) budget: Budget,
    /// `true` if nested calls check the budgets.
    pub(super) shares_budget: bool,
    /// `true` if a budget limits the running time.
    pub(super) measures_time: bool,
    /// `true` if the model can be kept from calling tools.
    pub(super) can_forbid_tools: bool,
    /// `true` if calls are prepared by retrieval, or checked by guardrails.
    pub(super) needs_context: bool,
    /// `true` if answers are checked as a whole before they are delivered.
    pub(super) checks_answers: bool,
}
