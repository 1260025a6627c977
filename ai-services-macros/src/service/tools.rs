//! `#[tool]` on methods: the methods that other services may call as tools.

use super::arguments::{self, static_name};
use super::model::{Method, Parameter, Role, Service};
use crate::diagnostics::Diagnostics;
use crate::tool::{self, Tool, check_service_method, expand_service_method, read_description};
use crate::{attribute, errors, ty};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

// Names and descriptions are valid, and the model can fill in each parameter that a prompt uses.
pub(crate) fn check(cx: &mut Diagnostics, service: &Service<'_>) {
    let tools =
        |count| service.methods.iter().take(count).filter_map(|method| method.tool.as_ref());
    for (index, method) in service.methods.iter().enumerate() {
        let Some(tool) = &method.tool else { continue };
        check_service_method(cx, tool, tools(index));
        for parameter in &method.parameters {
            parameter_is_supported(cx, method, parameter);
        }
    }
}

fn parameter_is_supported(cx: &mut Diagnostics, method: &Method<'_>, parameter: &Parameter<'_>) {
    if !is_from_model(method, parameter) {
        if let (Some(at), Some((role, _))) = (parameter.described, parameter.role) {
            errors::described_injected_parameter(cx, at, parameter.ident, role.keyword());
        }
        return;
    }
    if let Some(form) = ty::unsupported_references(parameter.ty) {
        errors::unsupported_parameter(cx, parameter.ty, form, method.ident());
    }
    read(cx, parameter);
}

/// Returns the method that creates the tools of a service, if there are any.
///
// Output:
//     impl SupportService {
//         pub fn into_tools(self) -> Vec<Tool> {
//             let _ = <SupportService as Support>::chat;
//             service_tools(&self.service, const { &[DeclaredServiceTool { … }] })
//         }
//     }
pub(crate) fn into_tools(service: &Service<'_>) -> Option<TokenStream> {
    let offered = || service.methods.iter().enumerate().filter(|(_, it)| it.tool.is_some());
    offered().next()?;
    let tools = offered().filter_map(|(index, method)| {
        let tool = declared(method, method.tool.as_ref()?, index);
        let conditions = attribute::conditions(&method.item.attrs);
        Some(quote!(#(#conditions)* #tool))
    });
    // Otherwise rustc reports methods as unused that are tools only.
    let used = offered().map(|(_, method)| {
        let (name, item, ident) = (&service.name, &service.item.ident, method.ident());
        let conditions = attribute::conditions(&method.item.attrs);
        quote!(#(#conditions)* let _ = <#name as #item>::#ident;)
    });
    let body = quote! {
        #(#used)*
        __rt::service_tools(&self.service, const { &[#(#tools),*] })
    };
    Some(with_body(service, &body))
}

/// Returns the method with an unreachable body, if the service has tools.
pub(crate) fn fallback(service: &Service<'_>) -> Option<TokenStream> {
    let has_tools = service.methods.iter().any(|method| method.tool.is_some());
    has_tools.then(|| with_body(service, &service.runtime.incomplete()))
}

fn with_body(service: &Service<'_>, body: &TokenStream) -> TokenStream {
    let (name, vis, runtime) = (&service.name, &service.item.vis, &service.runtime);
    quote! {
        #[automatically_derived]
        impl #name {
            /// Returns the methods with `#[tool]` as tools of other services.
            #[must_use]
            #vis fn into_tools(self) -> __rt::Vec<#runtime::Tool> {
                #body
            }
        }
    }
}

// Output:
//     DeclaredServiceTool {
//         description: ToolDescription { … },
//         method: &__METHOD_0,
//         has_memory_id: true,
//         read_only: false,
//         start: |__service, __input| { …; start_nested(__service, &__METHOD_0, __input, Arguments { … }) },
//     }
fn declared(method: &Method<'_>, tool: &Tool<'_>, index: usize) -> TokenStream {
    let parameters = parameters(method);
    let (description, read) = expand_service_method(tool, &parameters);
    let name = static_name(index);
    let read_only = !tool.effects.is_empty();
    let memory = method.parameters.iter().enumerate().find(|(_, it)| it.is(Role::MemoryId));
    let has_memory_id = memory.is_some();
    let memory_id = memory.map(|(index, parameter)| {
        let ident = parameter.ident;
        let text = method.uses(index).then(|| quote!(let #ident = __rt::outer_id_text(__input);));
        quote! {
            let __memory_id = __rt::outer_memory_id(__service, __input)?;
            #text
        }
    });
    let id = ty::option(memory_id.as_ref().map(|_| quote!(__memory_id)));
    let has_user_name = method
        .parameters
        .iter()
        .enumerate()
        .any(|(index, parameter)| parameter.is(Role::UserName) && method.uses(index));
    let arguments = arguments::of_tool(method, &id, has_user_name);
    quote! {
        __rt::DeclaredServiceTool {
            description: #description,
            method: &#name,
            has_memory_id: #has_memory_id,
            read_only: #read_only,
            start: |__service, __input| {
                #memory_id
                #read
                __rt::start_nested(__service, &#name, __input, #arguments)
            },
        }
    }
}

/// Returns the parameters that the model fills in, with their names in the code.
fn parameters<'m>(method: &'m Method<'_>) -> Vec<(&'m Ident, tool::Parameter<'m>)> {
    let mut silent = Diagnostics::new();
    let offered = method.parameters.iter().filter(|parameter| is_from_model(method, parameter));
    offered.map(|parameter| (parameter.ident, read(&mut silent, parameter))).collect()
}

/// Returns whether the model of the outer call fills in the parameter: it is a part of a prompt, and the outer call
/// does not have the value.
fn is_from_model(method: &Method<'_>, parameter: &Parameter<'_>) -> bool {
    let index = method.parameters.iter().position(|other| other.ident == parameter.ident);
    let is_sent = method.sends(parameter) || index.is_some_and(|index| method.uses(index));
    is_sent && !parameter.is(Role::MemoryId)
}

fn read<'m>(cx: &mut Diagnostics, parameter: &'m Parameter<'_>) -> tool::Parameter<'m> {
    let mut described = tool::Parameter {
        name: parameter.name(),
        ty: parameter.ty,
        description: None,
        default: None,
        injected: false,
    };
    if let Some(at) = parameter.described {
        read_description(cx, at, &mut described);
    }
    described
}
