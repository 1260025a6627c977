//! Splits the inside of a trait or an `impl` block into members.

use super::signature;
use super::token::{self, is_ident, is_punct};
use crate::runtime_path::RuntimePath;
use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, TokenStream, TokenTree};
use quote::quote;

/// A member: a method, or another item.
pub(crate) struct Member {
    /// The tokens before the body or the `;`.
    pub(crate) tokens: Vec<TokenTree>,
    pub(crate) body: Option<Group>,
    semicolon: Option<TokenTree>,
}

/// Splits after each `;` and each body, and before the next member if the `;` is missing.
pub(crate) fn split(tokens: TokenStream) -> Vec<Member> {
    let tokens = token::visible(tokens);
    let mut members = Vec::new();
    let mut current = Member::empty();
    let mut rest = tokens.as_slice();
    while let Some((token, after)) = rest.split_first() {
        if current.is_beyond_its_modifiers()
            && !current.is_inside_angle_brackets()
            && starts_member(rest, current.tokens.last())
        {
            members.push(current.take());
        }
        match token {
            token if is_punct(token, ';') => {
                current.semicolon = Some(token.clone());
                members.push(current.take());
            }
            TokenTree::Group(group) if current.ends_with(group, after) => {
                current.body = Some(group.clone());
                members.push(current.take());
            }
            token => current.tokens.push(token.clone()),
        }
        rest = after;
    }
    members.push(current);
    members.retain(|member| !member.tokens.is_empty());
    members
}

/// Splits off the attributes `#![…]` at the start.
pub(crate) fn after_inner_attributes(tokens: TokenStream) -> (TokenStream, TokenStream) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_inner = |tokens: &[TokenTree]| match tokens {
        [TokenTree::Punct(hash), TokenTree::Punct(bang), TokenTree::Group(group)] => {
            hash.as_char() == '#'
                && bang.as_char() == '!'
                && group.delimiter() == Delimiter::Bracket
        }
        _ => false,
    };
    let count = tokens.chunks(3).take_while(|tokens| is_inner(tokens)).count() * 3;
    let members = tokens.iter().skip(count).cloned().collect();
    (tokens.into_iter().take(count).collect(), members)
}

