//! The rules about `{{name}}`.

use super::model::{Method, Parameter, Service};
use crate::diagnostics::Diagnostics;
use crate::errors::{self, Known};
use crate::suggest;
use crate::template::{self, Spot, Template};
use std::collections::HashSet;

// A placeholder of a method's own template names a variable of that method.
pub(crate) fn own_are_known(cx: &mut Diagnostics, method: &Method<'_>) {
    if method.incomplete {
        return;
    }
    let place = format!("method `{}`", method.ident());
    for template in method.system.iter().chain(&method.user) {
        for (name, span) in template.placeholders() {
            if method.binding(name).is_none() {
                unknown(cx, &Spot::new(template, span), name, (&place, &[method]));
            }
        }
    }
}

// A placeholder of the trait's template names a variable of every method that inherits it. One that
// no method knows is a mistake in the template, one that some know is a mistake of the others.
pub(crate) fn inherited_are_known(cx: &mut Diagnostics, service: &Service<'_>) {
    let complete = || service.methods.iter().filter(|method| !method.incomplete);
    if let Some(template) = &service.system {
        let heirs: Vec<_> = complete().filter(|method| method.system.is_none()).collect();
        inherited_is_known(cx, service, template, &heirs);
    }
    if let Some(template) = &service.user {
        let heirs: Vec<_> = complete().filter(|method| method.inherits_user).collect();
        inherited_is_known(cx, service, template, &heirs);
    }
}

fn inherited_is_known(
    cx: &mut Diagnostics,
    service: &Service<'_>,
    template: &Template,
    heirs: &[&Method<'_>],
) {
    let mut seen = HashSet::new();
    for (name, span) in template.placeholders() {
        if !seen.insert(name) {
            continue;
        }
        let lacking: Vec<&Method<'_>> =
            heirs.iter().copied().filter(|method| method.binding(name).is_none()).collect();
        match lacking.as_slice() {
            [] => {}
            [only] if heirs.len() == 1 => {
                let place = format!("method `{}`", only.ident());
                unknown(cx, &Spot::new(template, span), name, (&place, heirs));
            }
            all if all.len() == heirs.len() => {
                let place = format!("any method of `{}`", service.item.ident);
                unknown(cx, &Spot::new(template, span), name, (&place, heirs));
            }
            some => {
                for method in some {
                    let service = &service.item.ident;
                    errors::unknown_inherited_placeholder(cx, method.ident(), name, service);
                }
            }
        }
    }
}

/// Reports a placeholder that none of the methods at `place` can fill.
fn unknown(
    cx: &mut Diagnostics,
    spot: &Spot<'_>,
    name: &str,
    (place, methods): (&str, &[&Method<'_>]),
) {
    if name == template::IT {
        errors::it_without_single_parameter(cx, spot, place);
        return;
    }
    let parameters = || methods.iter().flat_map(|method| &method.parameters);
    let mut variables: Vec<String> = parameters().filter_map(Parameter::variable_name).collect();
    variables.sort();
    variables.dedup();
    let variables: Vec<&str> = variables.iter().map(String::as_str).collect();
    let known = Known {
        similar: suggest::nearest(name, variables.iter().copied()),
        variables,
        not_a_variable: parameters().any(|parameter| parameter.name() == name),
    };
    errors::unknown_placeholder(cx, spot, name, place, &known);
}
