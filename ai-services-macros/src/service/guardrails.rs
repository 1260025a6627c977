//! The attributes `#[input_guardrails]`, `#[output_guardrails]` and `#[moderate]`.

use super::model::{Guardrails, Method, Moderation, Service};
use crate::arguments::Arguments;
use crate::attribute::Helper;
use crate::diagnostics::Diagnostics;
use crate::{errors, keyword, ty};
use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::{Expr, ExprLit, Lit};

/// Returns the guardrails of an attribute.
pub(crate) fn input(cx: &mut Diagnostics, helper: Helper<'_>) -> Vec<Expr> {
    list(cx, helper, &[]).values
}

/// Returns the guardrails of an attribute, and the maximum number of retries.
pub(crate) fn output(cx: &mut Diagnostics, helper: Helper<'_>) -> (Vec<Expr>, Option<usize>) {
    let arguments = list(cx, helper, &[keyword::MAX_RETRIES]);
    let retries = arguments.expression(cx, keyword::MAX_RETRIES);
    let retries = retries.and_then(|expression| {
        let number = number(&expression);
        if number.is_none() {
            errors::invalid_max_retries(cx, &expression);
        }
        number
    });
    (arguments.values, retries)
}

fn list(cx: &mut Diagnostics, (keyword, attribute): Helper<'_>, keys: &[&str]) -> Arguments {
    let arguments = Arguments::of(cx, attribute, keyword, keys);
    if arguments.values.is_empty() && !arguments.broken {
        errors::empty_guardrails(cx, attribute, keyword);
    }
    arguments
}

fn number(expression: &Expr) -> Option<usize> {
    match expression {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
        Expr::Group(group) => number(&group.expr),
        _ => None,
    }
}

/// Returns the moderated texts: `#[moderate]` is short for `#[moderate(message)]`.
pub(crate) fn moderation(cx: &mut Diagnostics, (keyword, attribute): Helper<'_>) -> Moderation {
    let keys = [keyword::MESSAGE, keyword::ANSWER];
    let arguments = Arguments::of(cx, attribute, keyword, &keys);
    arguments.no_values(cx, keyword);
    let answer = arguments.flag(cx, keyword::ANSWER);
    let message = arguments.flag(cx, keyword::MESSAGE) || !answer;
    Moderation { message, answer }
}

// Output:
//     DeclaredGuardrails { input: Some(|| guardrails([input_guardrail(a), …])), output: None, max_retries: None }
pub(crate) fn declared(guardrails: &Guardrails) -> TokenStream {
    if guardrails.is_empty() {
        return quote!(__rt::DeclaredGuardrails::NONE);
    }
    let factory = |expressions: &[Expr], function: &str| {
        let calls = constructor_calls(expressions, function);
        ty::option((!expressions.is_empty()).then(|| quote!(|| __rt::guardrails([#(#calls),*]))))
    };
    let input = factory(&guardrails.input, "input_guardrail");
    let output = factory(&guardrails.output, "output_guardrail");
    let retries = ty::option(guardrails.max_retries.map(|number| {
        let number = proc_macro2::Literal::usize_unsuffixed(number);
        quote!(#number)
    }));
    quote! {
        __rt::DeclaredGuardrails { input: #input, output: #output, max_retries: #retries }
    }
}

/// Returns the constant with the guardrails of the trait, if it has guardrails.
pub(crate) fn of_the_trait(service: &Service<'_>) -> Option<TokenStream> {
    let declared = declared(&service.guardrails);
    (!service.guardrails.is_empty())
        .then(|| quote!(const GUARDRAILS: __rt::DeclaredGuardrails = #declared;))
}

/// Returns the guardrails of a method as statements, so that rustc checks their types besides other mistakes.
pub(crate) fn checks(method: &Method<'_>) -> impl Iterator<Item = TokenStream> + use<> {
    let input = constructor_calls(&method.guardrails.input, "input_guardrail");
    let output = constructor_calls(&method.guardrails.output, "output_guardrail");
    input.into_iter().chain(output).map(|call| quote!(let _ = #call;))
}

/// Returns `input_guardrail(expression)`; errors about the type are reported at the expression.
fn constructor_calls(expressions: &[Expr], function: &str) -> Vec<TokenStream> {
    let calls = expressions.iter().map(|expression| {
        let (first, _) = ty::ends(expression);
        let function = format_ident!("{function}");
        quote_spanned!(first=> __rt::#function(#expression))
    });
    calls.collect()
}
