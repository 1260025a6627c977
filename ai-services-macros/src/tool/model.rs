//! The model of tools with their attributes.

use crate::doc::Description;
use crate::runtime_path::RuntimePath;
use crate::template::Template;
use proc_macro2::{Ident, TokenStream};
use std::time::Duration;
use syn::{Attribute, Expr, ItemFn, ItemImpl, Path, Signature, Type};

/// An `impl` block with `#[tools]`.
pub(crate) struct ToolSet<'a> {
    pub(crate) item: &'a ItemImpl,
    pub(crate) runtime: RuntimePath,
    pub(crate) tools: Vec<Tool<'a>>,
    /// `true` if a tool may be left out because of a mistake that was reported.
    pub(crate) incomplete: bool,
}

/// A function with `#[tool]`.
pub(crate) struct Function<'a> {
    pub(crate) item: &'a ItemFn,
    pub(crate) runtime: RuntimePath,
    pub(crate) tool: Tool<'a>,
}

/// A method or function that a model may call.
pub(crate) struct Tool<'a> {
    pub(crate) signature: &'a Signature,
    pub(crate) attributes: &'a [Attribute],
    pub(crate) name: String,
    /// Tokens of the name, for error messages.
    pub(crate) name_at: TokenStream,
    /// `None` if it is missing, or if it is wrong, which was reported.
    pub(crate) description: Option<Description>,
    /// `true` if an argument is wrong and was left out.
    pub(crate) incomplete: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) sequential: bool,
    pub(crate) return_immediately: bool,
    pub(crate) requires_approval: bool,
    /// The effect classes with their arguments. At most one is allowed.
    pub(crate) effects: Vec<(Ident, Effect)>,
    /// The template of the idempotency key, with its argument.
    pub(crate) key: Option<(Ident, Template)>,
    pub(crate) parameters: Vec<Parameter<'a>>,
}

/// A declared effect class.
pub(crate) enum Effect {
    ReadOnly,
    Idempotent,
    /// The function that reports the outcome of a call.
    Verifiable(Path),
}

pub(crate) struct Parameter<'a> {
    pub(crate) name: String,
    pub(crate) ty: &'a Type,
    pub(crate) description: Option<Description>,
    pub(crate) default: Option<Expr>,
    /// `true` if the value comes from the call, not from the model.
    pub(crate) injected: bool,
}

impl Tool<'_> {
    pub(crate) fn ident(&self) -> &Ident {
        &self.signature.ident
    }
}
