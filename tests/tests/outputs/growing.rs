//! Values of answers that are being written.

use crate::types::every_type;
use crate::{answer, escaped};
use ai_services::output::{Growing, Output};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestRunner};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Debug;

const CASES: u32 = 24;

/// Feeds a text by the character; the values that it shows.
fn shown<T: Output>(text: &str) -> Vec<T> {
    let mut growing = Growing::<T>::new(T::shape());
    let mut shown = Vec::new();
    for character in text.chars() {
        growing.push(character.encode_utf8(&mut [0; 4]));
        shown.extend(growing.value());
    }
    shown
}

fn grows<T: Output + Serialize + PartialEq + Debug>(name: &str, values: impl Strategy<Value = T>) {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let checked = TestRunner::new(config).run(&values, |value| {
        let json = answer(&value).to_string();
        for text in [json.clone(), escaped(&json), format!("So:\n```json\n{json}\n```\nDone.")] {
            let shown = shown::<T>(&text);
            assert_eq!(shown.last(), Some(&value), "{name}: {text}");
            let shown: Vec<Value> = shown.iter().map(|value| json!(value)).collect();
            for pair in shown.windows(2) {
                assert!(is_grown(&pair[0], &pair[1]), "{name}: {} became {}", pair[0], pair[1]);
            }
        }
        Ok(())
    });
    checked.unwrap_or_else(|error| panic!("{name}: {error}"));
}

/// Whether a value may have become the other one.
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
fn every_beginning_is_a_smaller_value_or_none() {
    every_type!(grows);
}

#[test]
fn same_beginnings_show_the_same_values() {
    let text = r#"{"values":[{"firstName":"A","age":36,"e-mail":null},{"firstName":"B\u00e4"#;
    let values = shown::<Vec<crate::types::Person>>(text);
    assert_eq!(values, shown::<Vec<crate::types::Person>>(text));
    assert_eq!(values.last().unwrap().len(), 2);
}

#[test]
fn streamed_defaults_are_those_of_the_type() {
    let values = shown::<crate::types::Defaults>(r#"{"tags":["a","b"#);
    let first = json!(values[0]);
    assert_eq!((&first["count"], &first["tags"]), (&json!(7), &json!([])));
    assert_eq!(json!(values.last().unwrap())["tags"], json!(["a", "b"]));
}
