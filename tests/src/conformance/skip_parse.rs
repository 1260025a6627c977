//! Deliberate differences in parsing: all rules by which a `parse` case is skipped.

#![allow(clippy::indexing_slicing, reason = "windows have two items")]

use super::Case;
use super::dates::Padded;
use chrono::NaiveDate;
use serde_json::{Deserializer, Value};

/// A rule and its reason.
type Rule = (fn(&Answer<'_>) -> bool, &'static str);

const RULES: &[Rule] = &[
    (is_null, "parse: there is no null value; an answer without a value is an error"),
    (is_ambiguous, "parse: of two blocks that differ, none is taken; there, the last one"),
    (has_unknown_members, "parse: members that the type does not have are ignored"),
    (is_found_elsewhere, "parse: JSON is found in a fence and in prose whatever the type"),
    (is_quoted, "parse: a JSON string stands for its text"),
    (is_date_of_parts, "parse: a date inside an object is a text, not an object of its parts"),
    (is_cut_to_an_integer, "parse: a fraction is not cut off to get an integer"),
    (is_no_text, "parse: in a list of texts, null and structures are not texts"),
    (has_bullets, "parse: marks of a list are not part of its items"),
    (is_number_of_java, "parse: Java's own spellings of numbers, and infinity, are not numbers"),
    (is_wrapped_date, "parse: dates have a schema, and are wrapped like other values"),
    (is_coerced, "parse: a number is not a boolean or a variant, and an empty text is not a value"),
];

/// Returns the reason if the case does not apply.
pub(super) fn reason(case: &Case) -> Option<&'static str> {
    let answer = Answer {
        kind: case.input.get("type").and_then(Value::as_str)?,
        text: case.input.get("text").and_then(Value::as_str).unwrap_or_default(),
        fails: case.expected.get("error").is_some_and(|error| !error.is_null()),
        value: case.expected.get("value"),
    };
    RULES.iter().find(|(rule, _)| rule(&answer)).map(|(_, reason)| *reason)
}

struct Answer<'a> {
    kind: &'a str,
    text: &'a str,
    /// Returns `true` if the reference rejects the text.
    fails: bool,
    /// Returns the result of the reference.
    value: Option<&'a Value>,
}

impl Answer<'_> {
    fn is(&self, kinds: &[&str]) -> bool {
        kinds.contains(&self.kind)
    }

    /// Returns the pieces of JSON in the text that start with this bracket, and their positions.
    fn blocks(&self, bracket: char) -> Vec<(usize, Value)> {
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(offset) = self.text[at..].find(bracket) {
            let start = at + offset;
            let mut values = Deserializer::from_str(&self.text[start..]).into_iter::<Value>();
            at = match values.next() {
                Some(Ok(value)) => {
                    found.push((start, value));
                    start + values.byte_offset()
                }
                _ => start + 1,
            };
        }
        found
    }

    fn objects(&self) -> Vec<Value> {
        self.blocks('{').into_iter().map(|(_, value)| value).collect()
    }
}

fn is_null(answer: &Answer<'_>) -> bool {
    answer.value.is_some_and(Value::is_null) && answer.kind != "void_"
}

fn is_ambiguous(answer: &Answer<'_>) -> bool {
    let objects = answer.objects();
    let differ = objects.windows(2).any(|pair| pair[0] != pair[1]);
    // The items of a list are not separate blocks.
    let is_list = answer.text.trim_start().starts_with('[') || answer.kind == "list_person";
    answer.is(&["person", "order", "map"]) && differ && !is_list
}

fn has_unknown_members(answer: &Answer<'_>) -> bool {
    let known: &[&str] = match answer.kind {
        "person" | "list_person" => &["name", "age", "active", "tags", "mood", "values"],
        "order" => &["id", "total", "address", "date", "count", "street", "city"],
        _ => return false,
    };
    answer.fails && answer.objects().iter().any(|object| has_other_keys(object, known))
}

fn has_other_keys(value: &Value, known: &[&str]) -> bool {
    match value {
        Value::Object(members) => members
            .iter()
            .any(|(key, value)| !known.contains(&key.as_str()) || has_other_keys(value, known)),
        Value::Array(items) => items.iter().any(|item| has_other_keys(item, known)),
        _ => false,
    }
}

/// Types whose values the reference searches in prose.
const OBJECTS: &[&str] = &["person", "order", "map"];

fn is_found_elsewhere(answer: &Answer<'_>) -> bool {
    let text = answer.text.trim();
    let is_whole = serde_json::from_str::<Value>(text).is_ok();
    let is_list = answer.kind.starts_with("list_") || answer.kind.starts_with("set_");
    let bracket = if is_list && !text.contains("\"values\"") { '[' } else { '{' };
    let has_json = !answer.blocks(bracket).is_empty() || text.contains("```");
    if answer.fails {
        return !answer.is(OBJECTS) && !is_whole && has_json;
    }
    // The reference takes each line of the text as an item.
    let is_of_texts = |(_, list): &(usize, Value)| {
        list.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(Value::is_string))
    };
    let has_items = text.contains("```") || answer.blocks('[').iter().any(is_of_texts);
    answer.is(&["list_string", "set_string"]) && !is_whole && has_items
}

