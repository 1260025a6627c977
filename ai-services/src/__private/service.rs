//! Items for generated services.

pub use crate::memory::MemoryId;
pub use crate::prompt::{Part, Piece, Template, Variable};
pub use crate::service::entry::{call, stream};
pub use crate::service::{
    AiService, Arguments, Budget, DeclaredGuardrails, DeclaredToolChoice, DeclaredTools, Method,
    MethodReturn, Optional, Required, Service, StreamReturn,
};

use crate::InvocationContext;
use crate::memory::ToMemoryId;
use crate::message::ToContents;
use crate::model::ChatRequestParameters;
use crate::prompt::{JsonValue, TemplateValue, UserPart};
use std::fmt::Display;
use std::marker::PhantomData;

/// Converts a `#[memory_id]` argument.
pub fn memory_id<T: ToMemoryId + ?Sized>(id: &T) -> MemoryId {
    id.to_memory_id()
}

/// Converts a `#[v]` argument to a template variable.
pub fn variable<T: TemplateValue<K>, K>(value: &T) -> Variable<'_> {
    Variable::new(value)
}

/// Converts a `#[v(json)]` argument to a template variable.
pub fn json_variable<T: JsonValue>(value: &T) -> Variable<'_> {
    Variable::json(value)
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
