//! The output besides errors: the service with unreachable bodies, so that the rest of the
//! user's code resolves, and type checks, so that rustc reports mistakes in types too.

use super::model::{Method, Parameter, Role, Service, VariableForm};
use super::{expand, guardrails, tools};
use crate::{attribute, ty};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{ReturnType, TraitItem, Type};

pub(crate) fn service(service: &Service<'_>, errors: &TokenStream) -> TokenStream {
    let definition = expand::definition(service);
    let common = expand::common_impls(service);
    let optional = expand::requirement(false);
    let description = expand::service_impl(service, (&optional, &optional), &TokenStream::new());
    let implementation = implementation(service);
    let checks = type_checks(service);
    let tools = tools::fallback(service);
    let rest = expand::block(
        service,
        &definition,
        &quote!(#common #description #implementation #checks #tools),
    );
    quote!(#errors #rest)
}

/// Returns the implementation of the trait; `None` if the trait has associated items or returns `impl Trait`, which
/// cannot be implemented.
fn implementation(service: &Service<'_>) -> Option<TokenStream> {
    let is_opaque = |method: &Method<'_>| ty::mentions(&method.item.sig.output, "impl");
    if service.item.items.iter().any(|item| !matches!(item, TraitItem::Fn(_)))
        || service.methods.iter().any(is_opaque)
    {
        return None;
    }
    let body = |method: &Method<'_>, _| {
        let parameters = method.parameters.iter().map(|parameter| parameter.ident);
        let incomplete = service.runtime.incomplete();
        quote!(let _ = (#(&#parameters),*); #incomplete)
    };
    Some(expand::implementation(service, body))
}

// Output:
//     const _: fn() = || {
//         assert_return::<R>();
//         assert_memory_id::<&str>();
//     };
fn type_checks(service: &Service<'_>) -> TokenStream {
    if !service.item.generics.params.is_empty() {
        return TokenStream::new();
    }
    let readable = || service.methods.iter().filter(|method| !method.has_syntax_error);
    let checks = readable().flat_map(method_checks);
    let guardrails = readable().flat_map(guardrails::checks);
    quote! {
        const _: fn() = || {
            #(#checks)*
            #(#guardrails)*
        };
    }
}

fn method_checks<'s>(method: &'s Method<'_>) -> impl Iterator<Item = TokenStream> + 's {
    let generic = !method.item.sig.generics.params.is_empty();
    let output = match &method.item.sig.output {
        // A borrowed answer was reported.
        ReturnType::Type(_, ty) => Some(&**ty).filter(|ty| ty::references(ty) == 0),
        ReturnType::Default => None,
    };
    let assertion = if method.streams() { "assert_stream" } else { "assert_return" };
    let output = output.map(|ty| (format_ident!("{assertion}"), ty));
    let parameters = method.parameters.iter().enumerate().flat_map(move |(index, parameter)| {
        assertions(method, (index, parameter)).map(|function| (function, parameter.ty))
    });
    let checks = output.into_iter().chain(parameters);
    checks.filter(move |(_, ty)| !generic && is_closed(ty)).map(|(function, ty)| {
        let conditions = attribute::conditions(&method.item.attrs);
        let place =
            if function == USER_PART { quote!(<__rt::UserArgument<#ty>>) } else { quote!(__rt) };
        let inferred = (function == PRINTED).then(|| quote!(, _));
        quote!(#(#conditions)* #place::#function::<#ty #inferred>();)
    })
}

/// The assertion that a type is text or content, which is an associated function of the type.
const USER_PART: &str = "assert_user_part";

/// The assertion that a type is printed in a template. It has a second type parameter, which is inferred.
const PRINTED: &str = "assert_variable";

/// Returns the assertions about the type of a parameter.
fn assertions(
    method: &Method<'_>,
    (index, parameter): (usize, &Parameter<'_>),
) -> impl Iterator<Item = Ident> + use<> {
    let role = parameter.role.map(|(role, _)| match role {
        Role::MemoryId => "assert_memory_id",
        Role::UserMessage => USER_PART,
        Role::UserName => PRINTED,
        Role::Parameters => "assert_parameters",
        Role::Context => "assert_context",
    });
    let role = role.or(method.sends(parameter).then_some(USER_PART));
    let variable = method.uses(index).then_some(match parameter.variable_form() {
        VariableForm::Printed => PRINTED,
        VariableForm::Json => "assert_json_variable",
    });
    let variable = variable.filter(|variable| role != Some(*variable));
    role.into_iter().chain(variable).map(|name| format_ident!("{name}"))
}

/// Returns whether the type has the same meaning outside of the trait.
fn is_closed(ty: &Type) -> bool {
    !ty::mentions(ty, "Self") && !ty::mentions(ty, "impl")
}
