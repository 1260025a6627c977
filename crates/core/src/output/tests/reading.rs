//! Tests of accepted and rejected deviations.

use super::*;
use std::collections::{BTreeSet, HashSet};

const ORDER: &str = r#"{"id":"x","items":[{"qty":1},{"qty":2}]}"#;

fn fails<T: Output + std::fmt::Debug>(text: &str, with: &str) {
    let error = read::<T>(text).expect_err(text);
    assert!(error.contains(with), "{text}: {error}");
}

#[test]
fn json_is_found_in_fences_and_prose() {
    for text in [
        ORDER.to_owned(),
        format!("\u{feff}  {ORDER}\n"),
        format!("```json\n{ORDER}\n```"),
        format!("Sure!\n```\n{ORDER}\n```\nAnything else?"),
        format!("```json {ORDER} ```"),
        format!("```json\n{ORDER}"),
        format!("Here it is: {ORDER}. Anything else {{now}}?"),
        format!("[1] {ORDER} [2"),
        format!("{ORDER} and again {ORDER}"),
        format!("<think>{{a}}</think>\n{ORDER}"),
        ORDER.replace("}]", ",}, ]"),
    ] {
        assert_eq!(read(&text), Ok(order("x", &[1, 2])), "{text}");
    }
}

#[test]
fn think_block_before_the_answer_is_ignored() {
    let thoughts = format!("<think>\nMaybe {{\"id\":\"y\",\"items\":[]}}?\n</think>\n\n{ORDER}");
    assert_eq!(read(&thoughts), Ok(order("x", &[1, 2])));
    assert_eq!(read("<think>SAD?</think>\nhappy"), Ok(Mood::Happy));
    fails::<Order>(&format!("<think>{ORDER}"), "inside the `<think>` block");
    assert_eq!(read(&format!("<think>{ORDER}")), Ok(format!("<think>{ORDER}")));
}

