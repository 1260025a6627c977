//! Items that generated code refers to. Not part of the public API: they may change in any release.

pub use crate::memory::MemoryId;
pub use crate::prompt::{Part, Piece, Template, Variable};
pub use crate::service::{
    AiService, Arguments, DeclaredGuardrails, Method, MethodReturn, Optional, Required, Service,
    StreamReturn,
};
pub use crate::tool::{Tool, ToolError, ToolInput, ToolOutput, ToolSet};
pub use async_trait::async_trait;
pub use serde_json::Value;
pub use std::boxed::Box;
pub use std::string::String;
pub use std::sync::Arc;
pub use std::time::Duration;
pub use std::vec::Vec;

use crate::guardrail::{InputGuardrail, OutputGuardrail};
use crate::invocation::{InvocationContext, ToMemoryId};
use crate::message::ToContents;
use crate::model::{ChatRequestParameters, ToolSpecification};
use crate::prompt::{TemplateValue, UserPart};
use crate::schema::{self, Property, Requirement};
use crate::tool::{
    FromToolInput, IntoToolError, IntoToolOutput, ToolParameter, argument_is_optional,
};
use std::fmt::{self, Display};
use std::future::Future;
use std::marker::PhantomData;

/// Converts a `#[memory_id]` argument.
pub fn memory_id<T: ToMemoryId + ?Sized>(id: &T) -> MemoryId {
    id.to_memory_id()
}

/// Converts a `#[v]` argument to a template variable.
pub fn variable<T: TemplateValue>(value: &T) -> Variable<'_> {
    Variable::new(value)
}

/// Type of a `#[user_message]` argument, which selects between content and text.
///
/// The inherent items apply to types that implement `ToContents` (or `Display`). For all other types the
/// compiler falls back to the items of [`TextArgument`], so these types are treated as text.
#[derive(Debug)]
pub struct UserArgument<T>(PhantomData<T>);

impl<T: Display> UserArgument<T> {
    pub const PRINTS: bool = true;
}

impl<T: ToContents> UserArgument<T> {
    pub const IS_CONTENT: bool = true;

    pub fn part(value: &T) -> Part<'_> {
        Part::contents(value)
    }

    pub const fn assert_user_part<U>() {}
}

/// Fallback for `#[user_message]` arguments that are text.
pub trait TextArgument {
    const PRINTS: bool = false;
    const IS_CONTENT: bool = false;

    fn part<T: UserPart>(value: &T) -> Part<'_> {
        Part::text(value)
    }

    fn assert_user_part<T: UserPart>() {}
}

impl<T> TextArgument for UserArgument<T> {}

/// Converts a `#[parameters]` argument.
pub fn parameters<T: CallParameters>(parameters: T) -> ChatRequestParameters {
    parameters.into_parameters()
}

/// Converts a `#[context]` argument.
pub fn context<T: CallContext>(context: T) -> InvocationContext {
    context.into_context()
}

/// Converts an argument of `#[input_guardrails]`.
pub fn input_guardrail<G: InputGuardrail + 'static>(guardrail: G) -> Arc<dyn InputGuardrail> {
    Arc::new(guardrail)
}

/// Converts an argument of `#[output_guardrails]`.
pub fn output_guardrail<G: OutputGuardrail + 'static>(guardrail: G) -> Arc<dyn OutputGuardrail> {
    Arc::new(guardrail)
}

/// Collects the guardrails of one attribute.
pub fn guardrails<G, const N: usize>(guardrails: [G; N]) -> Vec<G> {
    guardrails.into()
}

/// A value that can be a `#[parameters]` argument.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the parameters of a call",
    label = "not `ChatRequestParameters`",
    note = "a `#[parameters]` parameter is a `ChatRequestParameters`, a reference to one, or an `Option` of these"
)]
pub trait CallParameters {
    fn into_parameters(self) -> ChatRequestParameters;
}

impl CallParameters for ChatRequestParameters {
    fn into_parameters(self) -> ChatRequestParameters {
        self
    }
}

impl CallParameters for &ChatRequestParameters {
    fn into_parameters(self) -> ChatRequestParameters {
        self.clone()
    }
}

impl<T: CallParameters> CallParameters for Option<T> {
    fn into_parameters(self) -> ChatRequestParameters {
        self.map(T::into_parameters).unwrap_or_default()
    }
}

/// A value that can be a `#[context]` argument.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the context of a call",
    label = "not an `InvocationContext`",
    note = "a `#[context]` parameter is an `InvocationContext` or a reference to one"
)]
pub trait CallContext {
    fn into_context(self) -> InvocationContext;
}

impl CallContext for InvocationContext {
    fn into_context(self) -> InvocationContext {
        self
    }
}

impl CallContext for &InvocationContext {
    fn into_context(self) -> InvocationContext {
        self.clone()
    }
}

/// Description of a tool, created by generated code.
pub struct ToolDescription {
    pub name: &'static str,
    pub description: &'static str,
    pub parameters: Vec<ToolParameterDescription>,
    pub timeout: Option<Duration>,
    pub sequential: bool,
    pub return_immediately: bool,
}

/// Description of a parameter of a tool, created by [`parameter`].
pub struct ToolParameterDescription(Property);

