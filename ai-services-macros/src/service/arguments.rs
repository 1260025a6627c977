//! Generates the arguments of a call, from variables with the names of the parameters.

use super::model::{Method, Parameter, Role, VariableForm};
use super::user_parts;
use crate::ty;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};

// Output:
//     Arguments { memory_id: Some(memory_id(&user)), variables: &[variable(&city)], … }
pub(crate) fn of_call(method: &Method<'_>) -> TokenStream {
    let variables = variables(method);
    let with = |role, function: &str| {
        ty::option(method.with_role(role).map(|parameter| borrowed(function, parameter)))
    };
    let memory_id = with(Role::MemoryId, "memory_id");
    let user_name = with(Role::UserName, "variable");
    let user_message = user_parts::parts(method);
    let moved = |role, function: &str| {
        ty::option(method.with_role(role).map(|parameter| passed(function, parameter)))
    };
    let (parameters, context) =
        (moved(Role::Parameters, "parameters"), moved(Role::Context, "context"));
    quote! {
        __rt::Arguments {
            memory_id: #memory_id,
            variables: #variables,
            user_message: #user_message,
            user_name: #user_name,
            parameters: #parameters,
            context: #context,
        }
    }
}

// Output:
//     Arguments { memory_id: Some(__memory_id), variables: &[variable(&city)], … }
//
/// Returns the arguments of a call as a tool, from variables with the names of the parameters.
pub(crate) fn of_tool(
    method: &Method<'_>,
    memory_id: &TokenStream,
    has_user_name: bool,
) -> TokenStream {
    let (variables, user_message) = (variables(method), user_parts::parts(method));
    let user_name = method.with_role(Role::UserName).filter(|_| has_user_name);
    let user_name = ty::option(user_name.map(|parameter| borrowed("variable", parameter)));
    quote! {
        __rt::Arguments {
            memory_id: #memory_id,
            variables: #variables,
            user_message: #user_message,
            user_name: #user_name,
            parameters: ::core::option::Option::None,
            context: ::core::option::Option::None,
        }
    }
}

// Output:
//     &[variable(&city), json_variable(&days)]
fn variables(method: &Method<'_>) -> TokenStream {
    let variables = method.prompts.variables.iter();
    let variables = variables.filter_map(|index| method.parameters.get(*index));
    let variables = variables.map(|parameter| match parameter.variable_form() {
        VariableForm::Printed => borrowed("variable", parameter),
        VariableForm::Json => borrowed("json_variable", parameter),
    });
    quote!(&[#(#variables),*])
}

/// Returns `function(&parameter)`; errors about the type are reported at the type.
fn borrowed(function: &str, parameter: &Parameter<'_>) -> TokenStream {
    let (first, last) = ty::ends(parameter.ty);
    let (function, ident) = (format_ident!("{function}"), ty::moved(parameter.ident, last));
    let reference = quote_spanned!(first=> &);
    quote!(__rt::#function(#reference #ident))
}

/// Returns `function(parameter)`; errors about the type are reported at the type.
fn passed(function: &str, parameter: &Parameter<'_>) -> TokenStream {
    let (first, _) = ty::ends(parameter.ty);
    let (function, ident) = (format_ident!("{function}"), ty::moved(parameter.ident, first));
    quote!(__rt::#function(#ident))
}

/// Returns the name of the description of a method.
pub(crate) fn static_name(index: usize) -> Ident {
    format_ident!("__METHOD_{index}")
}
