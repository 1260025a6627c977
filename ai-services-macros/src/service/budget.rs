//! The attribute `#[budget]`.

use super::model::Budget;
use crate::arguments::{self, Arguments};
use crate::attribute::Helper;
use crate::diagnostics::Diagnostics;
use crate::{errors, keyword};
use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::{Expr, ExprLit, Lit};

/// Returns the limits of `#[budget(tokens = 50_000, …)]`.
pub(crate) fn limits(cx: &mut Diagnostics, (keyword, attribute): Helper<'_>) -> Budget {
    let keys = [
        keyword::MODEL_CALLS,
        keyword::TOOL_ROUNDS,
        keyword::TOOL_CALLS,
        keyword::TOKENS,
        keyword::COST,
        keyword::RUNNING_TIME,
        keyword::FINISH_WITHOUT_TOOLS,
    ];
    let arguments = Arguments::of(cx, attribute, keyword, &keys);
    arguments.no_values(cx, keyword);
    let mut limit = |key| positive(cx, &arguments, key, "a whole number, 1 or more", whole_number);
    let (model_calls, tool_rounds) = (limit(keyword::MODEL_CALLS), limit(keyword::TOOL_ROUNDS));
    let (tool_calls, tokens) = (limit(keyword::TOOL_CALLS), limit(keyword::TOKENS));
    let cost = positive(cx, &arguments, keyword::COST, "a number greater than 0", number);
    let time = "a number with a unit: `\"500ms\"`, `\"30s\"` or `\"2m\"`";
    let running_time = positive(cx, &arguments, keyword::RUNNING_TIME, time, |value| {
        arguments::duration(&arguments::string(value)?.value())
    });
    let finishes = arguments.flag(cx, keyword::FINISH_WITHOUT_TOOLS);
    let budget =
        Budget { model_calls, tool_rounds, tool_calls, tokens, cost, running_time, finishes };
    let has_keys = keys.iter().any(|key| arguments.key(key).is_some());
    if !has_keys && arguments.values.is_empty() && !arguments.broken {
        errors::empty_budget(cx, attribute);
    }
    budget
}

/// Returns the value of `key = value`, which `parse` accepts.
fn positive<T>(
    cx: &mut Diagnostics,
    arguments: &Arguments,
    key: &str,
    expected: &str,
    parse: impl Fn(&Expr) -> Option<T>,
) -> Option<T> {
    let value = arguments.expression(cx, key)?;
    let parsed = parse(&value);
    if parsed.is_none() {
        errors::invalid_limit(cx, &value, (key, expected));
    }
    parsed
}

fn whole_number(value: &Expr) -> Option<u64> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => {
            number.base10_parse().ok().filter(|number| *number > 0)
        }
        Expr::Group(group) => whole_number(&group.expr),
        _ => None,
    }
}

fn number(value: &Expr) -> Option<f64> {
    let value: f64 = match value {
        Expr::Lit(ExprLit { lit: Lit::Float(number), .. }) => number.base10_parse().ok()?,
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok()?,
        Expr::Group(group) => return number(&group.expr),
        _ => return None,
    };
    (value.is_finite() && value > 0.0).then_some(value)
}

// Output:
//     &[Budget::new().tool_rounds(5).tokens(50000).finish_without_tools()]
pub(crate) fn declared<'a>(budgets: impl IntoIterator<Item = &'a Budget>) -> TokenStream {
    let budgets = budgets.into_iter().filter(|budget| **budget != Budget::default());
    let budgets = budgets.map(constructor);
    quote!(&[#(#budgets),*])
}

fn constructor(budget: &Budget) -> TokenStream {
    let Budget { model_calls, tool_rounds, tool_calls, tokens, cost, running_time, finishes } =
        budget;
    let count = |number: &u64| Literal::u64_unsuffixed(*number);
    let model_calls = model_calls.as_ref().map(count).map(|it| quote!(.model_calls(#it)));
    let tool_rounds = tool_rounds.as_ref().map(count).map(|it| quote!(.tool_rounds(#it)));
    let tool_calls = tool_calls.as_ref().map(count).map(|it| quote!(.tool_calls(#it)));
    let tokens = tokens.as_ref().map(count).map(|it| quote!(.tokens(#it)));
    let cost = cost.map(Literal::f64_unsuffixed).map(|it| quote!(.cost(#it)));
    let running_time = running_time.map(|it| {
        let ms = Literal::u64_unsuffixed(u64::try_from(it.as_millis()).unwrap_or(u64::MAX));
        quote!(.running_time(::core::time::Duration::from_millis(#ms)))
    });
    let finish = finishes.then(|| quote!(.finish_without_tools()));
    quote! {
        __rt::Budget::new()
            #model_calls #tool_rounds #tool_calls #tokens #cost #running_time #finish
    }
}
