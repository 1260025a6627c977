//! Properties of tokens.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Returns the tokens, with those of the items and visibilities that a `macro_rules!` macro passed on in invisible
/// groups.
pub(crate) fn visible(tokens: TokenStream) -> Vec<TokenTree> {
    let tokens = tokens.into_iter().flat_map(|token| match &token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
            let inside = visible(group.stream());
            let is_item = inside.last().is_none_or(|last| is_punct(last, ';') || is_body(last));
            let is_visibility = inside.first().is_some_and(|first| is_ident(first, "pub"));
            if is_item || is_visibility { inside } else { vec![token] }
        }
        _ => vec![token],
    });
    tokens.collect()
}

fn is_body(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

pub(crate) fn is_ident(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == name)
}

pub(crate) fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}