impl fmt::Debug for ToolDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolDescription").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for ToolParameterDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolParameterDescription").field(&self.0.name).finish()
    }
}

/// Creates a tool from its description.
pub fn tool<F, Fut>(description: ToolDescription, handler: F) -> Tool
where
    F: Fn(ToolInput) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    let mut specification = ToolSpecification::new(description.name, description.description);
    if !description.parameters.is_empty() {
        let properties = description.parameters.into_iter().map(|parameter| parameter.0).collect();
        specification = specification.with_parameters(schema::object(properties));
    }
    let mut tool = Tool::from_fn(specification, handler);
    if let Some(timeout) = description.timeout {
        tool = tool.with_timeout(timeout);
    }
    if description.sequential {
        tool = tool.sequential();
    }
    if description.return_immediately {
        tool = tool.return_immediately();
    }
    tool
}

/// Describes a parameter that the model fills in.
pub fn parameter<T: ToolParameter>(
    name: &'static str,
    description: Option<&'static str>,
    default: Option<Value>,
) -> ToolParameterDescription {
    let requirement = match default {
        Some(value) => Requirement::Default(value),
        None if argument_is_optional::<T>() => Requirement::Optional,
        None => Requirement::Required,
    };
    let schema = |generator: &mut schemars::SchemaGenerator| generator.subschema_for::<T>();
    ToolParameterDescription(Property { name, description, schema, requirement })
}

/// Returns the default of a parameter for its schema, or `null` if it does not serialize to JSON.
pub fn default_value<T: serde::Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Maps the type of a parameter that is a reference to the owned type that is deserialized.
pub trait Lent {
    type Owned;
}

impl<T> Lent for T {
    type Owned = T;
}

impl Lent for str {
    type Owned = String;
}

impl<T> Lent for [T] {
    type Owned = Vec<T>;
}

/// Reads a parameter that the service fills in.
pub fn from_context<'a, T: FromToolInput<'a>>(input: &'a ToolInput) -> Result<T, ToolError> {
    T::from_tool_input(input)
}

/// Return value of a tool.
///
/// Method resolution selects one of the `…Kind` traits: the one that is implemented for the type with the
/// most references wins.
#[derive(Debug)]
pub struct Out<'a, T>(pub &'a T);

/// Selected for contents.
pub trait ContentsKind {
    fn __kind(&self) -> ContentsTag {
        ContentsTag
    }
}

impl<T: ToContents> ContentsKind for &&Out<'_, T> {}

/// Selected for a `Result` of contents.
pub trait ContentsResultKind {
    fn __kind(&self) -> ContentsResultTag {
        ContentsResultTag
    }
}

impl<T: ToContents, E> ContentsResultKind for &&Out<'_, Result<T, E>> {}

/// Selected for all other `Result` types.
pub trait ResultKind {
    fn __kind(&self) -> ResultTag {
        ResultTag
    }
}

impl<T, E> ResultKind for &Out<'_, Result<T, E>> {}

/// Selected for all other types.
pub trait ValueKind {
    fn __kind(&self) -> ValueTag {
        ValueTag
    }
}

impl<T> ValueKind for Out<'_, T> {}

/// Traits that must be in scope to call `__kind`.
pub mod kinds {
    pub use super::{ContentsKind, ContentsResultKind, ResultKind, ValueKind};
}

/// Converts contents.
#[derive(Debug)]
pub struct ContentsTag;

impl ContentsTag {
    #[allow(clippy::needless_pass_by_value, reason = "same signature as the other conversions")]
    pub fn convert<T: ToContents>(self, value: T) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::contents(value.to_contents()))
    }
}

/// Converts a `Result` of contents.
#[derive(Debug)]
pub struct ContentsResultTag;

impl ContentsResultTag {
    pub fn convert<T: ToContents, E: IntoToolError>(
        self,
        result: Result<T, E>,
    ) -> Result<ToolOutput, ToolError> {
        ContentsTag.convert(result.map_err(E::into_tool_error)?)
    }
}

/// Converts a `Result`.
#[derive(Debug)]
pub struct ResultTag;

impl ResultTag {
    pub fn convert<T: IntoToolOutput, E: IntoToolError>(
        self,
        result: Result<T, E>,
    ) -> Result<ToolOutput, ToolError> {
        result.map_err(E::into_tool_error)?.into_tool_output()
    }
}

/// Converts a plain value.
#[derive(Debug)]
pub struct ValueTag;

impl ValueTag {
    pub fn convert<T: IntoToolOutput>(self, value: T) -> Result<ToolOutput, ToolError> {
        value.into_tool_output()
    }
}

// Type checks whose errors are reported at the user's own span.

pub const fn assert_return<T: MethodReturn>() {}
pub const fn assert_stream<T: StreamReturn>() {}
pub const fn assert_memory_id<T: ToMemoryId + ?Sized>() {}
pub const fn assert_variable<T: TemplateValue>() {}
pub const fn assert_parameters<T: CallParameters>() {}
pub const fn assert_context<T: CallContext>() {}
pub const fn assert_tool_parameter<T: ToolParameter>() {}
pub const fn assert_injected<'a, T: FromToolInput<'a>>() {}
