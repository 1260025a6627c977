//! Deliberate differences in retrieval: all rules by which its cases are skipped.

use super::retrieval::{contents, translated};
use super::{Case, read};
use ai_services::prompt::PromptTemplate;
use ai_services::rag::RetrievedContent;
use serde_json::Value;

/// Returns the reason if the case does not apply.
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
    // An error remains an error with duplicates.
    let expected = contents(case.expected.get("fused")?).ok()?;
    let here = own_answer(case);
    let there = replayed(case, Duplicates::Count, Ranks::Overflow);
    if here == expected || there != expected {
        return None;
    }
    Some(match replayed(case, Duplicates::AreIgnored, Ranks::Overflow) == expected {
        true => "fusion: `k` + rank does not overflow",
        false => "fusion: a duplicate within one list counts once",
    })
}

/// Returns the fusion by the rules of this project.
pub(super) fn own_answer(case: &Case) -> Vec<RetrievedContent> {
    replayed(case, Duplicates::AreIgnored, Ranks::AreExact)
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

/// Returns the result of a case by these rules.
fn replayed(case: &Case, duplicates: Duplicates, ranks: Ranks) -> Vec<RetrievedContent> {
    let k = case.input.get("k").and_then(Value::as_i64).unwrap_or(60);
    let ranked = |lists| ranked(lists, k, duplicates, ranks);
    let groups = groups(&case.input).map(|lists| {
        let lists = lists.iter().filter_map(|list| contents(list).ok());
        ranked(lists.collect())
    });
    let groups: Vec<_> = groups.collect();
    match case.input.get("queries") {
        Some(_) => ranked(groups),
        None => groups.concat(),
    }
}

/// Treatment of a content that a list contains twice.
#[derive(Clone, Copy, PartialEq)]
enum Duplicates {
    Count,
    AreIgnored,
}

/// Integer width of the sum of `k` and the rank.
#[derive(Clone, Copy, PartialEq)]
enum Ranks {
    /// In 32 bits.
    Overflow,
    AreExact,
}

/// Plain reciprocal rank fusion.
fn ranked(
    lists: Vec<Vec<RetrievedContent>>,
    k: i64,
    duplicates: Duplicates,
    ranks: Ranks,
) -> Vec<RetrievedContent> {
    let mut all: Vec<(RetrievedContent, f64)> = Vec::new();
    for list in lists {
        let mut seen: Vec<RetrievedContent> = Vec::new();
        for content in list {
            let is_same = |other: &RetrievedContent| other.segment == content.segment;
            if duplicates == Duplicates::AreIgnored && seen.iter().any(is_same) {
                continue;
            }
            seen.push(content.clone());
            let sum = k + seen.len() as i64;
            let sum = if ranks == Ranks::Overflow { i64::from(sum as i32) } else { sum };
            let share = 1.0 / sum as f64;
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
    let is_error = case.expected.get("error").is_some();
    if has_contents && has_parts && is_error {
        return Some("inject: a message of several parts is not an error");
    }
    let template: String = read(case.input.get("template")?).ok()?;
    let template = PromptTemplate::parse(&translated(&template)).ok()?;
    let has_others = template.variables().any(|name| !matches!(name, "contents" | "user_message"));
    (!has_contents && has_others && !is_error)
        .then_some("inject: a template is checked before it is used")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn skipped(input: &Value, expected: &Value) -> Option<&'static str> {
        let op = input["op"].as_str().unwrap();
        let (input, expected) = (input.clone(), expected.clone());
        reason(&Case { id: String::new(), input, expected }, op)
    }

    #[test]
    fn cases_without_a_difference_are_not_skipped() {
        let message = json!({"message": {"type": "user", "text": "x"}});
        for (input, expected) in [
            (json!({"op": "rrf", "lists": [["a", "b"], ["a"]], "k": 0}), json!({"error": "k"})),
            (
                json!({"op": "rrf", "lists": [["a", {"text": "a", "metadata": {"x": 1}}]], "k": 5}),
                json!({"fused": ["a", {"text": "a", "metadata": {"x": 1}}]}),
            ),
            (json!({"op": "rrf", "lists": [["a", "a", "b"]]}), json!({"fused": ["a", "b"]})),
            (
                json!({"op": "rrf", "lists": [["a", "b"], ["c"]], "k": 2_147_483_647}),
                json!({"fused": ["a", "c", "b"]}),
            ),
            (
                json!({"op": "aggregate", "queries": [{"text": "q", "lists": [["a"], ["a"]]}]}),
                json!({"fused": ["a"]}),
            ),
            // Results that the reference cannot produce are not skipped.
            (json!({"op": "rrf", "lists": [["b", "a", "a"]]}), json!({"fused": ["b", "a", "c"]})),
            (
                json!({"op": "inject", "contents": ["a"], "message": {}, "template": "{{missing}}"}),
                json!({"error": "missing"}),
            ),
            (
                json!({"op": "inject", "contents": [], "message": {"contents": ["a", "b"]}}),
                message.clone(),
            ),
            (json!({"op": "inject", "contents": ["a"], "message": {"contents": ["a"]}}), message),
        ] {
            assert_eq!(skipped(&input, &expected), None, "{input}");
        }
    }

    #[test]
    fn deviating_cases_are_skipped() {
        let error = json!({"error": "not one text"});
        for (input, expected) in [
            (
                json!({"op": "rrf", "lists": [["b", "a", {"text": "a"}]]}),
                json!({"fused": ["a", "b"]}),
            ),
            (
                json!({"op": "rrf", "lists": [["a", "b"], ["b"]], "k": 2_147_483_647}),
                json!({"fused": ["a", "b"]}),
            ),
            (json!({"op": "rrf", "lists": [[" "]]}), error.clone()),
            (
                json!({"op": "aggregate", "queries": [{"text": "q", "lists": [["b", "a", "a"]]}]}),
                json!({"fused": ["a", "b"]}),
            ),
            (
                json!({"op": "inject", "contents": [], "message": {}, "template": "{{missing}}"}),
                json!({"message": {}}),
            ),
            (
                json!({"op": "inject", "contents": ["a"], "message": {"contents": ["a", "b"]}}),
                error,
            ),
        ] {
            assert!(skipped(&input, &expected).is_some(), "{input}");
        }
    }
}
