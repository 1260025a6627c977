//! Values that match the schema are read, whatever text is around them.

use super::instance::{Dice, instance};
use super::types::every_type;
use super::{answer, escaped, read, schema, schema_of};
use ai_services::output::{Growing, Output};
use proptest::prop_oneof;
use proptest::strategy::{Just, Strategy};
use proptest::test_runner::{Config, TestRunner};
use serde::Serialize;
use std::fmt::Debug;

const CASES: u32 = 48;

fn reads_back<T: Output + Serialize + PartialEq + Debug>(
    name: &str,
    values: impl Strategy<Value = T>,
) {
    let schema = schema_of::<T>();
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let checked = TestRunner::new(config).run(&values, |value| {
        let json = answer(&value);
        if let Err(error) = schema::check(&schema, &json, &schema) {
            panic!("{name}: {error}");
        }
        let (short, long) = (json.to_string(), serde_json::to_string_pretty(&json).unwrap());
        for text in [
            short.clone(),
            escaped(&short),
            format!("\u{feff}{long}\n"),
            format!("```json\n{long}\n```"),
            format!("Here you are:\n\n```\n{short}\n```\nAnything else?"),
            format!("The answer (see [1]) is: {short}. {{Really}}!"),
            short.trim_end_matches('}').to_owned()
                + &",}".repeat(short.len() - short.trim_end_matches('}').len()),
        ] {
            match read::<T>(&text) {
                Ok(read) => assert_eq!(read, value, "{name}: {text}"),
                // A comma in an empty object is not accepted.
                Err(_) if text.contains("{,") => {}
                Err(error) => panic!("{name}: {text}: {error}"),
            }
        }
        Ok(())
    });
    checked.unwrap_or_else(|error| panic!("{name}: {error}"));
}

fn instances_parse<T: Output>(name: &str, _: impl Strategy<Value = T>) {
    let schema = schema_of::<T>();
    for seed in 1..=200u64 {
        let value = instance(&schema, &schema, &mut Dice::new(seed * 0x9E37_79B9), 0);
        schema::check(&schema, &value, &schema).unwrap_or_else(|error| panic!("{name}: {error}"));
        if let Err(error) = read::<T>(&value.to_string()) {
            panic!("{name}: {value}: {error}\n{schema}");
        }
    }
}

#[test]
fn values_match_their_schema_and_are_read_back() {
    every_type!(reads_back);
}

#[test]
fn values_that_match_the_schema_are_read() {
    every_type!(instances_parse);
}

#[test]
fn sets_and_defaults_are_read_back() {
    reads_back("HashSet<String>", super::types::texts());
    reads_back("BTreeSet<i16>", super::types::sorted());
    reads_back("Defaults", super::types::defaults());
    instances_parse("HashSet<String>", super::types::texts());
    instances_parse("Defaults", super::types::defaults());
}

fn garbage_does_not_panic<T: Output>(name: &str, _: impl Strategy<Value = T>) {
    let piece = prop_oneof![
        r#"[\\"\[\]{}`,: \n0-9eE.+-]{1,4}"#,
        Just("{\"value\":".to_owned()),
        Just("{\"values\":[".to_owned()),
        Just("```json\n".to_owned()),
        Just("\\ud83d".to_owned()),
        Just("true".to_owned()),
        Just("\u{feff}ß".to_owned()),
    ];
    let texts = proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat());
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let checked = TestRunner::new(config).run(&texts, |text| {
        let read = read::<T>(&text);
        let mut growing = Growing::<T>::new(T::shape());
        growing.push(&text);
        let _ = (read, growing.value());
        Ok(())
    });
    checked.unwrap_or_else(|error| panic!("{name}: {error}"));
}

#[test]
fn garbage_is_read_or_rejected() {
    every_type!(garbage_does_not_panic);
}
