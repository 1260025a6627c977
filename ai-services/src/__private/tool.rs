//! Items for generated tools.

pub use crate::tool::{
    StartedTool, Tool, ToolArguments, ToolError, ToolInput, ToolOutput, ToolSet,
};

use crate::message::ToContents;
use crate::model::ToolSpecification;
use crate::schema::{self, Property, Requirement};
use crate::tool::{
    CallState, Effect, FromToolInput, IntoToolError, IntoToolOutput, KeyTemplate, ToolHandler,
    ToolParameter, Verifier, argument_is_optional,
};
use futures_util::future::BoxFuture;
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A tool in generated code: a constant. `This` is the value with the tools.
pub struct DeclaredTool<This> {
    pub description: ToolDescription,
    /// Reads the arguments and calls the function.
    pub start: fn(&This, ToolInput) -> Result<StartedTool, ToolError>,
    pub effect: DeclaredEffect<This>,
}

/// The effect class of a tool in generated code.
#[derive(Debug)]
pub enum DeclaredEffect<This> {
    ReadOnly,
    Idempotent,
    Verifiable(fn(&This, ToolInput) -> BoxFuture<'static, Result<CallState, ToolError>>),
    AtMostOnce,
}

/// Description of a tool.
pub struct ToolDescription {
    pub name: &'static str,
    pub description: &'static str,
    pub parameters: &'static [ToolParameterDescription],
    /// Time limit in milliseconds.
    pub timeout: Option<u64>,
    pub sequential: bool,
    pub return_immediately: bool,
    pub requires_approval: bool,
    /// The template of the idempotency key, which the macro has checked.
    pub key: Option<&'static str>,
}

/// Description of a parameter of a tool, created by [`parameter`].
pub struct ToolParameterDescription {
    name: &'static str,
    description: Option<&'static str>,
    schema: fn(&mut SchemaGenerator) -> Schema,
    is_optional: fn() -> bool,
    default: Option<fn() -> Value>,
}

impl<This> fmt::Debug for DeclaredTool<This> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.description.fmt(f)
    }
}

impl fmt::Debug for ToolDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolDescription").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for ToolParameterDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolParameterDescription").field(&self.name).finish()
    }
}

/// Creates the tools of a value.
///
/// Compiled once for each type of values, not once for each tool.
pub fn tools<This>(this: &This, tools: &[DeclaredTool<This>]) -> Vec<Tool>
where
    This: Clone + Send + Sync + 'static,
{
    tools.iter().map(|tool| tool.of(this)).collect()
}

/// Creates the tool of a function.
pub fn tool(tool: &DeclaredTool<()>) -> Tool {
    tool.of(&())
}

/// Returns the outcome of a tool that has finished.
pub fn finished(outcome: Result<ToolOutput, ToolError>) -> Result<StartedTool, ToolError> {
    outcome.map(StartedTool::Finished)
}

/// Returns the outcome of a verifier.
pub fn verified<T: Verified>(outcome: T) -> Result<CallState, ToolError> {
    outcome.into_state()
}

/// The return type of a verifier.
#[diagnostic::on_unimplemented(
    message = "a verifier cannot return `{Self}`",
    label = "does not return a `Result<CallState, _>`",
    note = "a verifier is an `async` function that takes a `ToolInput` and returns a `Result<CallState, E>`, where `E` implements `Display`"
)]
pub trait Verified {
    fn into_state(self) -> Result<CallState, ToolError>;
}

impl<E: IntoToolError> Verified for Result<CallState, E> {
    fn into_state(self) -> Result<CallState, ToolError> {
        self.map_err(E::into_tool_error)
    }
}

impl<This: Clone + Send + Sync + 'static> DeclaredTool<This> {
    fn of(&self, this: &This) -> Tool {
        let (own, start) = (This::clone(this), self.start);
        let tool = self.description.tool(Arc::new(move |input| start(&own, input)));
        tool.with_effect(match &self.effect {
            DeclaredEffect::ReadOnly => Effect::ReadOnly,
            DeclaredEffect::Idempotent => Effect::Idempotent,
            DeclaredEffect::AtMostOnce => Effect::AtMostOnce,
            DeclaredEffect::Verifiable(verify) => {
                let (own, verify) = (This::clone(this), *verify);
                Effect::Verifiable(Verifier::from_fn(move |call| verify(&own, call)))
            }
        })
    }
}

impl ToolDescription {
    pub(super) fn tool(&self, handler: Arc<ToolHandler>) -> Tool {
        let mut tool = Tool::from_handler(self.specification(), handler);
        if let Some(timeout) = self.timeout {
            tool = tool.with_timeout(Duration::from_millis(timeout));
        }
        if self.sequential {
            tool = tool.sequential();
        }
        if self.return_immediately {
            tool = tool.return_immediately();
        }
        if self.requires_approval {
            tool = tool.requiring_approval();
        }
        if let Some(key) = self.key {
            tool = tool.with_key_template(KeyTemplate::checked(key));
        }
        tool
    }

