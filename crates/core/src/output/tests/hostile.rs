//! Tests of malicious and extreme answers.

use super::*;
use crate::output::steps;

const SIZE: usize = 10_000_000;

/// Asserts that a text of repeated pieces is rejected in linear time.
fn fails_in_linear_time<T: Output>(start: &str, piece: &str, size: usize) {
    steps::assert_linear(piece, size, |size| {
        let text = format!("{start}{}", piece.repeat(size / piece.len()));
        assert!(read::<T>(&text).is_err());
    });
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    for opening in ["[", "{\"children\":[", "{\"a\":", "[[{\"values\":"] {
        fails_in_linear_time::<Tree>("", opening, SIZE);
        fails_in_linear_time::<Vec<Tree>>("", opening, SIZE);
        fails_in_linear_time::<serde_json::Value>("so: ", opening, SIZE);
    }
}

#[test]
fn many_openings_do_not_take_quadratic_time() {
    for piece in ["{", "[ x", "{\"", "```\n", "```json\n{\"\n", "{\"a\":1 ", "```\n[", "[1,", "- "]
    {
        fails_in_linear_time::<Order>("so: ", piece, SIZE / 4);
        fails_in_linear_time::<Vec<u8>>("so: ", piece, SIZE / 4);
    }
}

#[test]
fn large_answers_are_read() {
    let item = "{\"qty\":12345},";
    let items = item.repeat(SIZE / 10 / item.len());
    let text = format!("so: {{\"id\":\"x\",\"items\":[{items}]}}");
    assert!(read::<Order>(&text).is_ok_and(|order| order.items.len() > 50_000));
    let id = "x".repeat(SIZE);
    assert!(read::<Order>(&format!("{{\"id\":\"{id}\",\"items\":[],}}")).is_ok());
}

#[test]
fn lone_surrogates_are_rejected() {
    for id in ["\\ud800", "\\udc00", "\\ud800\\ud800", "\\ud83d!"] {
        assert!(read::<Order>(&format!("{{\"id\":\"{id}\",\"items\":[]}}")).is_err(), "{id}");
    }
}

#[test]
fn duplicate_keys_are_rejected() {
    assert!(read::<Order>(r#"{"id":"x","id":"y","items":[]}"#).is_err());
    assert!(read::<HashMap<String, u8>>(r#"{"a":1,"a":1}"#).is_err());
    assert!(read::<u8>(r#"{"value":1,"value":2}"#).is_err());
}

#[test]
fn huge_exponents_are_rejected() {
    for number in ["1e999999999999", "-1e999999999999", "1e2147483648", "1e-0.5"] {
        assert!(read::<i128>(number).is_err(), "{number}");
        assert!(read::<f64>(number).is_err(), "{number}");
    }
    assert_eq!(read("1e-999999999999"), Ok(0.0));
    assert!(read::<u8>(&format!("1{}", "0".repeat(1_000_000))).is_err());
}
