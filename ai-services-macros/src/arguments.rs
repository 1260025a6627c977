//! The arguments of an attribute: `"text", key = value, flag`.

use crate::diagnostics::Diagnostics;
use crate::{errors, keyword, suggest};
use proc_macro2::TokenStream;
use quote::ToTokens;
use std::time::Duration;
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Ident, Lit, LitStr, Meta, Path, Token, parse_quote};

/// The arguments between the parentheses. Unknown and repeated keys were reported and are left out.
#[derive(Default)]
pub(crate) struct Arguments {
    /// Values without a key, in order.
    pub(crate) values: Vec<Expr>,
    /// `true` if an argument could not be read, which was reported. Missing arguments are not reported then.
    pub(crate) broken: bool,
    named: Vec<Argument>,
}

/// One argument: `key = value`, a flag `key`, or a value without a key.
struct Argument {
    key: Option<Ident>,
    value: Option<Expr>,
}

impl Arguments {
    /// Reads the arguments of a helper attribute.
    pub(crate) fn of(
        cx: &mut Diagnostics,
        attribute: &Attribute,
        name: &str,
        keys: &[&str],
    ) -> Self {
        match &attribute.meta {
            Meta::Path(_) => Self::default(),
            Meta::List(list) => Self::parse(cx, list.tokens.clone(), name, keys),
            Meta::NameValue(_) => {
                errors::malformed_attribute(cx, attribute, name, None);
                Self::broken()
            }
        }
    }

