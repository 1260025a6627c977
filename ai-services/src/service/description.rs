//! The description of a service in generated code: plain data.

use super::budget::Budget;
use crate::guardrail::{InputGuardrail, OutputGuardrail};
use crate::memory::MemoryId;
use crate::model::{ChatRequestParameters, ChatResponse};
use crate::output::{Output, Shape};
use crate::prompt::{Part, Template, Variable};
use crate::{InvocationContext, Result};
use std::sync::Arc;

/// Marks a component that a service requires.
#[derive(Debug)]
pub struct Required;

/// Marks a component that a service does not require.
#[derive(Debug)]
pub struct Optional;

/// State of a builder: the component was set.
#[derive(Debug)]
pub struct Given;

/// State of a builder: the component was not set yet.
#[derive(Debug)]
pub struct Missing;

/// The compile-time description of a service method.
#[derive(Debug)]
pub struct Method {
    /// The name of the method.
    pub name: &'static str,
    /// The method's own system message, or the trait's.
    pub system: Option<Template>,
    /// The text of the user message; `None` if the message consists of arguments.
    pub user: Option<Template>,
    /// `true` if the moderation model checks the user message.
    pub moderate: bool,
    /// `true` if the moderation model checks the answer.
    pub moderate_answer: bool,
    /// The method's own guardrails.
    pub guardrails: DeclaredGuardrails,
    /// The tools that the method uses.
    pub tools: DeclaredTools,
    /// The tool choice of the first request of a turn.
    pub tool_choice: DeclaredToolChoice,
    /// The budgets of the trait and the method. The stricter limits count.
    pub budgets: &'static [Budget],
    /// `true` if content is retrieved for the user message.
    pub retrieval: bool,
    /// Returns the expected form of the answer.
    pub answer: fn() -> AnswerForm,
}

/// The expected form of the answer of a method.
#[derive(Clone, Debug)]
pub struct AnswerForm {
    pub(super) shape: Shape,
    /// Fails if an answer has another form.
    pub(super) check: fn(&ChatResponse, &Shape) -> Result<()>,
}

impl AnswerForm {
    /// Returns the form of values of this type.
    #[must_use]
    pub fn of<T: Output>() -> Self {
        Self { shape: T::shape(), check: |answer, shape| T::from_response(answer, shape).map(drop) }
    }
}

/// The guardrails in attributes. They are created when a service is built.
#[derive(Debug)]
pub struct DeclaredGuardrails {
    /// Creates the guardrails of `#[input_guardrails(…)]`.
    pub input: Option<CreateGuardrails<dyn InputGuardrail>>,
    /// Creates the guardrails of `#[output_guardrails(…)]`.
    pub output: Option<CreateGuardrails<dyn OutputGuardrail>>,
    /// Largest number of retries because of output guardrails.
    pub max_retries: Option<usize>,
}

/// Creates the guardrails in the arguments of an attribute.
type CreateGuardrails<T> = fn() -> Vec<Arc<T>>;

impl DeclaredGuardrails {
    /// No guardrails.
    pub const NONE: Self = Self { input: None, output: None, max_retries: None };
}

/// The tools of a method.
#[derive(Clone, Copy, Debug)]
pub enum DeclaredTools {
    /// All tools of the service and of its tool providers.
    All,
    /// The tools with these names.
    Only(&'static [&'static str]),
}

/// The tool choice of a method.
#[derive(Clone, Copy, Debug)]
pub enum DeclaredToolChoice {
    /// The choice in the parameters of the builder.
    Inherited,
    /// The model decides, whatever the parameters of the builder say.
    Auto,
    /// The model must call at least one tool.
    Required,
    /// The model must call the tool with this name.
    Tool(&'static str),
}

/// The arguments of one call of a method.
#[derive(Debug)]
pub struct Arguments<'a> {
    /// The conversation of the call.
    pub memory_id: Option<MemoryId>,
    /// The values of the template variables, by index.
    pub variables: &'a [Variable<'a>],
    /// The parts of the user message that are arguments. They follow the template, if there is one.
    pub user_message: &'a [Part<'a>],
    /// The name of the user.
    pub user_name: Option<Variable<'a>>,
    /// Parameters for this call.
    pub parameters: Option<ChatRequestParameters>,
    /// Application data for this call.
    pub context: Option<InvocationContext>,
}
