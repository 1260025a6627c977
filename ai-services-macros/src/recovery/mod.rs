//! Reads items that may contain syntax errors.
//!
//! rustc parses an item before it expands its attributes. It reports a syntax error and often recovers, so a
//! macro gets tokens that are not valid Rust. Everything else in the item is still used, and nothing is reported
//! a second time: a missing `;` is added, a signature is reduced to its readable parts, other members are left
//! out. Bodies are not parsed at all.
//!
//! Should rustc accept an item that `syn` cannot read, the code still fails to build: all functions that stand
//! for something unreadable call `__private::incomplete`.

mod member;
mod signature;
mod strip;
mod token;

pub(crate) use strip::strip;

use crate::runtime_path::RuntimePath;
use member::Member;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::quote;
use syn::parse::Parse;
use syn::{Block, Expr, ImplItem, ItemFn, ItemImpl, ItemTrait, Stmt, TraitItem};
use token::is_ident;

/// The keywords of items.
const KINDS: [&str; 10] =
    ["trait", "impl", "fn", "struct", "enum", "union", "mod", "type", "static", "use"];

/// An item, and the members whose signature contains a syntax error.
pub(crate) struct Recovered<T> {
    pub(crate) item: T,
    /// Indices of the incomplete members.
    incomplete: Vec<usize>,
    /// `true` if members were left out.
    lossy: bool,
}

/// The reasons why an item cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// An item of another kind.
    WrongKind,
    /// A syntax error before the members.
    SyntaxError,
}

impl<T> Recovered<T> {
    /// Returns `true` if rustc reported a syntax error outside of the bodies.
    pub(crate) fn has_syntax_error(&self) -> bool {
        self.lossy || !self.incomplete.is_empty()
    }

    /// Returns `true` if a part of the member with this index is missing.
    pub(crate) fn is_incomplete(&self, index: usize) -> bool {
        self.incomplete.contains(&index)
    }
}

/// Reads a trait.
pub(crate) fn item_trait(
    tokens: &TokenStream,
    runtime: &RuntimePath,
) -> Result<Recovered<ItemTrait>, Unreadable> {
    let (mut item, members) = header::<ItemTrait>(tokens, "trait")?;
    let read = read(members, (false, runtime), |member, item| match item {
        TraitItem::Fn(mut method) => {
            let replace = |block: &mut Block| *block = member.block(block);
            method.default.as_mut().into_iter().for_each(replace);
            (TraitItem::Fn(method), true)
        }
        TraitItem::Verbatim(tokens) => (TraitItem::Verbatim(strip(tokens)), false),
        item => (item, true),
    });
    item.items = read.item;
    Ok(Recovered { item, incomplete: read.incomplete, lossy: read.lossy })
}

/// Reads an `impl` block.
pub(crate) fn item_impl(
    tokens: &TokenStream,
    runtime: &RuntimePath,
) -> Result<Recovered<ItemImpl>, Unreadable> {
    let (mut item, members) = header::<ItemImpl>(tokens, "impl")?;
    let read = read(members, (true, runtime), |member, item| match item {
        ImplItem::Fn(mut method) => {
            method.block = member.block(&method.block);
            (ImplItem::Fn(method), true)
        }
        ImplItem::Verbatim(tokens) => {
            // For example a function without a body, for another macro. It matters only if it is a tool.
            let stripped = strip(tokens.clone());
            let is_unchanged = stripped.to_string() == tokens.to_string();
            (ImplItem::Verbatim(stripped), is_unchanged)
        }
        item => (item, true),
    });
    item.items = read.item;
    Ok(Recovered { item, incomplete: read.incomplete, lossy: read.lossy })
}

/// Reads a function with a body.
pub(crate) fn item_fn(
    tokens: &TokenStream,
    runtime: &RuntimePath,
) -> Result<Recovered<ItemFn>, Unreadable> {
    let (Some(member), None) = ({
        let mut members = member::split(tokens.clone()).into_iter();
        (members.next(), members.next())
    }) else {
        return Err(Unreadable::WrongKind);
    };
    if !member.is_function() || !member.has_body() {
        return Err(Unreadable::WrongKind);
    }
    let exact = syn::parse2::<ItemFn>(member.without_body()).ok();
    let incomplete = if exact.is_some() { Vec::new() } else { vec![0] };
    let rescued = || member.rescued(true, runtime).and_then(|tokens| syn::parse2(tokens).ok());
    let mut item = exact.or_else(rescued).ok_or(Unreadable::SyntaxError)?;
    if incomplete.is_empty() {
        *item.block = member.block(&item.block);
    }
    Ok(Recovered { item, incomplete, lossy: false })
}

/// Parses an item without its members.
fn header<T: Parse>(tokens: &TokenStream, keyword: &str) -> Result<(T, Vec<Member>), Unreadable> {
    let mut outside = token::visible(tokens.clone());
    let is_kind = |token: &&TokenTree| KINDS.iter().any(|kind| is_ident(token, kind));
    if !outside.iter().find(is_kind).is_some_and(|kind| is_ident(kind, keyword)) {
        return Err(Unreadable::WrongKind);
    }
    let Some(TokenTree::Group(body)) = outside.pop() else { return Err(Unreadable::SyntaxError) };
    if body.delimiter() != Delimiter::Brace {
        return Err(Unreadable::SyntaxError);
    }
    let (inner_attributes, members) = member::after_inner_attributes(body.stream());
    let mut empty = Group::new(Delimiter::Brace, inner_attributes);
    empty.set_span(body.span());
    match syn::parse2(quote!(#(#outside)* #empty)) {
        Ok(item) => Ok((item, member::split(members))),
        Err(_) => Err(Unreadable::SyntaxError),
    }
}

/// Parses members. `finish` completes a member, and returns whether `syn` understands it.
fn read<T: Parse>(
    members: Vec<Member>,
    (needs_body, runtime): (bool, &RuntimePath),
    finish: impl Fn(&Member, T) -> (T, bool),
) -> Recovered<Vec<T>> {
    let mut read = Recovered { item: Vec::new(), incomplete: Vec::new(), lossy: false };
    for member in members {
        if let Ok(item) = syn::parse2(member.without_body()) {
            let (item, is_understood) = finish(&member, item);
            read.lossy |= !is_understood;
            if !member.is_terminated() {
                read.incomplete.push(read.item.len());
            }
            read.item.push(item);
        } else if let Some(tokens) = member.rescued(needs_body, runtime)
            && let Ok(item) = syn::parse2(tokens)
        {
            read.incomplete.push(read.item.len());
            read.item.push(item);
        } else {
            read.lossy = true;
        }
    }
    read
}

impl Member {
    /// Returns the block with the tokens of the body, which is empty in `block`.
    fn block(&self, block: &Block) -> Block {
        let body = self.body.as_ref().map(Group::stream).unwrap_or_default();
        Block { stmts: unparsed(body), ..block.clone() }
    }
}

/// Returns tokens as the contents of a block.
pub(crate) fn unparsed(tokens: TokenStream) -> Vec<Stmt> {
    let statement = |tokens| Stmt::Expr(Expr::Verbatim(tokens), None);
    Some(tokens).filter(|tokens| !tokens.is_empty()).map(statement).into_iter().collect()
}

#[cfg(test)]
mod tests;