    /// Reads the arguments of a helper attribute that takes values. A single name is a value, unless it
    /// is a key.
    pub(crate) fn of_values(
        cx: &mut Diagnostics,
        attribute: &Attribute,
        name: &str,
        keys: &[&str],
    ) -> Self {
        match &attribute.meta {
            Meta::List(list) => Self::read(cx, list.tokens.clone(), name, |argument| {
                match (&argument.key, &argument.value) {
                    (Some(key), None) if !keys.contains(&key.unraw().to_string().as_str()) => {
                        Argument { key: None, value: Some(parse_quote!(#key)) }
                    }
                    _ => argument,
                }
            })
            .map_or_else(Self::broken, |list| Self::sort(cx, list, name, keys)),
            _ => Self::of(cx, attribute, name, keys),
        }
    }

    /// Reads the arguments of the attribute `name` with these `keys`.
    pub(crate) fn parse(
        cx: &mut Diagnostics,
        tokens: TokenStream,
        name: &str,
        keys: &[&str],
    ) -> Self {
        Self::read(cx, tokens, name, |argument| argument)
            .map_or_else(Self::broken, |list| Self::sort(cx, list, name, keys))
    }

    fn read(
        cx: &mut Diagnostics,
        tokens: TokenStream,
        name: &str,
        normalize: impl Fn(Argument) -> Argument,
    ) -> Option<Vec<Argument>> {
        let list = Punctuated::<Argument, Token![,]>::parse_terminated;
        match list.parse2(tokens) {
            Ok(list) => Some(list.into_iter().map(normalize).collect()),
            Err(error) => {
                let at = error.to_compile_error();
                errors::malformed_attribute(cx, &at, name, Some(&error.to_string()));
                None
            }
        }
    }

    fn sort(cx: &mut Diagnostics, list: Vec<Argument>, name: &str, keys: &[&str]) -> Self {
        let mut sorted = Self::default();
        for argument in list {
            match (&argument.key, argument.value) {
                (None, Some(value)) => sorted.values.push(value),
                (None, None) => {}
                (Some(key), value) => {
                    let text = key.unraw().to_string();
                    if !keys.contains(&text.as_str()) {
                        let similar = suggest::nearest(&text, keys.iter().copied());
                        errors::unknown_argument(cx, key, name, keys, similar);
                        sorted.broken = true;
                    } else if sorted.find(&text).is_some() {
                        errors::repeated_argument(cx, key, name);
                    } else {
                        sorted.named.push(Argument { key: Some(key.clone()), value });
                    }
                }
            }
        }
        sorted
    }

    fn broken() -> Self {
        Self { broken: true, ..Self::default() }
    }

    /// Reports values without a key, for attributes without values.
    pub(crate) fn no_values(&self, cx: &mut Diagnostics, name: &str) {
        if let Some(value) = self.values.first() {
            errors::malformed_attribute(cx, value, name, None);
        }
    }

    /// Returns the key with the user's span.
    pub(crate) fn key(&self, key: &str) -> Option<&Ident> {
        self.find(key)?.key.as_ref()
    }

    /// Returns the value of `key = "…"`.
    pub(crate) fn string(&self, cx: &mut Diagnostics, key: &str) -> Option<LitStr> {
        let argument = self.find(key)?;
        let literal = argument.value.as_ref().and_then(string);
        if literal.is_none() {
            errors::wrong_argument_value(cx, argument, key, "a string literal");
        }
        literal.cloned()
    }

    /// Returns the value of `crate = path`.
    pub(crate) fn runtime(&self, cx: &mut Diagnostics) -> Option<Path> {
        let argument = self.find(keyword::CRATE)?;
        if let Some(Expr::Path(path)) = &argument.value
            && path.qself.is_none()
        {
            return Some(path.path.clone());
        }
        errors::wrong_argument_value(cx, argument, keyword::CRATE, "a path");
        None
    }

    /// Returns the value of `key = expression`.
    pub(crate) fn expression(&self, cx: &mut Diagnostics, key: &str) -> Option<Expr> {
        let argument = self.find(key)?;
        if argument.value.is_none() {
            errors::wrong_argument_value(cx, argument, key, "a value");
        }
        argument.value.clone()
    }

    /// Returns whether the flag `key` is set.
    pub(crate) fn flag(&self, cx: &mut Diagnostics, key: &str) -> bool {
        let Some(argument) = self.find(key) else { return false };
        if argument.value.is_some() {
            errors::wrong_argument_value(cx, argument, key, "no value");
        }
        true
    }

    /// Returns the value of `key = "30s"`.
    pub(crate) fn duration(&self, cx: &mut Diagnostics, key: &str) -> Option<Duration> {
        let literal = self.string(cx, key)?;
        let duration = duration(&literal.value());
        if duration.is_none() {
            errors::invalid_timeout(cx, &literal);
        }
        duration
    }

    fn find(&self, key: &str) -> Option<&Argument> {
        self.named
            .iter()
            .find(|argument| argument.key.as_ref().is_some_and(|written| written.unraw() == key))
    }
}

impl Parse for Argument {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let ahead = input.fork();
        if ahead.call(Ident::parse_any).is_ok() {
            if ahead.is_empty() || ahead.peek(Token![,]) {
                return Ok(Self { key: Some(input.call(Ident::parse_any)?), value: None });
            }
            if ahead.peek(Token![=]) && !ahead.peek(Token![==]) {
                let key = input.call(Ident::parse_any)?;
                input.parse::<Token![=]>()?;
                return Ok(Self { key: Some(key), value: Some(input.parse()?) });
            }
        }
        Ok(Self { key: None, value: Some(input.parse()?) })
    }
}

impl ToTokens for Argument {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.key.to_tokens(tokens);
        self.value.to_tokens(tokens);
    }
}

/// Returns the string literal of an expression, including one that a `macro_rules!` macro passed on.
pub(crate) fn string(expression: &Expr) -> Option<&LitStr> {
    match expression {
        Expr::Lit(ExprLit { lit: Lit::Str(literal), .. }) => Some(literal),
        Expr::Group(group) => string(&group.expr),
        _ => None,
    }
}

/// Parses `500ms`, `30s` or `2m`. Zero is invalid.
fn duration(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let number: u64 = digits.parse().ok().filter(|number| *number > 0)?;
    let milliseconds = match text.strip_prefix(digits)?.trim_start() {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        _ => return None,
    };
    number.checked_mul(milliseconds).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_has_a_unit() {
        assert_eq!(duration("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(duration("30 s"), Some(Duration::from_secs(30)));
        assert_eq!(duration("2m"), Some(Duration::from_secs(120)));
        for wrong in ["", "30", "0s", "s", "1h", "-1s", "1.5s", "99999999999999999999s"] {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
    }
}
