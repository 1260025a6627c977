//! What generated code says about a service: plain data.

use super::handle::AiService;
use crate::guardrail::{InputGuardrail, OutputGuardrail};
use crate::invocation::{InvocationContext, MemoryId};
use crate::model::ChatRequestParameters;
use crate::output::Shape;
use crate::prompt::{Part, Template, Variable};
use std::sync::Arc;

/// A generated service: what its builder needs to know of it.
///
/// Implemented by `#[ai_service]`, not by hand.
pub trait Service: Sized {
    /// [`Required`] if a method has a `#[memory_id]`.
    type Memory;
    /// [`Required`] if a method is `#[moderate]`.
    type Moderation;
    /// The name of the trait.
    const NAME: &'static str;
    /// The methods that the macro implements.
    const METHODS: &'static [&'static Method];
    /// The guardrails that apply to all of them.
    const GUARDRAILS: DeclaredGuardrails = DeclaredGuardrails::NONE;

    #[doc(hidden)]
    fn from_ai_service(service: AiService) -> Self;
}

/// Says that a service cannot do without a part.
#[derive(Debug)]
pub struct Required;

/// Says that a service can do without a part.
#[derive(Debug)]
pub struct Optional;

/// State of a builder: the part was given.
#[derive(Debug)]
pub struct Given;

/// State of a builder: the part was not given yet.
#[derive(Debug)]
pub struct Missing;

/// A method of a service, as known at compile time.
#[derive(Debug)]
pub struct Method {
    /// The name of the method.
    pub name: &'static str,
    /// The method's own system message, or that of the trait.
    pub system: Option<Template>,
    /// The text of the user message; `None` if it consists of arguments.
    pub user: Option<Template>,
    /// Whether the user message is judged by the moderation model.
    pub moderate: bool,
    /// Whether the answer is judged by the moderation model.
    pub moderate_answer: bool,
    /// The method's own guardrails.
    pub guardrails: DeclaredGuardrails,
    /// What the answer should look like.
    pub shape: fn() -> Shape,
}

/// The guardrails that attributes name. They are made when a service is built.
#[derive(Debug)]
pub struct DeclaredGuardrails {
    /// Makes those of `#[input_guardrails(…)]`.
    pub input: Option<Makes<dyn InputGuardrail>>,
    /// Makes those of `#[output_guardrails(…)]`.
    pub output: Option<Makes<dyn OutputGuardrail>>,
    /// How often the model is asked again because of output guardrails.
    pub max_retries: Option<usize>,
}

/// Makes what the arguments of an attribute say.
type Makes<T> = fn() -> Vec<Arc<T>>;

impl DeclaredGuardrails {
    /// No guardrails.
    pub const NONE: Self = Self { input: None, output: None, max_retries: None };
}

/// The arguments of one call of a method.
#[derive(Debug)]
pub struct Arguments<'a> {
    /// Whose call it is.
    pub memory_id: Option<MemoryId>,
    /// The values of the template variables, by index.
    pub variables: &'a [Variable<'a>],
    /// The parts of the user message that are arguments, behind its template if there is one.
    pub user_message: &'a [Part<'a>],
    /// The name of the person.
    pub user_name: Option<Variable<'a>>,
    /// Parameters for this call.
    pub parameters: Option<ChatRequestParameters>,
    /// Application data for this call.
    pub context: Option<InvocationContext>,
}
