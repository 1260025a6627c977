use super::*;
use crate::diagnostics::Diagnostics;
use crate::keyword::Keyword;
use syn::{Attribute, parse_quote};

fn read(attribute: &Attribute) -> (Template, Vec<String>) {
    let mut cx = Diagnostics::new();
    let template = parse(&mut cx, (Keyword::UserMessage, attribute));
    let messages = cx.messages().into_iter().map(str::to_owned).collect();
    (template, messages)
}

#[test]
fn lines_are_joined_by_the_delimiter() {
    let (template, _) = read(&parse_quote!(#[user_message("a", "b")]));
    assert_eq!(template.text, "a\nb");
    let (template, _) = read(&parse_quote!(#[user_message("a", "b", delimiter = "; ")]));
    assert_eq!(template.text, "a; b");
}

#[test]
fn placeholders_have_spans() {
    let (template, _) = read(&parse_quote!(#[user_message("Hi {{ name }}, {{it}}!")]));
    let found: Vec<_> = template.placeholders().collect();
    assert_eq!(found, [("name", 3..13), ("it", 15..21)]);
}

#[test]
fn mistake_is_reported_with_its_line() {
    let (_, messages) = read(&parse_quote!(#[user_message("first", "a\nb {{}}")]));
    assert_eq!(
        messages,
        [
            "a placeholder has no name\n    b {{}}\n      ^^^^\nnote: the mistake is on line 2 of this template\n\
          help: write `{{name}}`, or `{{{{` and `}}}}` to print double braces"
        ]
    );
}

#[test]
fn invalid_template_is_incomplete() {
    let (template, messages) = read(&parse_quote!(#[user_message(concat!("a"), "b")]));
    assert!(!template.is_complete);
    assert_eq!(messages.len(), 1);
}
