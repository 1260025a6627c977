//! Where retrieval differs on purpose: all rules by which its cases are skipped.

use super::retrieval::{contents, translated};
use super::{Case, read};
use ai_services::prompt::PromptTemplate;
use ai_services::rag::RetrievedContent;
use serde_json::Value;

/// Why the case does not apply, if it does not.
pub(super) fn reason(case: &Case, op: &str) -> Option<&'static str> {
    match op {
        "rrf" | "aggregate" => fusion(case),
        "inject" => injection(case),
        _ => None,
    }
}

fn fusion(case: &Case) -> Option<&'static str> {
    let lists: Vec<Vec<RetrievedContent>> =
        lists(&case.input).filter_map(|list| contents(list).ok()).collect();
    if lists.iter().flatten().any(|content| content.segment.text().trim().is_empty()) {
        return Some("fusion: a blank text is a text");
    }
    // An error is one with duplicates as well.
    case.expected.get("fused")?;
    if counts_duplicates(case) {
        return Some("fusion: a duplicate within one list counts once");
    }
    let k = case.input.get("k").and_then(Value::as_i64).unwrap_or_default();
    let longest = lists.iter().map(Vec::len).max().unwrap_or_default();
    let largest = k.saturating_add(i64::try_from(longest).unwrap_or(i64::MAX));
    (largest > i64::from(i32::MAX)).then_some("fusion: `k` + rank does not overflow")
}

/// All lists of contents, of one query or of several.
fn lists(input: &Value) -> impl Iterator<Item = &Value> {
    groups(input).flatten()
}

/// The lists of each query.
fn groups(input: &Value) -> impl Iterator<Item = &Vec<Value>> {
    let queries = input.get("queries").and_then(Value::as_array).into_iter().flatten();
    let inputs = std::iter::once(input).chain(queries);
    inputs.filter_map(|input| input.get("lists")?.as_array())
}

/// Whether the order is another one if a content that a list has twice is worth twice as much.
fn counts_duplicates(case: &Case) -> bool {
    let k = case.input.get("k").and_then(Value::as_f64).unwrap_or(60.0);
    let fused = |duplicates| {
        let groups = groups(&case.input).map(|lists| {
            let lists = lists.iter().filter_map(|list| contents(list).ok());
            ranked(lists.collect(), k, duplicates)
        });
        let groups: Vec<_> = groups.collect();
        if case.input.get("queries").is_some() {
            ranked(groups, k, duplicates)
        } else {
            groups.concat()
        }
    };
    fused(Duplicates::Count) != fused(Duplicates::Ignored)
}

#[derive(Clone, Copy, PartialEq)]
enum Duplicates {
    Count,
    Ignored,
}

/// Reciprocal rank fusion, the plain way.
fn ranked(
    lists: Vec<Vec<RetrievedContent>>,
    k: f64,
    duplicates: Duplicates,
) -> Vec<RetrievedContent> {
    let mut all: Vec<(RetrievedContent, f64)> = Vec::new();
    for list in lists {
        let mut seen: Vec<RetrievedContent> = Vec::new();
        for content in list {
            let is_same = |other: &RetrievedContent| other.segment == content.segment;
            if duplicates == Duplicates::Ignored && seen.iter().any(is_same) {
                continue;
            }
            seen.push(content.clone());
            let share = 1.0 / (k + seen.len() as f64);
            match all.iter_mut().find(|(other, _)| is_same(other)) {
                Some((_, score)) => *score += share,
                None => all.push((content, share)),
            }
        }
    }
    all.sort_by(|one, other| other.1.total_cmp(&one.1));
    all.into_iter().map(|(content, _)| content).collect()
}

fn injection(case: &Case) -> Option<&'static str> {
    let has_contents = case.input.get("contents").is_some_and(|list| *list != Value::Array(vec![]));
    let has_parts = case.input.pointer("/message/contents").is_some();
    if has_contents && has_parts {
        return Some("inject: a message of several parts is no error");
    }
    let template: String = read(case.input.get("template")?).ok()?;
    let template = PromptTemplate::parse(&translated(&template)).ok()?;
    let has_others = template.variables().any(|name| !matches!(name, "contents" | "user_message"));
    (!has_contents && has_others).then_some("inject: a template is checked before it is used")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn skipped(input: Value) -> Option<&'static str> {
        let op = input["op"].as_str().unwrap().to_owned();
        reason(&Case { id: String::new(), input, expected: json!({"fused": []}) }, &op)
    }

    #[test]
    fn ordinary_cases_are_not_skipped() {
        for input in [
            json!({"op": "rrf", "lists": [["a", "b"], ["a"]], "k": 0}),
            json!({"op": "rrf", "lists": [["a", {"text": "a", "metadata": {"x": 1}}]], "k": 5}),
            json!({"op": "rrf", "lists": [["a", "a", "b"]]}),
            json!({"op": "aggregate", "queries": [{"text": "q", "lists": [["a"], ["a"]]}]}),
            json!({"op": "inject", "contents": ["a"], "message": {}, "template": "{{missing}}"}),
            json!({"op": "inject", "contents": [], "message": {"contents": ["a", "b"]}}),
        ] {
            assert_eq!(skipped(input.clone()), None, "{input}");
        }
    }

    #[test]
    fn deviating_cases_are_skipped() {
        for input in [
            json!({"op": "rrf", "lists": [["b", "a", {"text": "a"}]]}),
            json!({"op": "rrf", "lists": [["a"], ["b"]], "k": 2_147_483_647}),
            json!({"op": "rrf", "lists": [[" "]]}),
            json!({"op": "aggregate", "queries": [{"text": "q", "lists": [["b", "a", "a"]]}]}),
            json!({"op": "inject", "contents": [], "message": {}, "template": "{{missing}}"}),
            json!({"op": "inject", "contents": ["a"], "message": {"contents": ["a", "b"]}}),
        ] {
            assert!(skipped(input.clone()).is_some(), "{input}");
        }
    }
}
