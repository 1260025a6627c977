//! Helpers of the expansion tests.

use proc_macro2::TokenStream;
use syn::visit_mut::VisitMut;
use syn::{Attribute, File};

/// Formats generated code, without the list of allowed lints.
pub(crate) fn pretty(tokens: TokenStream) -> String {
    let mut file: File = syn::parse2(tokens).expect("generated code is Rust");
    HideAllow.visit_file_mut(&mut file);
    prettyplease::unparse(&file)
}

/// Returns the part of `text` from the line that starts with `first` to the end of its block.
pub(crate) fn item(text: &str, first: &str) -> String {
    let mut lines =
        text.lines().skip_while(|line| !line.trim_start().starts_with(first)).peekable();
    let start = lines.peek().unwrap_or_else(|| panic!("no `{first}` in:\n{text}"));
    let indent = start.len() - start.trim_start().len();
    let mut item = String::new();
    for line in lines {
        item.push_str(line.get(indent..).unwrap_or_default());
        item.push('\n');
        let closes = line.trim_start().starts_with(['}', ')', ']']) || line.ends_with(';');
        if closes && line.len() - line.trim_start().len() == indent {
            break;
        }
    }
    assert!(item.lines().count() <= 40, "a snapshot has at most 40 lines:\n{item}");
    item
}

struct HideAllow;

impl VisitMut for HideAllow {
    fn visit_attributes_mut(&mut self, attributes: &mut Vec<Attribute>) {
        attributes.retain(|attribute| !attribute.path().is_ident("allow"));
    }
}
