//! Parameters as parts of a user message. rustc decides by their types whether they are text or content.

use super::model::{Method, Parameter, Service};
use crate::{attribute, errors, ty};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

// Output:
//     &[<__rt::UserArgument<&str>>::part(&text), <__rt::UserArgument<Content>>::part(&image)]
pub(crate) fn parts(method: &Method<'_>) -> TokenStream {
    let parts = method.user_parts().into_iter().map(part);
    quote!(&[#(#parts),*])
}

/// Returns one part; errors about the type are reported at the type.
fn part(parameter: &Parameter<'_>) -> TokenStream {
    let (first, last) = ty::ends(parameter.ty);
    let (argument, ident) = (argument(parameter), ty::moved(parameter.ident, last));
    let reference = quote_spanned!(first=> &);
    quote_spanned!(last=> #argument::part(#reference #ident))
}

// A user message has one text: the template, or one parameter.
//
// Output:
//     const _: () = ::core::assert!(!(<__rt::UserArgument<&str>>::PRINTS && …), "method `chat` …");
pub(crate) fn single_text_checks(service: &Service<'_>) -> TokenStream {
    service.methods.iter().flat_map(method_checks).collect()
}

fn method_checks(method: &Method<'_>) -> Vec<TokenStream> {
    let parts = method.user_parts();
    let conditions = attribute::conditions(&method.item.attrs);
    let conditions = quote!(#(#conditions)*);
    let rejection = |parameter: &Parameter<'_>,
                     texts: &TokenStream,
                     first: Option<&Parameter<'_>>| {
        let message =
            errors::two_user_messages(method.ident(), parameter.ident, first.map(|it| it.ident));
        let place = ty::ends(parameter.ty).0;
        let assert = quote_spanned!(place=> ::core::assert!(!(#texts), #message););
        quote!(#conditions const _: () = #assert)
    };
    // `Self` has another meaning outside of the trait.
    let parts: Vec<_> =
        parts.into_iter().filter(|parameter| !ty::mentions(parameter.ty, "Self")).collect();
    if method.prompts.user.is_some() {
        let texts = parts.iter().map(|parameter| (parameter, is_text(parameter)));
        return texts.map(|(parameter, text)| rejection(parameter, &text, None)).collect();
    }
    let mut rejections = Vec::new();
    for (index, parameter) in parts.iter().enumerate() {
        let mut others = quote!();
        for first in parts.iter().take(index) {
            let (own, first_text) = (is_text(parameter), is_text(first));
            let texts = quote!(#first_text && #own #others);
            rejections.push(rejection(parameter, &texts, Some(first)));
            // The next part is the first text only if this part is not text.
            others = quote!(#others && !#first_text);
        }
    }
    rejections
}

fn is_text(parameter: &Parameter<'_>) -> TokenStream {
    let argument = argument(parameter);
    quote!((#argument::PRINTS && !#argument::IS_CONTENT))
}

fn argument(parameter: &Parameter<'_>) -> TokenStream {
    let ty = parameter.ty;
    let (first, last) = ty::ends(ty);
    let open = quote_spanned!(first=> <__rt::UserArgument);
    let close = quote_spanned!(last=> >);
    quote!(#open <#ty> #close)
}
