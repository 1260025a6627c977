//! The arguments of an attribute: `"text", key = value, flag`.

use crate::diagnostics::Diagnostics;
use crate::keyword::{self, Keyword};
use crate::{errors, suggest};
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
        keyword: Keyword,
        keys: &[&str],
    ) -> Self {
        match &attribute.meta {
            Meta::Path(_) => Self::default(),
            Meta::List(list) => Self::parse(cx, list.tokens.clone(), keyword, keys),
            Meta::NameValue(_) => {
                errors::malformed_attribute(cx, attribute, keyword, None);
                Self::broken()
            }
        }
    }

    /// Reads the arguments of an attribute with these `keys`.
    pub(crate) fn parse(
        cx: &mut Diagnostics,
        tokens: TokenStream,
        keyword: Keyword,
        keys: &[&str],
    ) -> Self {
        let list = Punctuated::<Argument, Token![,]>::parse_terminated;
        match list.parse2(tokens) {
            Ok(list) => Self::sort(cx, list, keyword, keys),
            Err(error) => {
                let at = error.to_compile_error();
                errors::malformed_attribute(cx, &at, keyword, Some(&error.to_string()));
                Self::broken()
            }
        }
    }

    fn sort(
        cx: &mut Diagnostics,
        list: Punctuated<Argument, Token![,]>,
        keyword: Keyword,
        keys: &[&str],
    ) -> Self {
        let mut sorted = Self::default();
        for argument in list {
            let Some(key) = &argument.key else {
                sorted.values.extend(argument.value);
                continue;
            };
            let text = key.unraw().to_string();
            if keys.contains(&text.as_str()) {
                if sorted.find(&text).is_some() {
                    errors::repeated_argument(cx, key, keyword);
                } else {
                    sorted.named.push(argument);
                }
            } else if argument.value.is_none() && keyword.takes_names() {
                sorted.values.push(parse_quote!(#key));
            } else {
                let similar = suggest::nearest(&text, keys.iter().copied());
                errors::unknown_argument(cx, key, keyword, keys, similar);
                sorted.broken = true;
            }
        }
        sorted
    }

    fn broken() -> Self {
        Self { broken: true, ..Self::default() }
    }

    /// Reports values without a key, for attributes without values.
    pub(crate) fn no_values(&self, cx: &mut Diagnostics, keyword: Keyword) {
        if let Some(value) = self.values.first() {
            errors::malformed_attribute(cx, value, keyword, None);
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
            let correct = argument.quoted().map(|text| format!("{key} = \"{text}\""));
            errors::wrong_argument_value(cx, argument, (key, "a string literal"), correct);
        }
        literal.cloned()
    }

    /// Returns the name in `key = name`, where the quotes are missing.
    pub(crate) fn unquoted(&self, key: &str) -> Option<&Ident> {
        match &self.find(key)?.value {
            Some(Expr::Path(path)) => path.path.get_ident(),
            _ => None,
        }
    }

    /// Returns the value of `crate = path`.
    pub(crate) fn runtime(&self, cx: &mut Diagnostics) -> Option<Path> {
        self.path(cx, keyword::CRATE)
    }

    /// Returns the value of `key = path`.
    pub(crate) fn path(&self, cx: &mut Diagnostics, key: &str) -> Option<Path> {
        let argument = self.find(key)?;
        if let Some(Expr::Path(path)) = &argument.value
            && path.qself.is_none()
        {
            return Some(path.path.clone());
        }
        let text = argument.value.as_ref().and_then(string).map(LitStr::value);
        let path = text.filter(|text| syn::parse_str::<Path>(text).is_ok());
        let correct = path.map(|path| format!("{key} = {path}"));
        errors::wrong_argument_value(cx, argument, (key, "a path"), correct);
        None
    }

    /// Returns the value of `key = expression`.
    pub(crate) fn expression(&self, cx: &mut Diagnostics, key: &str) -> Option<Expr> {
        let argument = self.find(key)?;
        if argument.value.is_none() {
            let correct = Some(format!("{key} = ..."));
            errors::wrong_argument_value(cx, argument, (key, "a value"), correct);
        }
        argument.value.clone()
    }

    /// Returns whether the flag `key` is set.
    pub(crate) fn flag(&self, cx: &mut Diagnostics, key: &str) -> bool {
        let Some(argument) = self.find(key) else { return false };
        if argument.value.is_some() {
            let correct = Some(key.to_owned());
            errors::wrong_argument_value(cx, argument, (key, "no value"), correct);
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

impl Argument {
    /// Returns the text that was probably meant by a value without quotes.
    fn quoted(&self) -> Option<String> {
        let is_timeout = self.key.as_ref().is_some_and(|key| key == keyword::TIMEOUT);
        match &self.value {
            None => Some("...".to_owned()),
            Some(Expr::Path(path)) => path.path.get_ident().map(Ident::to_string),
            Some(Expr::Lit(ExprLit { lit: Lit::Int(number), .. })) if is_timeout => {
                Some(format!("{}s", number.base10_digits()))
            }
            Some(_) => None,
        }
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

/// Returns a note about a name where the quotes are missing.
pub(crate) fn missing_quotes(value: &Expr) -> Option<String> {
    let Expr::Path(name) = value else { return None };
    Some(format!("the name is a string literal: `\"{}\"`", name.to_token_stream()))
}

/// Parses `500ms`, `30s` or `2m`. Zero is invalid.
pub(crate) fn duration(text: &str) -> Option<Duration> {
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
