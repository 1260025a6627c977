//! Reduces a signature with a syntax error to its readable parts.

use super::token::{is_ident, is_punct};
use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::Parser as _;
use syn::{Attribute, FnArg, Type};

/// Returns the signature of a function with a name. Parameters and the return type are left out if they cannot
/// be read.
pub(crate) fn rescue(tokens: &[TokenTree]) -> Option<TokenStream> {
    let (before, name, after) = find_name(tokens)?;
    let attributes = attributes(before);
    let visibility = before.iter().find(|token| is_ident(token, "pub"));
    let asyncness = before.iter().find(|token| is_ident(token, "async"));
    let parameters = match after.first() {
        Some(TokenTree::Group(group)) => parameters(group),
        _ => vec![quote!(&self)],
    };
    let output = output(after.get(1..).unwrap_or_default());
    Some(quote!(#(#attributes)* #visibility #asyncness fn #name(#(#parameters),*) #output))
}

/// Finds the name: the identifier after `fn`, or before the parameters if `fn` is missing.
fn find_name(tokens: &[TokenTree]) -> Option<(&[TokenTree], Ident, &[TokenTree])> {
    let is_parameters = |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis);
    let after_fn = tokens.iter().position(|token| is_ident(token, "fn")).map(|index| index + 1);
    let before_parameters =
        || tokens.iter().position(is_parameters).and_then(|index| index.checked_sub(1));
    let index = after_fn.or_else(before_parameters)?;
    let TokenTree::Ident(name) = tokens.get(index)? else { return None };
    let is_keyword = syn::parse2::<Ident>(name.to_token_stream()).is_err();
    let name = match name.to_string().as_str() {
        "self" | "Self" | "super" | "crate" | "_" => return None,
        text if is_keyword => Ident::new_raw(text, name.span()),
        _ => name.clone(),
    };
    Some((tokens.get(..index)?, name, tokens.get(index + 1..)?))
}

fn attributes(tokens: &[TokenTree]) -> Vec<Attribute> {
    let pairs = tokens.windows(2).filter_map(|pair| match pair {
        [hash, TokenTree::Group(group)] if is_punct(hash, '#') => {
            Attribute::parse_outer.parse2(quote!(#hash #group)).ok()
        }
        _ => None,
    });
    pairs.flatten().collect()
}

fn parameters(group: &Group) -> Vec<TokenStream> {
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    let mut depth = 0_usize;
    let is_comma = |token: &TokenTree| {
        if is_punct(token, '<') {
            depth += 1;
        } else if is_punct(token, '>') {
            depth = depth.saturating_sub(1);
        }
        depth == 0 && is_punct(token, ',')
    };
    tokens.split(is_comma).filter_map(parameter).collect()
}

fn parameter(tokens: &[TokenTree]) -> Option<TokenStream> {
    let stream: TokenStream = tokens.iter().cloned().collect();
    if syn::parse2::<FnArg>(stream.clone()).is_ok() {
        return Some(stream);
    }
    // The comma after `&self` is missing.
    match tokens {
        [and, receiver, ..] if is_punct(and, '&') && is_ident(receiver, "self") => {
            Some(quote!(#and #receiver))
        }
        _ => None,
    }
}

/// Returns the longest readable type after the parameters.
fn output(tokens: &[TokenTree]) -> TokenStream {
    let is_arrow = |token: &TokenTree| "->=:".chars().any(|character| is_punct(token, character));
    let start = tokens.iter().take_while(|token| is_arrow(token)).count();
    let tokens = tokens.get(start..).unwrap_or_default();
    for length in (1..=tokens.len()).rev() {
        let (kept, dropped) = tokens.split_at(length);
        let stream: TokenStream = kept.iter().cloned().collect();
        if let Ok(ty) = syn::parse2::<Type>(stream) {
            // `Result` without its arguments would be another error.
            let is_whole = !dropped.first().is_some_and(|token| is_punct(token, '<'));
            return if is_whole { quote!(-> #ty) } else { TokenStream::new() };
        }
    }
    TokenStream::new()
}
