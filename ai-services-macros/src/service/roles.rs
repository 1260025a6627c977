//! Reads the parameters of a method: their form, and the roles of their attributes.

use super::model::{Method, Parameter, Role, Variable};
use crate::arguments::{Arguments, string};
use crate::attribute::{self, Helper};
use crate::diagnostics::Diagnostics;
use crate::{errors, keyword, template, ty};
use syn::ext::IdentExt as _;
use syn::{FnArg, Ident, LitStr, Pat, PatType};

/// Attributes that are allowed on a parameter.
const ON_PARAMETER: [&str; 6] = [
    keyword::MEMORY_ID,
    keyword::USER_MESSAGE,
    keyword::USER_NAME,
    keyword::PARAMETERS,
    keyword::CONTEXT,
    keyword::V,
];

pub(crate) fn parameters(cx: &mut Diagnostics, method: &mut Method<'_>) {
    for input in &method.item.sig.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                attribute::helpers(cx, &receiver.attrs, &[], "`self`");
            }
            FnArg::Typed(typed) => {
                let (parameter, complete) = parameter(cx, typed, method.ident());
                method.parameters.extend(parameter);
                method.incomplete |= !complete;
            }
        }
    }
}

/// Returns the parameter, if its form is supported, and whether all its attributes could be used.
fn parameter<'a>(
    cx: &mut Diagnostics,
    typed: &'a PatType,
    method: &Ident,
) -> (Option<Parameter<'a>>, bool) {
    let helpers = attribute::helpers(cx, &typed.attrs, &ON_PARAMETER, "a parameter");
    let Some(ident) = supported(cx, typed, method) else { return (None, false) };
    let mut parameter = Parameter { ident, ty: &typed.ty, role: None, variable: None };
    let mut complete = true;
    for (name, at) in helpers {
        match (role(name), parameter.role) {
            (None, _) => {
                parameter.variable = variable(cx, (name, at), ident);
                complete &= parameter.variable.is_some();
            }
            (Some(role), None) => {
                attribute::no_arguments(cx, (name, at));
                parameter.role = Some((role, at));
            }
            (Some(_), Some((first, _))) => {
                errors::conflicting_roles(cx, at, ident, (first.name(), name));
                complete = false;
            }
        }
    }
    (Some(parameter), complete)
}

/// Returns the name of a parameter that is a plain identifier with a supported type.
pub(crate) fn supported<'a>(
    cx: &mut Diagnostics,
    typed: &'a PatType,
    method: &Ident,
) -> Option<&'a Ident> {
    let mut name = None;
    match &*typed.pat {
        Pat::Ident(pattern) if pattern.by_ref.is_none() && pattern.subpat.is_none() => {
            name = Some(&pattern.ident);
        }
        pattern => errors::unsupported_parameter(cx, pattern, "a pattern", method),
    }
    if ty::mentions(&typed.ty, "impl") {
        errors::unsupported_parameter(cx, &typed.ty, "`impl Trait`", method);
        name = None;
    } else if ty::is_mutable_reference(&typed.ty) {
        errors::unsupported_parameter(cx, &typed.ty, "`&mut`", method);
        name = None;
    }
    name
}

/// Reads `#[v]`, a variable with the name of the parameter, or `#[v("name")]`, with another name.
fn variable<'a>(
    cx: &mut Diagnostics,
    (name, attribute): Helper<'a>,
    parameter: &Ident,
) -> Option<Variable<'a>> {
    let arguments = Arguments::of(cx, attribute, name, &[]);
    let name = match arguments.values.as_slice() {
        _ if arguments.broken => return None,
        [] => parameter.unraw().to_string(),
        [value] if string(value).is_some() => string(value).map(LitStr::value)?,
        _ => {
            errors::malformed_attribute(cx, attribute, name, None);
            return None;
        }
    };
    if !template::is_variable_name(&name) {
        errors::invalid_variable_name(cx, attribute);
        return None;
    }
    Some(Variable { attribute, name })
}

fn role(name: &str) -> Option<Role> {
    match name {
        keyword::MEMORY_ID => Some(Role::MemoryId),
        keyword::USER_MESSAGE => Some(Role::UserMessage),
        keyword::USER_NAME => Some(Role::UserName),
        keyword::PARAMETERS => Some(Role::Parameters),
        keyword::CONTEXT => Some(Role::Context),
        _ => None,
    }
}

impl Role {
    /// Returns the attribute for this role.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::MemoryId => keyword::MEMORY_ID,
            Self::UserMessage => keyword::USER_MESSAGE,
            Self::UserName => keyword::USER_NAME,
            Self::Parameters => keyword::PARAMETERS,
            Self::Context => keyword::CONTEXT,
        }
    }
}