impl Member {
    fn empty() -> Self {
        Self { tokens: Vec::new(), body: None, semicolon: None }
    }

    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::empty())
    }

    /// Returns `false` if the `;` is missing.
    pub(crate) fn is_terminated(&self) -> bool {
        self.semicolon.is_some() || self.has_body()
    }

    pub(crate) fn has_body(&self) -> bool {
        self.body.is_some()
    }

    /// Returns whether there is a `fn` with a name, or a name with parameters, where `fn` is missing.
    pub(crate) fn is_function(&self) -> bool {
        let is_named = |pair: &[TokenTree]| match pair {
            [first, TokenTree::Ident(_)] => is_ident(first, "fn"),
            _ => false,
        };
        let is_start = |token: &&TokenTree| match token {
            TokenTree::Punct(punct) => punct.as_char() == '#',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Bracket,
            TokenTree::Ident(_) | TokenTree::Literal(_) => true,
        };
        let start = self.tokens.iter().take_while(is_start).count();
        let has_parameters = match self.tokens.get(start.saturating_sub(1)..) {
            Some([TokenTree::Ident(name), TokenTree::Group(group), ..]) => {
                group.delimiter() == Delimiter::Parenthesis && !is_modifier(name)
            }
            _ => false,
        };
        has_parameters || self.tokens.windows(2).any(is_named)
    }

    /// Returns the tokens with an empty body, or with a `;`, which may be missing in the source.
    pub(crate) fn without_body(&self) -> TokenStream {
        let tokens = &self.tokens;
        match &self.body {
            // The body of a macro call is its input.
            Some(body) if !self.is_function() => quote!(#(#tokens)* #body),
            Some(body) => {
                let mut empty = Group::new(Delimiter::Brace, TokenStream::new());
                empty.set_span(body.span());
                quote!(#(#tokens)* #empty)
            }
            None => {
                let missing = || Punct::new(';', Spacing::Alone).into();
                let end = self.semicolon.clone().unwrap_or_else(missing);
                quote!(#(#tokens)* #end)
            }
        }
    }

    /// Returns a method with the readable parts of the signature, and with another body if it has or needs one.
    pub(crate) fn rescued(&self, needs_body: bool, runtime: &RuntimePath) -> Option<TokenStream> {
        let signature = signature::rescue(&self.tokens)?;
        let body = runtime.incomplete();
        let end = if needs_body || self.has_body() { quote!({ #body }) } else { quote!(;) };
        Some(quote!(#signature #end))
    }

    /// Returns whether a braced group ends the member: the body of a function or the input of a macro, not a
    /// constant in a type.
    fn ends_with(&self, group: &Group, after: &[TokenTree]) -> bool {
        let in_type = after.first().is_some_and(|next| is_punct(next, '>') || is_punct(next, ','));
        let is_macro = self.tokens.last().is_some_and(|last| is_punct(last, '!'))
            && !self.tokens.iter().any(|token| is_punct(token, '='));
        group.delimiter() == Delimiter::Brace && !in_type && (self.is_function() || is_macro)
    }

    /// Returns whether there are tokens other than attributes, visibility and modifiers.
    fn is_beyond_its_modifiers(&self) -> bool {
        self.tokens.iter().any(|token| match token {
            TokenTree::Punct(punct) => punct.as_char() != '#',
            TokenTree::Group(_) | TokenTree::Literal(_) => false,
            TokenTree::Ident(ident) => !is_modifier(ident),
        })
    }

    /// Returns whether the next token is a generic parameter or argument.
    fn is_inside_angle_brackets(&self) -> bool {
        let mut depth = 0_usize;
        let mut previous = None;
        for token in &self.tokens {
            if is_punct(token, '<') {
                depth += 1;
            } else if is_punct(token, '>') && !previous.is_some_and(|token| is_punct(token, '-')) {
                depth = depth.saturating_sub(1);
            }
            previous = Some(token);
        }
        depth > 0
    }
}

/// Returns whether `rest` is the start of a member, where the rest of a signature is possible, too.
fn starts_member(rest: &[TokenTree], previous: Option<&TokenTree>) -> bool {
    // `*const T`.
    if previous.is_some_and(|previous| is_punct(previous, '*')) {
        return false;
    }
    let mut rest = rest.iter().peekable();
    let is_attribute = |token: &TokenTree| is_punct(token, '#');
    if rest.peek().is_some_and(|token| is_attribute(token)) {
        return true;
    }
    let mut last = None;
    while let Some(TokenTree::Ident(ident)) =
        rest.next_if(|token| matches!(token, TokenTree::Ident(ident) if is_modifier(ident)))
    {
        last = Some(ident.to_string());
        // The ABI after `extern`.
        rest.next_if(|token| matches!(token, TokenTree::Literal(_)));
    }
    match (last.as_deref(), rest.next()) {
        (_, Some(TokenTree::Ident(ident))) if ident == "fn" || ident == "type" => {
            matches!(rest.next(), Some(TokenTree::Ident(_)))
        }
        (Some("const"), Some(TokenTree::Ident(_))) => true,
        (Some("async" | "pub"), _) => true,
        _ => false,
    }
}

fn is_modifier(ident: &Ident) -> bool {
    let modifiers = ["pub", "default", "const", "async", "unsafe", "safe", "extern"];
    modifiers.iter().any(|modifier| ident == modifier)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(tokens: TokenStream) -> Vec<String> {
        split(tokens).iter().map(|member| member.without_body().to_string()).collect()
    }

    #[test]
    fn members_end_with_a_semicolon_or_a_body() {
        let tokens = quote! {
            #[a] const F: fn(u8) -> u8 = |x| { x };
            pub(crate) const P: Point = Point { x: f(0), y: 0 };
            const M: u8 = make! { 1 };
            make! { fn g() {} }
            type T = unsafe extern "C" fn(*const u8) -> [u8; { 1 }];
            async fn f(x: Matrix<{ N }, 2>) -> Array<{ N }> where T: Into<u8> { let x = ; }
            pub(crate) const fn h() -> impl Fn(u8) -> u8;
            fn k<const N: usize, #[a] T>(x: [T; N]) -> Result<fn(u8) -> u8, Array<T, N>> {}
        };
        let expected = [
            "# [a] const F : fn (u8) -> u8 = | x | { x } ;",
            "pub (crate) const P : Point = Point { x : f (0) , y : 0 } ;",
            "const M : u8 = make ! { 1 } ;",
            "make ! { fn g () { } }",
            "type T = unsafe extern \"C\" fn (* const u8) -> [u8 ; { 1 }] ;",
            "async fn f (x : Matrix < { N } , 2 >) -> Array < { N } > where T : Into < u8 > { }",
            "pub (crate) const fn h () -> impl Fn (u8) -> u8 ;",
            "fn k < const N : usize , # [a] T > (x : [T ; N]) -> Result < fn (u8) -> u8 , Array < T , N >> { }",
        ];
        assert_eq!(members(tokens), expected);
    }

    #[test]
    fn member_without_a_semicolon_ends_before_the_next() {
        for next in [
            "#[a] fn b();",
            "async fn b();",
            "pub(crate) unsafe fn b();",
            "type B;",
            "const B: u8;",
        ] {
            let source = format!("fn a() -> *const u8 {next}");
            let members = split(source.parse().unwrap());
            assert_eq!(members.len(), 2, "{source}");
            assert!(!members[0].is_terminated() && members[1].is_terminated(), "{source}");
        }
    }
}
