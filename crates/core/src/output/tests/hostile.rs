//! Answers that nobody would write on purpose.

use super::*;
use std::time::{Duration, Instant};

/// More than a slow machine needs for 10 MB, less than anything quadratic takes.
const SOON: Duration = Duration::from_secs(20);

const SIZE: usize = 10_000_000;

fn soon<T: Output>(text: &str) {
    let begun = Instant::now();
    assert!(read::<T>(text).is_err());
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

#[test]
fn nesting_is_refused_before_the_stack_ends() {
    for opening in ["[", "{\"children\":[", "{\"a\":", "[[{\"values\":"] {
        let text = opening.repeat(SIZE / opening.len());
        soon::<Tree>(&text);
        soon::<Vec<Tree>>(&text);
        soon::<serde_json::Value>(&format!("so: {text}"));
    }
}

#[test]
fn many_beginnings_take_no_quadratic_time() {
    for piece in ["{", "[ x", "{\"", "```\n", "```json\n{\"\n", "{\"a\":1 ", "```\n[", "[1,", "- "]
    {
        let text = format!("so: {}", piece.repeat(SIZE / piece.len() / 4));
        soon::<Order>(&text);
        soon::<Vec<u8>>(&text);
    }
}

#[test]
fn megabytes_are_read() {
    let item = "{\"qty\":12345},";
    let items = item.repeat(SIZE / 10 / item.len());
    let text = format!("so: {{\"id\":\"x\",\"items\":[{items}]}}");
    assert!(read::<Order>(&text).is_ok_and(|order| order.items.len() > 50_000));
    let id = "x".repeat(SIZE);
    assert!(read::<Order>(&format!("{{\"id\":\"{id}\",\"items\":[],}}")).is_ok());
}

#[test]
fn lone_surrogates_are_refused() {
    for id in ["\\ud800", "\\udc00", "\\ud800\\ud800", "\\ud83d!"] {
        assert!(read::<Order>(&format!("{{\"id\":\"{id}\",\"items\":[]}}")).is_err(), "{id}");
    }
}

#[test]
fn keys_given_twice_are_refused() {
    assert!(read::<Order>(r#"{"id":"x","id":"y","items":[]}"#).is_err());
    assert!(read::<HashMap<String, u8>>(r#"{"a":1,"a":1}"#).is_err());
    assert!(read::<u8>(r#"{"value":1,"value":2}"#).is_err());
}

#[test]
fn huge_exponents_are_no_numbers() {
    for number in ["1e999999999999", "-1e999999999999", "1e2147483648", "1e-0.5"] {
        assert!(read::<i128>(number).is_err(), "{number}");
        assert!(read::<f64>(number).is_err(), "{number}");
    }
    assert_eq!(read("1e-999999999999"), Ok(0.0));
    assert!(read::<u8>(&format!("1{}", "0".repeat(1_000_000))).is_err());
}
