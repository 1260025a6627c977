//! Reads `#[p("description", default = value)]`.

use super::model::Parameter;
use crate::arguments::{Arguments, string};
use crate::diagnostics::Diagnostics;
use crate::doc::Description;
use crate::errors;
use crate::keyword::{self, Keyword};
use syn::Attribute;

pub(crate) fn read(cx: &mut Diagnostics, attribute: &Attribute, parameter: &mut Parameter<'_>) {
    let arguments = Arguments::of(cx, attribute, Keyword::P, &[keyword::DEFAULT]);
    match arguments.values.as_slice() {
        [] if arguments.broken || arguments.key(keyword::DEFAULT).is_some() => {}
        [value] if string(value).is_some() => {
            parameter.description = string(value).and_then(|text| Description::of(&text.value()));
        }
        _ => errors::malformed_attribute(cx, attribute, Keyword::P, None),
    }
    parameter.default = arguments.expression(cx, keyword::DEFAULT);
}
