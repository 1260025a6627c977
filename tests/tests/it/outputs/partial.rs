//! Partial values of incomplete answers.

use super::types::every_type;
use super::{answer, escaped};
use ai_services::output::{Growing, Output};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestRunner};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Debug;

const CASES: u32 = 24;

/// Adds a text character by character and returns all values.
fn partial_values<T: Output>(text: &str) -> Vec<T> {
    let mut growing = Growing::<T>::new(T::shape());
    let mut values = Vec::new();
    for character in text.chars() {
        growing.push(character.encode_utf8(&mut [0; 4]));
        values.extend(growing.value());
    }
    values
}

fn grows<T: Output + Serialize + PartialEq + Debug>(name: &str, values: impl Strategy<Value = T>) {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let checked = TestRunner::new(config).run(&values, |value| {
        let json = answer(&value).to_string();
        for text in [json.clone(), escaped(&json), format!("So:\n```json\n{json}\n```\nDone.")] {
            // A long text is read again only once it has grown by a 256th.
            let text = format!("{text}{}", " ".repeat(text.len() / 256 + 1));
            let values = partial_values::<T>(&text);
            assert_eq!(values.last(), Some(&value), "{name}: {text}");
            let values: Vec<Value> = values.iter().map(|value| json!(value)).collect();
            for pair in values.windows(2) {
                assert!(is_grown(&pair[0], &pair[1]), "{name}: {} became {}", pair[0], pair[1]);
            }
        }
        Ok(())
    });
    checked.unwrap_or_else(|error| panic!("{name}: {error}"));
}

/// Returns `true` if a partial value can grow to the other one.
fn is_grown(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Null | Value::Bool(false), _) => true,
        (Value::Number(number), _) if number.as_f64() == Some(0.0) => true,
        (Value::String(old), Value::String(new)) => new.starts_with(old.as_str()),
        (Value::Array(old), Value::Array(new)) => {
            old.len() <= new.len() && old.iter().zip(new).all(|(old, new)| is_grown(old, new))
        }
        (Value::Object(old), Value::Object(new)) => {
            old.iter().all(|(name, old)| new.get(name).is_some_and(|new| is_grown(old, new)))
        }
        (old, new) => old == new,
    }
}

#[test]
fn partial_values_grow_to_the_complete_value() {
    every_type!(grows);
}

#[test]
fn partial_values_are_deterministic() {
    let text = r#"{"values":[{"firstName":"A","age":36,"e-mail":null},{"firstName":"B\u00e4"#;
    let values = partial_values::<Vec<super::types::Person>>(text);
    assert_eq!(values, partial_values::<Vec<super::types::Person>>(text));
    assert_eq!(values.last().unwrap().len(), 2);
}

#[test]
fn partial_values_contain_the_defaults_of_the_type() {
    let values = partial_values::<super::types::Defaults>(r#"{"tags":["a","b"#);
    let first = json!(values[0]);
    assert_eq!((&first["count"], &first["tags"]), (&json!(7), &json!([])));
    assert_eq!(json!(values.last().unwrap())["tags"], json!(["a", "b"]));
}
