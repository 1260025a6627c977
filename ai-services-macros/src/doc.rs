//! Conversion of doc comments to descriptions.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// Returns the text of the doc comments among `attributes`, without the common indentation.
pub(crate) fn description(attributes: &[Attribute]) -> Option<String> {
    let lines: Vec<String> = attributes.iter().filter_map(text).collect();
    let text = lines.join("\n");
    let text = text.trim();
    (!text.is_empty()).then(|| dedent(text))
}

pub(crate) fn is_doc(attribute: &Attribute) -> bool {
    attribute.path().is_ident("doc")
}

fn text(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(meta) = &attribute.meta else { return None };
    match &meta.value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if is_doc(attribute) => Some(text.value()),
        _ => None,
    }
}

/// Removes the single space after `///`, and trailing white space. Deeper indentation is content.
fn dedent(text: &str) -> String {
    let lines = text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end());
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn doc_comment_is_the_description() {
        let item: syn::ItemFn = parse_quote! {
            /// Cancels a booking.
            ///
            /// - only once
            ///   per booking
            #[inline]
            fn f() {}
        };
        let expected = "Cancels a booking.\n\n- only once\n  per booking";
        assert_eq!(description(&item.attrs).as_deref(), Some(expected));
    }

    #[test]
    fn blank_doc_comment_is_not_a_description() {
        let item: syn::ItemFn = parse_quote! {
            ///
            fn f() {}
        };
        assert_eq!(description(&item.attrs), None);
    }
}
