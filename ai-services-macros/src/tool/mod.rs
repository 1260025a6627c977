//! `#[tools]` and `#[tool]`: functions that a model may call.

mod check;
mod description;
mod expand;
mod fallback;
mod model;
mod parse;

pub(crate) use check::service_method as check_service_method;
pub(crate) use description::read as read_description;
pub(crate) use expand::service_method as expand_service_method;
pub(crate) use model::{Parameter, Tool};
pub(crate) use parse::service_method as parse_service_method;

use crate::diagnostics::Diagnostics;
use crate::keyword::{Keyword, Place};
use crate::recovery::{self, Unreadable};
use crate::runtime_path::RuntimePath;
use crate::{attribute, doc, errors, ty};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, FnArg, ImplItem, ItemFn, ItemImpl, Signature};

/// `#[tools]` on an `impl` block.
pub(crate) fn tools(arguments: TokenStream, item: &TokenStream) -> TokenStream {
    let mut cx = Diagnostics::new();
    let runtime = parse::runtime(&mut cx, arguments);
    let mut user = match recovery::item_impl(item, &runtime) {
        Ok(user) => user,
        Err(reason) => return unreadable(cx, item, (Keyword::Tools, reason)),
    };
    for item in &mut user.item.items {
        if let ImplItem::Fn(method) = item {
            attribute::unqualify(&mut method.attrs, &runtime);
        }
    }

    let set = parse::set(&mut cx, runtime, &user);
    check::set(&mut cx, &set);

    let user_impl = stripped_impl(&user.item);
    let rest = match cx.finish() {
        Ok(()) if !user.has_syntax_error() => expand::set(&set),
        Ok(()) => fallback::set(&set, &TokenStream::new()),
        Err(errors) => fallback::set(&set, &errors),
    };
    quote!(#user_impl #rest)
}

/// `#[tool]` on a function.
pub(crate) fn function(arguments: TokenStream, item: &TokenStream) -> TokenStream {
    let mut cx = Diagnostics::new();
    let arguments = parse::function_arguments(&mut cx, arguments);
    let runtime = RuntimePath::new(arguments.runtime(&mut cx));
    let user = match recovery::item_fn(item, &runtime) {
        Ok(user) => user,
        Err(reason) => return unreadable(cx, item, (Keyword::Tool, reason)),
    };
    let stripped = stripped_function(&user.item);
    if user.item.sig.receiver().is_some() {
        errors::tool_outside_tools(&mut cx, &user.item.sig.ident);
        let errors = cx.finish().err();
        return quote!(#stripped #errors);
    }

    // rustc reported the syntax error of an incomplete signature.
    let mut silent = Diagnostics::new();
    let cx_or_silent = if user.has_syntax_error() { &mut silent } else { &mut cx };
    let function = parse::function(cx_or_silent, (&arguments, runtime), &user.item);
    check::function(cx_or_silent, &function);

    let rest = match cx.finish() {
        Ok(()) if !user.has_syntax_error() => expand::function(&function),
        Ok(()) => fallback::function(&function, &TokenStream::new()),
        Err(errors) => fallback::function(&function, &errors),
    };
    quote!(#stripped #rest)
}

fn unreadable(
    mut cx: Diagnostics,
    item: &TokenStream,
    (keyword, reason): (Keyword, Unreadable),
) -> TokenStream {
    if reason == Unreadable::WrongKind {
        errors::wrong_item(&mut cx, item, keyword);
    }
    let (item, errors) = (recovery::strip(item.clone()), cx.finish().err());
    quote!(#item #errors)
}

fn stripped_impl(item: &ItemImpl) -> TokenStream {
    let mut item = item.clone();
    attribute::strip_from(&mut item.attrs, Place::Item);
    for item in &mut item.items {
        if let ImplItem::Fn(method) = item {
            strip(&mut method.attrs, &mut method.sig);
        }
    }
    ty::with_generics(item.into_token_stream(), "impl")
}

fn stripped_function(item: &ItemFn) -> TokenStream {
    let mut item = item.clone();
    strip(&mut item.attrs, &mut item.sig);
    ty::with_generics(item.into_token_stream(), "fn")
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
