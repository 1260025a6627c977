//! The attributes of this crate among other attributes.

use crate::diagnostics::Diagnostics;
use crate::{errors, keyword};
use syn::{Attribute, FnArg, Meta, Signature};

/// An attribute of this crate with its name.
pub(crate) type Helper<'a> = (&'static str, &'a Attribute);

/// Returns the attributes of this crate on one item. Misplaced and repeated attributes are reported and left
/// out.
pub(crate) fn helpers<'a>(
    cx: &mut Diagnostics,
    attributes: &'a [Attribute],
    allowed: &[&str],
    place: &str,
) -> Vec<Helper<'a>> {
    let mut found: Vec<Helper<'a>> = Vec::new();
    for attribute in attributes {
        let Some(name) = keyword::helper(attribute) else { continue };
        if !allowed.contains(&name) {
            errors::misplaced_attribute(cx, attribute, name, place);
        } else if found.iter().any(|(other, _)| *other == name) {
            errors::repeated_attribute(cx, attribute, name);
        } else {
            found.push((name, attribute));
        }
    }
    found
}

/// Reports all attributes of this crate on a method and its parameters as misplaced.
pub(crate) fn reject_all(
    cx: &mut Diagnostics,
    attributes: &[Attribute],
    signature: &Signature,
    place: &str,
) {
    helpers(cx, attributes, &[], place);
    for input in &signature.inputs {
        helpers(cx, input_attributes(input), &[], &format!("a parameter of {place}"));
    }
}

/// Reports arguments of an attribute without arguments.
pub(crate) fn no_arguments(cx: &mut Diagnostics, (name, attribute): Helper<'_>) {
    if !matches!(attribute.meta, Meta::Path(_)) {
        errors::malformed_attribute(cx, attribute, name, None);
    }
}

/// Removes the attributes of this crate from a method and its parameters.
pub(crate) fn strip(attributes: &mut Vec<Attribute>, signature: &mut Signature) {
    strip_from(attributes);
    for input in &mut signature.inputs {
        strip_from(match input {
            FnArg::Receiver(receiver) => &mut receiver.attrs,
            FnArg::Typed(typed) => &mut typed.attrs,
        });
    }
}

pub(crate) fn strip_from(attributes: &mut Vec<Attribute>) {
    attributes.retain(|attribute| keyword::helper(attribute).is_none());
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
