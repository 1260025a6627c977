//! The part of a method's calls that never changes.

use super::description::Method;
use super::guards::Guards;
use super::method_tools::MethodTools;
use super::output_plan::OutputPlan;
use crate::message::SystemMessage;
use crate::rag::RetrievalAugmentor;
use std::sync::Arc;

/// Everything about a method that is the same in all its calls. Made when the service is built.
pub(super) struct MethodPlan {
    pub(super) method: &'static Method,
    /// The system message, if it has no variables. It is encoded only once.
    pub(super) system: Option<SystemMessage>,
    pub(super) output: OutputPlan,
    pub(super) tools: MethodTools,
    pub(super) augmentor: Option<Arc<dyn RetrievalAugmentor>>,
    pub(super) guards: Guards,
    /// `true` if calls are prepared by retrieval, or checked by guardrails.
    pub(super) needs_context: bool,
    /// `true` if answers are checked as a whole before they are delivered.
    pub(super) checks_answers: bool,
}
