//! `#[tools]` and `#[tool]`: functions that a model may call.

mod check;
mod description;
mod expand;
mod fallback;
mod model;
mod parse;

use crate::diagnostics::Diagnostics;
use crate::{attribute, doc, errors, keyword};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, FnArg, ImplItem, ItemFn, ItemImpl, Signature};

/// `#[tools]` on an `impl` block.
pub(crate) fn tools(arguments: TokenStream, item: &TokenStream) -> TokenStream {
    let mut cx = Diagnostics::new();
    let Ok(user) = syn::parse2::<ItemImpl>(item.clone()) else {
        return wrong_item(cx, item, keyword::TOOLS);
    };

    let set = parse::set(&mut cx, arguments, &user);
    check::set(&mut cx, &set);

    let user_impl = stripped_impl(&user);
    let rest = match cx.finish() {
        Ok(()) => expand::set(&set),
        Err(errors) => fallback::set(&set, &errors),
    };
    quote!(#user_impl #rest)
}

/// `#[tool]` on a function.
pub(crate) fn function(arguments: TokenStream, item: &TokenStream) -> TokenStream {
    let mut cx = Diagnostics::new();
    let Ok(user) = syn::parse2::<ItemFn>(item.clone()) else {
        return wrong_item(cx, item, keyword::TOOL);
    };
    if user.sig.receiver().is_some() {
        errors::tool_outside_tools(&mut cx, &user.sig.ident);
        let (function, errors) = (stripped_function(&user), cx.finish().err());
        return quote!(#function #errors);
    }

    let function = parse::function(&mut cx, arguments, &user);
    check::function(&mut cx, &function);

    let user_function = stripped_function(&user);
    let rest = match cx.finish() {
        Ok(()) => expand::function(&function),
        Err(errors) => fallback::function(&function, &errors),
    };
    quote!(#user_function #rest)
}

fn wrong_item(mut cx: Diagnostics, item: &TokenStream, name: &str) -> TokenStream {
    errors::wrong_item(&mut cx, item, name);
    let errors = cx.finish().err();
    quote!(#item #errors)
}

fn stripped_impl(item: &ItemImpl) -> TokenStream {
    let mut item = item.clone();
    attribute::strip_from(&mut item.attrs);
    for item in &mut item.items {
        if let ImplItem::Fn(method) = item {
            strip(&mut method.attrs, &mut method.sig);
        }
    }
    item.into_token_stream()
}

fn stripped_function(item: &ItemFn) -> TokenStream {
    let mut item = item.clone();
    strip(&mut item.attrs, &mut item.sig);
    item.into_token_stream()
}

/// Removes the attributes of this crate, and the doc comments of parameters, which rustc does not accept.
fn strip(attributes: &mut Vec<Attribute>, signature: &mut Signature) {
    attribute::strip(attributes, signature);
    for input in &mut signature.inputs {
        if let FnArg::Typed(typed) = input {
            typed.attrs.retain(|attribute| !doc::is_doc(attribute));
        }
    }
}

#[cfg(test)]
mod tests;
