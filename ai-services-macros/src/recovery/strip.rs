//! Removes the attributes of this crate from tokens that cannot be parsed.

use super::token::is_punct;
use crate::keyword::{Keyword, Place};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::quote;
use syn::Attribute;
use syn::parse::Parser as _;

/// Removes all attributes of this crate.
pub(crate) fn strip(tokens: TokenStream) -> TokenStream {
    let mut out = TokenStream::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        if is_punct(&token, '#')
            && let Some(TokenTree::Group(group)) = tokens.peek()
            && is_own(&token, group)
        {
            tokens.next();
            continue;
        }
        out.extend([match token {
            TokenTree::Group(group) => TokenTree::Group(strip_group(&group)),
            token => token,
        }]);
    }
    out
}

fn strip_group(group: &Group) -> Group {
    let mut stripped = Group::new(group.delimiter(), strip(group.stream()));
    stripped.set_span(group.span());
    stripped
}

fn is_own(hash: &TokenTree, group: &Group) -> bool {
    let attributes = || Attribute::parse_outer.parse2(quote!(#hash #group)).unwrap_or_default();
    group.delimiter() == Delimiter::Bracket
        && attributes().iter().any(|attribute| {
            Keyword::of(attribute).is_some()
                || Keyword::meant_by(attribute, Place::Parameter).is_some()
        })
}
