//! The user's trait, without the attributes of this crate and usable as `dyn Trait`. Emitted even if it is
//! invalid, so that editors and later compiler passes keep working.

use super::boxed;
use super::model::Service;
use crate::keyword::Place;
use crate::{attribute, recovery, ty};
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{ItemTrait, TraitItem, TraitItemFn, parse_quote};

pub(crate) fn emit(service: &Service<'_>) -> TokenStream {
    let mut item: ItemTrait = service.item.clone();
    attribute::strip_from(&mut item.attrs, Place::Item);
    for item in &mut item.items {
        if let TraitItem::Fn(method) = item {
            attribute::strip(&mut method.attrs, &mut method.sig);
            if method.sig.asyncness.is_some() {
                make_boxed(method, service);
            }
        }
    }
    ty::with_generics(item.into_token_stream(), "trait")
}

fn make_boxed(method: &mut TraitItemFn, service: &Service<'_>) {
    let mut signature = boxed::signature(&method.sig, &service.runtime);
    if let Some(block) = &mut method.default {
        let body = boxed::body(&method.sig, block, &service.runtime);
        block.stmts = recovery::unparsed(body);
        // The future of a default method borrows `self`.
        if signature.receiver().is_some() {
            let clause = signature.generics.make_where_clause();
            clause.predicates.push(parse_quote!(Self: ::core::marker::Sync));
        }
    }
    method.sig = signature;
    method.attrs.push(ty::allow());
}
