//! `#[ai_service]`: implements a trait with an AI service.

mod arguments;
mod boxed;
mod budget;
mod check;
mod expand;
mod fallback;
mod guardrails;
mod model;
mod parse;
mod placeholders;
mod prompts;
mod roles;
mod stages;
mod tools;
mod user_parts;
mod user_trait;

pub(crate) use roles::supported;

use crate::diagnostics::Diagnostics;
use crate::errors;
use crate::keyword::Keyword;
use crate::recovery::{self, Unreadable};
use crate::runtime_path::RuntimePath;
use proc_macro2::TokenStream;
use quote::quote;

pub(crate) fn ai_service(arguments: TokenStream, item: &TokenStream) -> TokenStream {
    let mut cx = Diagnostics::new();
    let arguments = parse::arguments(&mut cx, arguments);
    let runtime = RuntimePath::new(arguments.runtime(&mut cx));
    let user = match recovery::item_trait(item, &runtime) {
        Ok(user) => user,
        Err(reason) => return unreadable(cx, item, reason),
    };

    let service = parse::service(&mut cx, (&arguments, runtime), &user);
    check::service(&mut cx, &service);

    let user_trait = user_trait::emit(&service);
    let rest = match cx.finish() {
        Ok(()) if !user.has_syntax_error() => expand::service(&service),
        Ok(()) => fallback::service(&service, &TokenStream::new()),
        Err(errors) => fallback::service(&service, &errors),
    };
    quote!(#user_trait #rest)
}

fn unreadable(mut cx: Diagnostics, item: &TokenStream, reason: Unreadable) -> TokenStream {
    if reason == Unreadable::WrongKind {
        errors::wrong_item(&mut cx, item, Keyword::AiService);
    }
    let (item, errors) = (recovery::strip(item.clone()), cx.finish().err());
    quote!(#item #errors)
}

#[cfg(test)]
mod tests;