fn is_quoted(answer: &Answer<'_>) -> bool {
    let is_string = serde_json::from_str::<String>(answer.text.trim()).is_ok();
    answer.fails && !answer.is(OBJECTS) && is_string
}

fn is_date_of_parts(answer: &Answer<'_>) -> bool {
    let objects = answer.objects();
    let dates: Vec<_> = objects.iter().filter_map(|object| object.get("date")).collect();
    let has_parts = dates.iter().any(|date| date.is_object() || date.is_array());
    let has_text = dates.iter().any(|date| is_date(date));
    answer.kind == "order" && if answer.fails { has_text } else { has_parts }
}

/// Returns `true` for a text such as `2024-05-06`.
fn is_date(value: &Value) -> bool {
    let date = value.as_str().and_then(|text| text.parse::<Padded<NaiveDate>>().ok());
    date.is_some()
}

fn is_cut_to_an_integer(answer: &Answer<'_>) -> bool {
    let values = answer.blocks(if answer.kind == "list_integer" { '[' } else { '{' });
    let names = ["age", "count", "values"];
    !answer.fails
        && answer.is(&["person", "order", "list_person", "list_integer"])
        && values
            .iter()
            .any(|(_, value)| has_fraction(value, answer.kind == "list_integer", &names))
}

/// Returns `true` if there is a number with a fraction in place of an integer.
fn has_fraction(value: &Value, is_wanted: bool, names: &[&str]) -> bool {
    match value {
        Value::Number(number) => {
            is_wanted && number.as_f64().is_some_and(|number| number.fract() != 0.0)
        }
        Value::Array(items) => items.iter().any(|item| has_fraction(item, is_wanted, names)),
        Value::Object(members) => {
            let mut members = members.iter();
            members.any(|(name, value)| has_fraction(value, names.contains(&name.as_str()), names))
        }
        _ => false,
    }
}

fn is_no_text(answer: &Answer<'_>) -> bool {
    let is_other = |item: &Value| item.is_null() || item.is_array() || item.is_object();
    let lists = answer.blocks('[');
    !answer.fails
        && answer.is(&["list_string", "set_string"])
        && lists.iter().filter_map(|(_, list)| list.as_array()).flatten().any(is_other)
}

fn has_bullets(answer: &Answer<'_>) -> bool {
    let mut lines = answer.text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_marked = |line: &str| {
        let line = line.trim_start_matches(|c: char| c.is_ascii_digit());
        ["- ", "* ", "• ", ". ", ") "].into_iter().any(|mark| line.starts_with(mark))
    };
    let is_list = answer.kind.starts_with("list_") || answer.kind.starts_with("set_");
    is_list && lines.clone().next().is_some() && lines.all(is_marked)
}

fn is_number_of_java(answer: &Answer<'_>) -> bool {
    let numbers = [
        "integer",
        "boxed_integer",
        "long_",
        "short_",
        "byte_",
        "double_",
        "float_",
        "big_decimal",
        "big_integer",
    ];
    let written = match serde_json::from_str(answer.text.trim()) {
        Ok(Value::Object(object)) => object.get("value").cloned().unwrap_or_default(),
        _ => Value::from(answer.text.trim()),
    };
    let Some(text) = written.as_str() else { return false };
    let is_float = answer.is(&["double_", "float_"]);
    let is_infinite = text.parse::<f64>().is_ok_and(|number| !number.is_finite())
        || text.parse::<f32>().is_ok_and(|number| answer.kind == "float_" && !number.is_finite());
    let has_letters = text.chars().any(|c| c.is_alphabetic() && !matches!(c, 'e' | 'E'));
    let is_spelled_so = !text.is_ascii() || (is_float && (has_letters || is_infinite));
    !answer.fails && answer.is(&numbers) && is_spelled_so
}

fn is_wrapped_date(answer: &Answer<'_>) -> bool {
    let is_wrapped = answer.objects().iter().any(|object| object.get("value").is_some());
    answer.fails && answer.is(&["date", "time", "date_time"]) && is_wrapped
}

fn is_coerced(answer: &Answer<'_>) -> bool {
    !answer.fails
        && answer.is(&["person", "order", "list_person"])
        && answer.objects().iter().any(has_coerced_member)
}

fn has_coerced_member(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_coerced_member),
        Value::Object(members) => members.iter().any(|(name, value)| match name.as_str() {
            "active" | "mood" => value.is_number() || value == "",
            "age" | "count" | "total" | "date" | "address" => value == "",
            _ => has_coerced_member(value),
        }),
        _ => false,
    }
}
