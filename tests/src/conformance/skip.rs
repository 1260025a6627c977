//! Deliberate differences: all rules by which a case is skipped.
//!
//! The tags of the cases say where a difference is likely (`regex_edge`, `java_tostring`,
//! `null_value`); the rules here say exactly where it is, so that all other cases run.

use super::{Case, skip_parse, skip_retrieval};
use ai_services::rag::RetrievedContent;
use serde_json::Value;

/// Returns the reason if the case does not apply.
pub(super) fn reason(case: &Case, op: &str) -> Option<&'static str> {
    match op {
        "parse" => return skip_parse::reason(case),
        "template" => {}
        _ => return skip_retrieval::reason(case, op),
    }
    let template = case.input.get("template").and_then(Value::as_str)?;
    let text = case.expected.get("text").and_then(Value::as_str).unwrap_or_default();
    if [template, text].into_iter().any(is_blank_in_one) {
        return Some(BLANKS);
    }
    grammar(template).or_else(|| printed(template, case))
}

/// Returns the answer of this project to a case that does not apply, if the rules determine it.
pub(super) fn own_answer(case: &Case, op: &str) -> Option<Vec<RetrievedContent>> {
    matches!(op, "rrf" | "aggregate").then(|| skip_retrieval::own_answer(case))
}

const BLANKS: &str = "template: blanks are those of Unicode, not those of Java";

fn is_blank_in_one(text: &str) -> bool {
    text.trim().is_empty() != text.chars().all(|c| c <= ' ')
}

/// The template grammar is stricter than the reference's regular expression.
fn grammar(template: &str) -> Option<&'static str> {
    if template.contains("{{{{") || template.contains("}}}}") {
        return Some("template: doubled double braces are literal braces");
    }
    for rest in template.split("{{").skip(1) {
        let Some((inside, _)) = rest.split_once("}}") else {
            return Some("template: a placeholder that is never closed is an error");
        };
        let name = inside.trim();
        if name.is_empty() {
            return Some("template: a placeholder without a name is an error");
        }
        if name.contains(['{', '}', '\n', '\r']) {
            return Some("template: a brace or a line break in a name is an error");
        }
        if inside.contains(is_blank_elsewhere) {
            return Some(BLANKS);
        }
    }
    None
}

fn is_blank_elsewhere(c: char) -> bool {
    let is_blank_in_both = matches!(c, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r');
    !is_blank_in_both && (c.is_whitespace() || c.is_control())
}

/// Values that have another text in Java: numbers with a fraction, lists and maps.
fn printed(template: &str, case: &Case) -> Option<&'static str> {
    let variables = case.input.get("variables").and_then(Value::as_object);
    let variables = variables.into_iter().flatten().map(|(name, value)| (name.as_str(), value));
    let values = variables.chain(case.input.get("value").map(|value| ("it", value)));
    let deviating = |value: &Value| value.is_f64() || value.is_array() || value.is_object();
    values
        .filter(|(name, _)| template.contains(*name))
        .any(|(_, value)| deviating(value))
        .then_some("template: fractions and collections are printed as Rust prints them")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_templates_are_not_skipped() {
        for template in ["", "a { b } }}", "{{x}} {{ y }}}", "{{\nx\n}}", "{{x y}}"] {
            assert_eq!(grammar(template), None, "{template}");
        }
    }

    #[test]
    fn deviating_templates_are_skipped() {
        let templates = [
            "{{{{x}}}}",
            "{{{x}}}",
            "{{}} {{x}}",
            "{{ }}",
            "{{x\ny}}",
            "{{x} }",
            "{{x",
            "{{\u{a0}x}}",
        ];
        for template in templates {
            assert!(grammar(template).is_some(), "{template}");
        }
    }
}