    fn specification(&self) -> ToolSpecification {
        let specification = ToolSpecification::new(self.name, self.description.trim());
        if self.parameters.is_empty() {
            return specification;
        }
        let properties = self.parameters.iter().map(ToolParameterDescription::property).collect();
        specification.with_parameters(schema::object(properties))
    }
}

impl ToolParameterDescription {
    fn property(&self) -> Property {
        let requirement = match self.default {
            Some(value) => Requirement::Default(value()),
            None if (self.is_optional)() => Requirement::Optional,
            None => Requirement::Required,
        };
        let description = self.description.map(str::trim);
        Property { name: self.name, description, schema: self.schema, requirement }
    }
}

/// Describes a parameter that the model fills in.
pub const fn parameter<T: ToolParameter>(
    name: &'static str,
    description: Option<&'static str>,
    default: Option<fn() -> Value>,
) -> ToolParameterDescription {
    ToolParameterDescription {
        name,
        description,
        schema: SchemaGenerator::subschema_for::<T>,
        is_optional: argument_is_optional::<T>,
        default,
    }
}

/// Returns the default of a parameter for its schema, or `null` if it does not serialize to JSON.
pub fn default_value<T: serde::Serialize>(value: T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// The type of a parameter that contains a reference: lent from the owned type that is deserialized.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool parameter",
    label = "cannot be lent from a deserialized value",
    note = "a parameter with a reference is `&T`, `Option<&T>` or `Vec<&T>`, where `T` can be `str`, `[T]` or `Path`"
)]
pub trait Lent<'a> {
    type Owned;

    fn lend(owned: &'a Self::Owned) -> Self;
}

impl<'a, T: Referent + ?Sized> Lent<'a> for Option<&'a T> {
    type Owned = Option<T::Owned>;

    fn lend(owned: &'a Option<T::Owned>) -> Self {
        owned.as_ref().map(T::lend)
    }
}

impl<'a, T: Referent + ?Sized> Lent<'a> for Vec<&'a T> {
    type Owned = Vec<T::Owned>;

    fn lend(owned: &'a Vec<T::Owned>) -> Self {
        owned.iter().map(T::lend).collect()
    }
}

/// A type behind a reference, with the owned type that is deserialized for it.
pub trait Referent {
    type Owned;

    fn lend(owned: &Self::Owned) -> &Self;
}

impl<T> Referent for T {
    type Owned = T;

    fn lend(owned: &T) -> &Self {
        owned
    }
}

impl Referent for str {
    type Owned = String;

    fn lend(owned: &String) -> &Self {
        owned
    }
}

impl<T> Referent for [T] {
    type Owned = Vec<T>;

    fn lend(owned: &Vec<T>) -> &Self {
        owned
    }
}

impl Referent for Path {
    type Owned = PathBuf;

    fn lend(owned: &PathBuf) -> &Self {
        owned
    }
}

/// Reads a parameter that the service fills in.
pub fn from_context<'a, T: FromToolInput<'a>>(input: &'a ToolInput) -> Result<T, ToolError> {
    T::from_tool_input(input)
}

/// Return value of a tool.
///
/// Selects the conversion: contents, a `Result` of contents, another `Result`, or another value. Method resolution
/// finds `__kind` at the first type of a chain of `Deref`s whose bounds hold.
#[derive(Debug)]
pub struct Out<T>(OutResultOfContents<T>);

/// Second in the chain after [`Out`].
#[derive(Debug)]
pub struct OutResultOfContents<T>(OutResult<T>);

/// Third in the chain after [`Out`].
#[derive(Debug)]
pub struct OutResult<T>(OutValue<T>);

/// Last in the chain after [`Out`].
#[derive(Debug)]
pub struct OutValue<T>(PhantomData<fn() -> T>);

impl<T> Out<T> {
    pub fn of(_: &T) -> Self {
        Self(OutResultOfContents(OutResult(OutValue(PhantomData))))
    }
}

impl<T: ToContents> Out<T> {
    pub fn __kind(&self) -> ContentsTag {
        ContentsTag
    }
}

impl<T> Deref for Out<T> {
    type Target = OutResultOfContents<T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T: ToContents, E> OutResultOfContents<Result<T, E>> {
    pub fn __kind(&self) -> ContentsResultTag {
        ContentsResultTag
    }
}

impl<T> Deref for OutResultOfContents<T> {
    type Target = OutResult<T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T, E> OutResult<Result<T, E>> {
    pub fn __kind(&self) -> ResultTag {
        ResultTag
    }
}

impl<T> Deref for OutResult<T> {
    type Target = OutValue<T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T> OutValue<T> {
    pub fn __kind(&self) -> ValueTag {
        ValueTag
    }
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
