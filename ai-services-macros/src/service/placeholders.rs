//! The rules for `{{name}}`.

use super::model::{Method, Parameter, Service};
use crate::diagnostics::Diagnostics;
use crate::errors::{self, KnownNames};
use crate::suggest;
use crate::template::{self, Template, TemplateLocation};
use std::collections::HashSet;

// A placeholder in the template of a method names a variable of that method.
pub(crate) fn own_are_known(cx: &mut Diagnostics, method: &Method<'_>) {
    if method.incomplete {
        return;
    }
    let place = format!("method `{}`", method.ident());
    for template in method.system.iter().chain(&method.user) {
        for (name, span) in template.placeholders() {
            if method.lacks(name) {
                unknown(cx, &TemplateLocation::new(template, span), name, (&place, &[method]));
            }
        }
    }
}

// A placeholder in the template of the trait names a variable of every method that inherits the template. If
// no method has the variable, the template is wrong; if some methods have it, the other methods are wrong.
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
            heirs.iter().copied().filter(|method| method.lacks(name)).collect();
        match lacking.as_slice() {
            [] => {}
            [only] if heirs.len() == 1 => {
                let place = format!("method `{}`", only.ident());
                unknown(cx, &TemplateLocation::new(template, span), name, (&place, heirs));
            }
            all if all.len() == heirs.len() => {
                let place = format!("any method of `{}`", service.item.ident);
                unknown(cx, &TemplateLocation::new(template, span), name, (&place, heirs));
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

/// Returns whether a mistake in a template is probably the use of a variable: an unreadable part contains the
/// name, or an unknown placeholder is similar to no other variable.
pub(crate) fn may_use(service: &Service<'_>, method: &Method<'_>, variable: &str) -> bool {
    let variables: Vec<String> =
        method.parameters.iter().filter_map(Parameter::variable_name).collect();
    let mut unknown = method.unknown_placeholders();
    service.templates(method).any(|template| template.may_contain(variable))
        || unknown.any(|name| {
            suggest::nearest(name, variables.iter().map(String::as_str))
                .is_none_or(|similar| similar == variable)
        })
}

/// Reports a placeholder that is not a variable of any method at `place`.
fn unknown(
    cx: &mut Diagnostics,
    location: &TemplateLocation<'_>,
    name: &str,
    (place, methods): (&str, &[&Method<'_>]),
) {
    if name == template::IT {
        errors::it_without_single_parameter(cx, location, place);
        return;
    }
    let parameters = || methods.iter().flat_map(|method| &method.parameters);
    let mut variables: Vec<String> = parameters().filter_map(Parameter::variable_name).collect();
    variables.sort();
    variables.dedup();
    let variables: Vec<&str> = variables.iter().map(String::as_str).collect();
    let known = KnownNames {
        similar: suggest::nearest(name, variables.iter().copied()),
        variables,
        not_a_variable: parameters().any(|parameter| parameter.name() == name),
    };
    errors::unknown_placeholder(cx, location, name, place, &known);
}
