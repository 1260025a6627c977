//! Reads the parameters of a method: their form, and the roles of their attributes.

use super::model::{Method, Parameter, Role, Variable, VariableForm};
use crate::arguments::{self, Arguments, string};
use crate::attribute::{self, Helper};
use crate::diagnostics::Diagnostics;
use crate::keyword::{self, Keyword, Place};
use crate::{errors, template, ty};
use syn::ext::IdentExt as _;
use syn::{FnArg, Ident, LitStr, Pat, PatType};

/// Attributes that are allowed on a parameter.
const ON_PARAMETER: [Keyword; 7] = [
    Keyword::MemoryId,
    Keyword::UserMessage,
    Keyword::UserName,
    Keyword::Parameters,
    Keyword::Context,
    Keyword::V,
    Keyword::P,
];

pub(crate) fn parameters(cx: &mut Diagnostics, method: &mut Method<'_>) {
    for input in &method.item.sig.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                attribute::helpers(cx, &receiver.attrs, &[], (Place::Parameter, "`self`"));
            }
            FnArg::Typed(typed) => {
                let (parameter, complete) = parameter(cx, typed, method);
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
    method: &Method<'_>,
) -> (Option<Parameter<'a>>, bool) {
    let place = (Place::Parameter, "a parameter");
    let helpers = attribute::helpers(cx, &typed.attrs, &ON_PARAMETER, place);
    let Some(ident) = supported(cx, typed, method.ident()) else { return (None, false) };
    let mut parameter =
        Parameter { ident, ty: &typed.ty, role: None, variable: None, described: None };
    let mut complete = !helpers.incomplete;
    for (keyword, at) in helpers.found {
        if keyword == Keyword::P {
            if method.tool.is_none() {
                let place = "a parameter of a method without `#[tool]`";
                errors::misplaced_attribute(cx, at, keyword, place);
            }
            parameter.described = Some(at);
            continue;
        }
        match (Role::of(keyword), parameter.role) {
            (None, _) => {
                parameter.variable = variable(cx, (keyword, at), ident);
                complete &= parameter.variable.is_some();
            }
            (Some(role), None) => {
                attribute::no_arguments(cx, (keyword, at));
                parameter.role = Some((role, at));
            }
            (Some(_), Some((first, _))) => {
                errors::conflicting_roles(cx, at, ident, (first.keyword(), keyword));
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

/// Reads `#[v]`, a variable with the name of the parameter, or `#[v("name")]`, with another name. With `json`, its
/// value is written as JSON.
fn variable<'a>(
    cx: &mut Diagnostics,
    (keyword, attribute): Helper<'a>,
    parameter: &Ident,
) -> Option<Variable<'a>> {
    let arguments = Arguments::of(cx, attribute, keyword, &[keyword::JSON]);
    let is_json = arguments.flag(cx, keyword::JSON);
    let name = match arguments.values.as_slice() {
        _ if arguments.broken => return None,
        [] => parameter.unraw().to_string(),
        [value] if string(value).is_some() => string(value).map(LitStr::value)?,
        values => {
            let reason = match values {
                [value] => arguments::missing_quotes(value),
                _ => None,
            };
            errors::malformed_attribute(cx, attribute, keyword, reason.as_deref());
            return None;
        }
    };
    if !template::is_variable_name(&name) {
        errors::invalid_variable_name(cx, attribute);
        return None;
    }
    let form = if is_json { VariableForm::Json } else { VariableForm::Printed };
    Some(Variable { attribute, name, form })
}

impl Role {
    fn of(keyword: Keyword) -> Option<Self> {
        match keyword {
            Keyword::MemoryId => Some(Self::MemoryId),
            Keyword::UserMessage => Some(Self::UserMessage),
            Keyword::UserName => Some(Self::UserName),
            Keyword::Parameters => Some(Self::Parameters),
            Keyword::Context => Some(Self::Context),
            _ => None,
        }
    }

    /// Returns the attribute for this role.
    pub(crate) fn keyword(self) -> Keyword {
        match self {
            Self::MemoryId => Keyword::MemoryId,
            Self::UserMessage => Keyword::UserMessage,
            Self::UserName => Keyword::UserName,
            Self::Parameters => Keyword::Parameters,
            Self::Context => Keyword::Context,
        }
    }
}
