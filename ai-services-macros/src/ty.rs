//! Syntactic properties of types (macros cannot resolve types), and shared output.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Attribute, Type, parse_quote};

/// Returns the referenced type, if `ty` is a reference.
pub(crate) fn referent(ty: &Type) -> Option<&Type> {
    match ty {
        Type::Reference(reference) => Some(&reference.elem),
        Type::Group(group) => referent(&group.elem),
        Type::Paren(paren) => referent(&paren.elem),
        _ => None,
    }
}

/// Returns whether the word occurs anywhere in the type.
pub(crate) fn mentions(ty: &dyn ToTokens, word: &str) -> bool {
    fn search(tokens: TokenStream, word: &str) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => ident == word,
            TokenTree::Group(group) => search(group.stream(), word),
            TokenTree::Punct(_) | TokenTree::Literal(_) => false,
        })
    }
    search(ty.to_token_stream(), word)
}

/// Returns the number of references in the type.
pub(crate) fn references(ty: &dyn ToTokens) -> usize {
    fn count(tokens: TokenStream) -> usize {
        let tokens = tokens.into_iter().map(|token| match token {
            TokenTree::Punct(punct) => usize::from(punct.as_char() == '&'),
            TokenTree::Group(group) => count(group.stream()),
            TokenTree::Ident(_) | TokenTree::Literal(_) => 0,
        });
        tokens.sum()
    }
    count(ty.to_token_stream())
}

/// Returns the form of references that cannot be lent from deserialized values.
pub(crate) fn unsupported_references(ty: &Type) -> Option<&'static str> {
    let tokens: Vec<TokenTree> = ty.to_token_stream().into_iter().collect();
    let is_named = tokens.windows(3).any(|tokens| match tokens {
        [TokenTree::Punct(and), TokenTree::Punct(quote), TokenTree::Ident(name)] => {
            and.as_char() == '&' && quote.as_char() == '\'' && name != "_"
        }
        _ => false,
    });
    match references(ty) {
        0 => None,
        _ if is_named => Some("a reference with a named lifetime"),
        1 => None,
        _ => Some("a type with several references"),
    }
}

/// Returns whether the type is `&mut …`.
pub(crate) fn is_mutable_reference(ty: &Type) -> bool {
    matches!(ty, Type::Reference(reference) if reference.mutability.is_some())
}

/// Returns the spans of the first and the last token. Stable Rust cannot join them.
pub(crate) fn ends(ty: &dyn ToTokens) -> (Span, Span) {
    let mut tokens = ty.to_token_stream().into_iter();
    let first = tokens.next().map_or_else(Span::call_site, |token| token.span());
    (first, tokens.last().map_or(first, |token| token.span()))
}

/// Returns arguments in parentheses with this span.
pub(crate) fn parenthesized(place: Span, arguments: TokenStream) -> Group {
    let mut group = Group::new(Delimiter::Parenthesis, arguments);
    group.set_span(place);
    group
}

/// Returns the identifier with the span of `place`, for error messages.
pub(crate) fn moved(ident: &Ident, place: Span) -> Ident {
    let mut ident = ident.clone();
    ident.set_span(place.resolved_at(ident.span()));
    ident
}

/// Writes `trait Name<>`, `fn name<>` or `impl<>` if an item has no generic parameters.
///
/// For a type that does not exist, rustc suggests a generic parameter of the item. The same error in the
/// implementation is without the suggestion, so that it would be reported again. rustc does not suggest a change of
/// code with the span of a macro.
pub(crate) fn with_generics(item: TokenStream, keyword: &str) -> TokenStream {
    let mut tokens = item.into_iter().peekable();
    let mut out = TokenStream::new();
    while let Some(token) = tokens.next() {
        let is_keyword = matches!(&token, TokenTree::Ident(ident) if ident == keyword);
        out.extend([token]);
        if is_keyword {
            out.extend(
                tokens.next_if(|next| matches!(next, TokenTree::Ident(_)) && keyword != "impl"),
            );
            let has_generics = |next: &TokenTree| matches!(next, TokenTree::Punct(punct) if punct.as_char() == '<');
            if !tokens.peek().is_some_and(has_generics) {
                out.extend(quote!(<>));
            }
            out.extend(tokens);
            break;
        }
    }
    out
}

/// Returns the expression `Some(value)` or `None`.
pub(crate) fn option(value: Option<TokenStream>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}

/// Returns an attribute that allows the lints that generated code may trigger. As few as possible: a crate
/// that forbids one of them, instead of denying it, gets an error for every item that allows it.
pub(crate) fn allow() -> Attribute {
    parse_quote! {
        #[allow(unknown_lints, mismatched_lifetime_syntaxes, non_camel_case_types)]
    }
}
