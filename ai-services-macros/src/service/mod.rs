//! `#[ai_service]`: implements a trait with an AI service.

mod boxed;
mod check;
mod expand;
mod fallback;
mod guardrails;
mod model;
mod parse;
mod placeholders;
mod roles;
mod user_parts;
mod user_trait;

pub(crate) use roles::supported;

use crate::diagnostics::Diagnostics;
use crate::{errors, keyword};
use proc_macro2::TokenStream;
use quote::quote;
use syn::ItemTrait;

pub(crate) fn ai_service(arguments: TokenStream, item: &TokenStream) -> TokenStream {
    let mut cx = Diagnostics::new();
    let Ok(user) = syn::parse2::<ItemTrait>(item.clone()) else {
        let errors = not_a_trait(cx, item);
        return quote!(#item #errors);
    };

    let service = parse::service(&mut cx, arguments, &user);
    check::service(&mut cx, &service);

    let user_trait = user_trait::emit(&service);
    let rest = match cx.finish() {
        Ok(()) => expand::service(&service),
        Err(errors) => fallback::service(&service, &errors),
    };
    quote!(#user_trait #rest)
}

fn not_a_trait(mut cx: Diagnostics, item: &TokenStream) -> TokenStream {
    errors::wrong_item(&mut cx, item, keyword::AI_SERVICE);
    cx.finish().err().unwrap_or_default()
}

#[cfg(test)]
mod tests;