#[test]
fn two_different_blocks_are_rejected() {
    let two = |a: &str, b: &str| format!("{a} or {b}");
    fails::<Order>(&two(ORDER, r#"{"id":"y","items":[]}"#), "several different blocks");
    fails::<Order>(
        "```\n{\"id\":\"a\"}\n```\n```\n{\"id\":\"b\"}\n```",
        "several different blocks",
    );
    fails::<Vec<Item>>("[{\"qty\":1}] or [{\"qty\":2}]", "several different blocks");
}

#[test]
fn fences_and_braces_inside_strings_are_text() {
    let json = r#"{"id":"}```{\n","items":[]}"#;
    for text in [json.to_owned(), format!("```json\n{json}\n```"), format!("so: {json} ok")] {
        assert_eq!(read(&text), Ok(order("}```{\n", &[])), "{text}");
    }
}

#[test]
fn values_are_read_with_and_without_wrapper() {
    assert_eq!((read("7"), read("{\"value\":7}")), (Ok(7u8), Ok(7u8)));
    assert_eq!(read(" {\"value\": 7, \"unit\": \"m\"}"), Ok(7u8));
    assert_eq!(read("```json\n{\"value\":\"7\"}\n```"), Ok(7u8));
    assert_eq!(read("[1,2]"), Ok(vec![1, 2]));
    assert_eq!(read("{\"values\":[1,2]}"), Ok(vec![1, 2]));
    assert_eq!(read("[{\"qty\":1}]"), Ok(vec![Item { qty: 1, weight: 1.0 }]));
    assert_eq!(read("{\"value\":null}"), Ok(None::<Item>));
    assert_eq!(read("{\"qty\":1}"), Ok(Some(Item { qty: 1, weight: 1.0 })));
    assert_eq!(read("x"), Ok(Some("x".to_owned())));
    assert_eq!(read("null"), Ok(None::<String>));
    fails::<Option<Item>>("{}", "`qty` is missing");
    fails::<Vec<u8>>("{}", "`values` is missing");
}

#[test]
fn integers_are_exact() {
    for text in ["42", "42.0", "4.2e1", "\"42\"", "+42", "{\"value\":42.0}", "{\"value\":\" 42 \"}"]
    {
        assert_eq!(read(text), Ok(42u8), "{text}");
    }
    fails::<u8>("4.5", "expected u8, found 4.5");
    fails::<u8>("256", "expected u8, found 256");
    fails::<u8>("-1", "expected u8, found -1");
    fails::<u8>("forty", "expected u8, found \"forty\"");
    fails::<i64>("1e400", "found 1e400");
    fails::<u8>("{\"value\":null}", "value: expected u8, found null");
    assert_eq!(read("18446744073709551615"), Ok(u64::MAX));
    assert_eq!(read(&i128::MIN.to_string()), Ok(i128::MIN));
    assert_eq!(read(&u128::MAX.to_string()), Ok(u128::MAX));
}

#[test]
fn floats_are_finite() {
    assert_eq!((read("1"), read("\"-.5\""), read("1e3")), (Ok(1.0), Ok(-0.5), Ok(1000.0)));
    for text in ["NaN", "Infinity", "1e400", "{\"value\":NaN}", "\"nan\"", "1.5f"] {
        assert!(read::<f64>(text).is_err(), "{text}");
    }
    assert!(read::<f32>("{\"value\":1e39}").is_err());
}

#[test]
fn booleans_are_true_or_false_in_any_case() {
    for text in ["true", "TRUE", " True\n", "\"true\"", "{\"value\":\"True\"}"] {
        assert_eq!(read(text), Ok(true), "{text}");
    }
    for text in ["1", "yes", "truefalse", "{\"value\":1}", "null", "{\"value\":TRUE}"] {
        assert!(read::<bool>(text).is_err(), "{text}");
    }
}

#[test]
fn variants_are_read_in_any_case() {
    for text in ["Happy", "happy", "\"HAPPY\"", "[HAPPY]", "[ happy ]", "{\"value\":\"hAppy\"}"] {
        assert_eq!(read(text), Ok(Mood::Happy), "{text}");
    }
    for text in ["HAPPY.", "HAPPY\nSAD", "[[SAD]]", "joy", "{\"value\":\"joy\"}", "[\"SAD\"]"] {
        assert!(read::<Mood>(text).is_err(), "{text}");
    }
    assert_eq!(
        read::<Mood>("joy"),
        Err("expected one of `Happy`, `Sad`, `NEUTRAL`, found \"joy\"".into())
    );
}

#[test]
fn variants_that_differ_only_in_case_are_distinct() {
    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    enum Unit {
        #[serde(rename = "m")]
        Milli,
        #[serde(rename = "M")]
        Mega,
        K,
    }

    assert_eq!((read("m"), read("M"), read("k")), (Ok(Unit::Milli), Ok(Unit::Mega), Ok(Unit::K)));
}

#[test]
fn lists_are_read_from_lines() {
    assert_eq!(read("happy\n\nSAD\n"), Ok(vec![Mood::Happy, Mood::Sad]));
    assert_eq!(read("- 1\n- 2"), Ok(vec![1, 2]));
    assert_eq!(read("1"), Ok(vec![1]));
    assert_eq!(read("b\na\nb"), Ok(BTreeSet::from(["a".to_owned(), "b".to_owned()])));
    assert_eq!(read("[red]\n[blue]"), Ok(vec!["[red]".to_owned(), "[blue]".to_owned()]));
    assert_eq!(read("Here: [1, 2]"), Ok(vec![1, 2]));
    assert_eq!(read("Here: [\"a\"]"), Ok(vec!["a".to_owned()]));
    assert_eq!(
        read("apple [red]\npear [1]"),
        Ok(vec!["apple [red]".to_owned(), "pear [1]".to_owned()])
    );
    assert_eq!(read(" \n"), Ok(HashSet::<Mood>::new()));
    fails::<Vec<Mood>>("HAPPY, SAD", "[0]: expected one of");
    fails::<Vec<Item>>("I do not know", "not JSON");
    fails::<Vec<String>>("[\"a\", \"b", "truncated");
}

#[test]
fn null_selects_the_default_of_a_member() {
    let json = r#"{"qty":"1","weight":null}"#;
    assert_eq!(read(json), Ok(Item { qty: 1, weight: 1.0 }));
    fails::<Item>(r#"{"qty":null}"#, "qty: expected u32, found null");
}

#[test]
fn errors_contain_path_and_reason() {
    assert_eq!(
        read::<Order>(r#"{"id":"x","items":[{"qty":1},{"qty":"many"}]}"#),
        Err("items[1].qty: expected u32, found \"many\"".into())
    );
    fails::<Order>(r#"{"id":"x"}"#, "the member `items` is missing");
    fails::<Order>(r#"{"id":"x","items":[7]}"#, "items[0]: expected struct Item, found 7");
    fails::<Order>("[]", "expected an object, found an array");
    fails::<Order>("null", "expected an object, found null");
    fails::<Order>("", "the answer is empty");
    fails::<Order>("{\n  id: 1}", "not JSON: unexpected 'i' at line 2, column 3");
    fails::<Order>(r#"{"id":"x","items":"#, "truncated");
}

#[test]
fn error_quotes_one_value_and_contains_the_answer() {
    let text = format!(r#"{{"id":"x","items":"{}"}}"#, "long ".repeat(1000));
    let response = ChatResponse::new(AiMessage::new(text.as_str()));
    let error = Order::from_response(&response, &Order::shape()).expect_err("no list");
    assert!(error.to_string().len() < 200, "{error}");
    assert!(format!("{error:?}").len() < 1000);
    assert_eq!(error.detail::<UnreadableAnswer>().map(UnreadableAnswer::text), Some(&*text));
}

#[test]
fn untagged_enum_prefers_the_exact_number_type() {
    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    #[serde(untagged)]
    enum Number {
        Whole(i64),
        Broken(f64),
    }

    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    #[serde(tag = "kind")]
    enum Shape {
        Square { side: u8 },
    }

    assert_eq!(read("{\"value\":1.0}"), Ok(Number::Broken(1.0)));
    assert_eq!(read("{\"value\":1}"), Ok(Number::Whole(1)));
    assert_eq!(
        read("{\"value\":{\"kind\":\"Square\",\"side\":2.0}}"),
        Ok(Shape::Square { side: 2 })
    );
    assert_eq!(read("{\"kind\":\"Square\",\"side\":2}"), Ok(Shape::Square { side: 2 }));
}
