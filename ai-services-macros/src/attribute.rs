//! The attributes of this crate among other attributes.

use crate::diagnostics::Diagnostics;
use crate::errors;
use crate::keyword::{self, Keyword, Place};
use crate::runtime_path::RuntimePath;
use syn::{Attribute, FnArg, Meta, Path, Signature};

/// An attribute of this crate.
pub(crate) type Helper<'a> = (Keyword, &'a Attribute);

/// The attributes of this crate on one item or parameter.
#[derive(Default)]
pub(crate) struct Helpers<'a> {
    pub(crate) found: Vec<Helper<'a>>,
    /// `true` if an attribute is wrong and was left out. Missing attributes are not reported then.
    pub(crate) incomplete: bool,
}

/// Returns the attributes of this crate. Misplaced, repeated and misspelled attributes are reported and left
/// out. `description` is the place for error messages.
pub(crate) fn helpers<'a>(
    cx: &mut Diagnostics,
    attributes: &'a [Attribute],
    allowed: &[Keyword],
    (place, description): (Place, &str),
) -> Helpers<'a> {
    let mut helpers = Helpers::default();
    for attribute in attributes {
        let Some(keyword) = Keyword::of(attribute) else {
            helpers.incomplete |= is_unknown(cx, attribute, place);
            continue;
        };
        let repeated = helpers.found.iter().any(|(other, _)| *other == keyword);
        if !allowed.contains(&keyword) {
            errors::misplaced_attribute(cx, attribute, keyword, description);
        } else if repeated {
            errors::repeated_attribute(cx, attribute, keyword);
        } else {
            helpers.found.push((keyword, attribute));
            continue;
        }
        helpers.incomplete = true;
    }
    helpers
}

/// Returns whether an attribute is unknown. Reports a misspelled one; rustc reports the others.
fn is_unknown(cx: &mut Diagnostics, attribute: &Attribute, place: Place) -> bool {
    if let Some(meant) = Keyword::meant_by(attribute, place) {
        errors::unknown_attribute(cx, attribute, meant);
        return true;
    }
    let name = attribute.path().get_ident();
    place == Place::Parameter && name.is_some_and(|name| !keyword::is_built_in(&name.to_string()))
}

/// Reports all attributes of this crate on a method and its parameters as misplaced.
pub(crate) fn reject_all(
    cx: &mut Diagnostics,
    attributes: &[Attribute],
    signature: &Signature,
    place: &str,
) {
    helpers(cx, attributes, &[], (Place::Item, place));
    for input in &signature.inputs {
        let place = format!("a parameter of {place}");
        helpers(cx, input_attributes(input), &[], (Place::Parameter, &place));
    }
}

/// Reports arguments of an attribute without arguments.
pub(crate) fn no_arguments(cx: &mut Diagnostics, (keyword, attribute): Helper<'_>) {
    if !matches!(attribute.meta, Meta::Path(_)) {
        errors::malformed_attribute(cx, attribute, keyword, None);
    }
}

/// Removes the attributes of this crate from a method and its parameters.
pub(crate) fn strip(attributes: &mut Vec<Attribute>, signature: &mut Signature) {
    strip_from(attributes, Place::Item);
    for input in &mut signature.inputs {
        let attributes = match input {
            FnArg::Receiver(receiver) => &mut receiver.attrs,
            FnArg::Typed(typed) => &mut typed.attrs,
        };
        strip_from(attributes, Place::Parameter);
    }
}

/// Removes the attributes of this crate, including misspelled ones, which were reported.
pub(crate) fn strip_from(attributes: &mut Vec<Attribute>, place: Place) {
    attributes.retain(|attribute| {
        Keyword::of(attribute).is_none() && Keyword::meant_by(attribute, place).is_none()
    });
}

/// Replaces `#[ai_services::tool]` by `#[tool]`. It is a macro too, so it may be written with its path.
pub(crate) fn unqualify(attributes: &mut [Attribute], runtime: &RuntimePath) {
    for attribute in attributes {
        let path = match &mut attribute.meta {
            Meta::Path(path) => path,
            Meta::List(list) => &mut list.path,
            Meta::NameValue(meta) => &mut meta.path,
        };
        let is_tool = |name: &syn::PathSegment| name.ident == Keyword::Tool.name();
        if let Some(tool) = path.segments.last().filter(|last| is_tool(last))
            && runtime.contains(path)
        {
            *path = Path::from(tool.clone());
        }
    }
}

/// Returns the `#[cfg]` attributes of an item, for the code that is generated from it.
pub(crate) fn conditions(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> + Clone {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"))
}

pub(crate) fn input_attributes(input: &FnArg) -> &[Attribute] {
    match input {
        FnArg::Receiver(receiver) => &receiver.attrs,
        FnArg::Typed(typed) => &typed.attrs,
    }
}
