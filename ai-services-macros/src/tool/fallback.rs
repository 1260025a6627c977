//! The output besides errors: tools with unreachable bodies, so that the rest of the user's code
//! resolves, and type checks, so that rustc reports mistakes in types too.

use super::expand;
use super::model::{Function, Tool, ToolSet};
use crate::ty;
use proc_macro2::TokenStream;
use quote::quote;

pub(crate) fn set(set: &ToolSet<'_>, errors: &TokenStream) -> TokenStream {
    let checks = set.tools.iter().map(type_checks);
    let items = expand::set_impl(set, &quote!(#(#checks)* __rt::incomplete::<()>()));
    quote!(#errors #items)
}

pub(crate) fn function(function: &Function<'_>, errors: &TokenStream) -> TokenStream {
    let checks = type_checks(&function.tool);
    let items = expand::function_items(function, &quote!(#checks __rt::incomplete::<()>()));
    quote!(#errors #items)
}

// Output:
//     assert_tool_parameter::<String>();
//     assert_injected::<&MemoryId>();
fn type_checks(tool: &Tool<'_>) -> TokenStream {
    if !tool.signature.generics.params.is_empty() {
        return TokenStream::new();
    }
    let checked = tool.parameters.iter().filter(|parameter| !ty::mentions(parameter.ty, "impl"));
    checked
        .map(|parameter| {
            let ty = parameter.ty;
            if parameter.injected {
                return quote!(__rt::assert_injected::<#ty>(););
            }
            let owned = expand::owned(ty);
            quote!(__rt::assert_tool_parameter::<#owned>();)
        })
        .collect()
}
