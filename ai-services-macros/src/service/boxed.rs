//! Rewrites `async fn` so that a trait stays usable as `dyn Trait`.
//!
//! The signatures equal those of the `async-trait` crate, so users can implement the trait with it, for
//! example for a test double. The crate itself is not used because it generates `Box`, which the user's crate
//! may define as something else, or hide with `#![no_implicit_prelude]`.

use crate::runtime_path::RuntimePath;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::visit_mut::{self, VisitMut};
use syn::{
    Block, FnArg, GenericParam, Lifetime, Pat, ReceiverKind, ReturnType, Signature, Token, Type,
    TypeImplTrait, TypeReference, parse_quote,
};

// Input:
//     async fn f(&self, x: &T, y: U) -> R
//
// Output:
//     fn f<'life0, 'life1, 'async_trait>(&'life0 self, x: &'life1 T, y: U)
//         -> Pin<Box<dyn Future<Output = R> + Send + 'async_trait>>
//     where
//         'life0: 'async_trait,
//         'life1: 'async_trait,
//         Self: 'async_trait
pub(crate) fn signature(signature: &Signature, runtime: &RuntimePath) -> Signature {
    let mut boxed = signature.clone();
    boxed.asyncness = None;
    let mut lifetimes = NameLifetimes::default();
    for input in &mut boxed.inputs {
        lifetimes.visit_fn_arg_mut(input);
    }
    for (index, input) in boxed.inputs.iter_mut().enumerate() {
        if let FnArg::Typed(typed) = input {
            let name = name(&typed.pat, index);
            *typed.pat = parse_quote!(#name);
        }
    }

    let generics = &mut boxed.generics;
    let mut bounds: Vec<TokenStream> = Vec::new();
    for parameter in &generics.params {
        match parameter {
            GenericParam::Type(parameter) => bounds.push(bound(&parameter.ident)),
            GenericParam::Lifetime(parameter) => bounds.push(bound(&parameter.lifetime)),
            GenericParam::Const(_) => {}
        }
    }
    // Lifetimes precede types.
    for (index, lifetime) in lifetimes.named.iter().enumerate() {
        generics.params.insert(index, parse_quote!(#lifetime));
        bounds.push(bound(lifetime));
    }
    generics.params.insert(lifetimes.named.len(), parse_quote!('async_trait));
    if signature.receiver().is_some() {
        bounds.push(quote!(Self: 'async_trait));
    }
    let clause = generics.make_where_clause();
    clause.predicates.extend::<Vec<syn::WherePredicate>>(
        bounds.iter().map(|bound| parse_quote!(#bound)).collect(),
    );

    let output = output(signature);
    let rt = runtime.private();
    boxed.output = parse_quote! {
        -> ::core::pin::Pin<#rt::Box<
            dyn ::core::future::Future<Output = #output> + ::core::marker::Send + 'async_trait
        >>
    };
    boxed
}

// Input:
//     { self.g(x, a + b).await }
//
// Output:
//     Box::pin(async move {
//         let x = x;
//         let (a, b) = __argument2;
//         let __output: R = { self.g(x, a + b).await };
//         __output
//     })
pub(crate) fn body(signature: &Signature, block: &Block, runtime: &RuntimePath) -> TokenStream {
    let rt = runtime.private();
    let output = output(signature);
    let bindings = signature.inputs.iter().enumerate().filter_map(|(index, input)| match input {
        FnArg::Receiver(_) => None,
        FnArg::Typed(typed) => {
            let (pattern, name) = (&typed.pat, name(&typed.pat, index));
            Some(quote!(let #pattern = #name;))
        }
    });
    quote! {
        #rt::Box::pin(async move {
            // Fixes the type of the output for an early `return`.
            if let ::core::option::Option::Some(__output) = ::core::option::Option::None::<#output> {
                return __output;
            }
            #(#bindings)*
            let __output: #output = #block;
            #[allow(unreachable_code)]
            __output
        })
    }
}

/// Returns the return type of the `async fn`.
pub(crate) fn output(signature: &Signature) -> TokenStream {
    match &signature.output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, ty) => quote!(#ty),
    }
}

/// Returns the name of a parameter, or a generated name for a pattern.
fn name(pattern: &Pat, index: usize) -> Ident {
    match pattern {
        Pat::Ident(pattern) if pattern.subpat.is_none() => pattern.ident.clone(),
        _ => format_ident!("__argument{index}"),
    }
}

fn bound(parameter: &dyn quote::ToTokens) -> TokenStream {
    quote!(#parameter: 'async_trait)
}

/// Names every elided lifetime.
#[derive(Default)]
struct NameLifetimes {
    named: Vec<Lifetime>,
}

impl NameLifetimes {
    fn next(&mut self, span: Span) -> Lifetime {
        let lifetime = Lifetime::new(&format!("'life{}", self.named.len()), span);
        self.named.push(lifetime.clone());
        lifetime
    }

    fn reference(&mut self, and: &Token![&], lifetime: &mut Option<Lifetime>) {
        match lifetime {
            None => *lifetime = Some(self.next(and.span)),
            Some(lifetime) => self.visit_lifetime_mut(lifetime),
        }
    }
}

impl VisitMut for NameLifetimes {
    fn visit_receiver_kind_mut(&mut self, kind: &mut ReceiverKind) {
        match kind {
            ReceiverKind::Reference(and, lifetime, _) => self.reference(and, lifetime),
            kind => visit_mut::visit_receiver_kind_mut(self, kind),
        }
    }

    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        self.reference(&reference.and_token, &mut reference.lifetime);
        visit_mut::visit_type_mut(self, &mut reference.elem);
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident == "_" {
            *lifetime = self.next(lifetime.span());
        }
    }

    fn visit_type_impl_trait_mut(&mut self, ty: &mut TypeImplTrait) {
        ty.bounds.insert(0, parse_quote!('async_trait));
        visit_mut::visit_type_impl_trait_mut(self, ty);
    }

    fn visit_type_mut(&mut self, ty: &mut Type) {
        // A function pointer has separate lifetimes.
        if !matches!(ty, Type::FnPtr(_)) {
            visit_mut::visit_type_mut(self, ty);
        }
    }
}
