//! Reads the parameters of a method: their form, and what their attributes make of them.

use super::model::{Method, Parameter, Role, Variable};
use crate::arguments::{Arguments, string};
use crate::attribute::{self, Helper};
use crate::diagnostics::Diagnostics;
use crate::{errors, keyword, template, ty};
use syn::ext::IdentExt as _;
use syn::{FnArg, Ident, Pat, PatType};

/// What a parameter may carry.
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
            FnArg::Typed(typed) => match parameter(cx, typed, method.ident()) {
                Some(parameter) => method.parameters.push(parameter),
                None => method.incomplete = true,
            },
        }
    }
}

fn parameter<'a>(
    cx: &mut Diagnostics,
    typed: &'a PatType,
    method: &Ident,
) -> Option<Parameter<'a>> {
    let helpers = attribute::helpers(cx, &typed.attrs, &ON_PARAMETER, "a parameter");
    let ident = supported(cx, typed, method)?;
    let mut parameter = Parameter { ident, ty: &typed.ty, role: None, variable: None };
    for helper in helpers {
        match role(helper.0) {
            None => parameter.variable = Some(variable(cx, helper, ident)),
            Some(role) => {
                attribute::no_arguments(cx, helper);
                set_role(cx, &mut parameter, role, helper);
            }
        }
    }
    Some(parameter)
}

fn set_role<'a>(
    cx: &mut Diagnostics,
    parameter: &mut Parameter<'a>,
    role: Role,
    (name, at): Helper<'a>,
) {
    match &parameter.role {
        None => parameter.role = Some((role, at)),
        Some((first, _)) => {
            errors::conflicting_roles(cx, at, parameter.ident, (first.name(), name));
        }
    }
}

/// The name of a parameter that is a plain name with a supported kind of type.
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

/// `#[v]` is the name of the parameter, `#[v("name")]` another one.
fn variable<'a>(cx: &mut Diagnostics, (name, at): Helper<'a>, parameter: &Ident) -> Variable<'a> {
    let arguments = Arguments::of(cx, at, name, &[]);
    let own = parameter.unraw().to_string();
    let Some(value) = arguments.values.first() else {
        return Variable { attribute: at, name: own };
    };
    let name = match (string(value), arguments.values.len()) {
        (Some(literal), 1) => {
            if !template::is_variable_name(&literal.value()) {
                errors::invalid_variable_name(cx, literal);
            }
            literal.value()
        }
        _ => {
            errors::malformed_attribute(cx, at, name, None);
            own
        }
    };
    Variable { attribute: at, name }
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
    /// The attribute that gives this role.
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
