//! Tests of partial values of incomplete answers.

use super::*;
use crate::output::steps;
use std::collections::BTreeMap;

/// Returns each new value while the text arrives character by character.
fn values<T: Output>(text: &str) -> Vec<T> {
    let mut growing = Growing::new(T::shape());
    let mut values = Vec::new();
    for character in text.chars() {
        growing.push(character.encode_utf8(&mut [0; 4]));
        values.extend(growing.value());
    }
    values
}

#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
struct Dish {
    name: String,
    minutes: u32,
    mood: Option<Mood>,
    steps: Vec<Step>,
    #[serde(default = "four")]
    persons: u8,
    price: (u8, String),
}

#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
struct Step {
    text: String,
    mood: Mood,
}

fn four() -> u8 {
    4
}

fn dish(name: &str) -> Dish {
    let price = (0, String::new());
    Dish { name: name.into(), minutes: 0, mood: None, steps: Vec::new(), persons: 4, price }
}

#[test]
fn texts_grow_and_incomplete_numbers_are_withheld() {
    let values = values::<Dish>(r#"{"name":"ab","minutes":12,"#);
    let expected =
        [dish(""), dish("a"), dish("ab"), dish("ab"), Dish { minutes: 12, ..dish("ab") }];
    assert_eq!(values, expected);
}

#[test]
fn incomplete_enums_are_withheld_with_their_items() {
    let mut growing = Growing::<Dish>::new(Dish::shape());
    growing.push(r#"{"mood":"Hap"#);
    assert_eq!(growing.value(), Some(dish("")));
    growing.push("py\"");
    assert_eq!(growing.value(), Some(Dish { mood: Some(Mood::Happy), ..dish("") }));
    growing.push(r#","steps":[{"text":"Stir","mood":"S"#);
    assert_eq!(growing.value().map(|dish| dish.steps), Some(vec![]));
    growing.push("ad\"");
    let stir = Step { text: "Stir".into(), mood: Mood::Sad };
    assert_eq!(growing.value().map(|dish| dish.steps), Some(vec![stir]));
}

#[test]
fn tuples_are_padded_and_maps_omit_incomplete_values() {
    let mut growing = Growing::<Dish>::new(Dish::shape());
    growing.push(r#"{"price":[5, "E"#);
    assert_eq!(growing.value().map(|dish| dish.price), Some((5, "E".to_owned())));
    let mut growing = Growing::<BTreeMap<String, Mood>>::new(BTreeMap::<String, Mood>::shape());
    growing.push(r#"{"a":"Sad","b":"Ha"#);
    assert_eq!(growing.value(), Some(BTreeMap::from([("a".to_owned(), Mood::Sad)])));
}

#[test]
fn unchanged_value_is_not_repeated() {
    let mut growing = Growing::<Dish>::new(Dish::shape());
    growing.push("Here is the dish:\n```json\n{");
    assert_eq!(growing.value(), None);
    growing.push("\"minutes\":5, ");
    assert_eq!(growing.value(), Some(Dish { minutes: 5, ..dish("") }));
    growing.push("\n  \"na");
    assert_eq!(growing.value(), None);
    growing.clear();
    assert_eq!(growing.value(), None);
    growing.push("{\"minutes\":5,");
    assert!(growing.value().is_some());
}

#[test]
fn think_block_is_ignored() {
    let text = r#"<think>{"values":[7]}</think>{"values":[1]}"#;
    assert!(values::<Vec<u8>>(text).iter().all(|shown| shown.is_empty() || shown == &[1]));
    assert_eq!(values::<Vec<u8>>(text).last(), Some(&vec![1]));
}

#[test]
fn wrapped_values_grow() {
    assert_eq!(
        values::<Vec<u8>>(r#"{"values":[1,23]}"#),
        [vec![], vec![1], vec![1, 23], vec![1, 23]]
    );
    assert_eq!(values::<Vec<u8>>("[1,2]").last(), Some(&vec![1, 2]));
    assert_eq!(values::<u8>(r#"{"value":12}"#), [12]);
    let leaf = |name: &str| Tree { name: name.into(), children: Vec::new() };
    let trees = values::<Tree>(r#"{"value":{"name":"a","children":[{"name":"b"}]}}"#);
    assert_eq!(trees.first(), Some(&leaf("")));
    assert_eq!(trees.last(), Some(&Tree { children: vec![leaf("b")], ..leaf("a") }));
}

#[test]
fn free_text_grows_unchanged() {
    assert_eq!(values::<String>("{a"), ["{", "{a"]);
    assert!(values::<()>("{a").is_empty());
    assert!(values::<AiMessage>("{a").is_empty());
}

#[test]
fn variants_with_members_are_filled() {
    #[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
    enum Reply {
        Text { body: String, urgent: bool },
        Never(Box<Self>),
    }

    let values = values::<Reply>(r#"{"value":{"Text":{"body":"Hi"#);
    let body = |body: &str| Reply::Text { body: body.into(), urgent: false };
    assert_eq!(values, [body(""), body(""), body("H"), body("Hi")]);
}

/// An answer of any form that arrives in small pieces.
#[test]
fn growing_text_takes_linear_time() {
    for (start, piece) in [
        ("", "{"),
        ("", "x {\"a\":1} "),
        ("", "<think>{"),
        ("<think>", "{"),
        ("{\"name\":\"", "long text "),
        ("{\"steps\":[", "{\"text\":\"Stir\",\"mood\":\"Sad\"},"),
        ("{\"steps\":", "[{\"text\":"),
    ] {
        steps::assert_linear(piece, 80_000, |size| {
            let text = format!("{start}{}", piece.repeat(size / piece.len()));
            let mut growing = Growing::<Dish>::new(Dish::shape());
            for piece in text.as_bytes().chunks(7) {
                growing.push(str::from_utf8(piece).unwrap());
                growing.value();
            }
        });
    }
}

#[test]
fn value_of_a_long_text_may_be_late() {
    let mut growing = Growing::<Dish>::new(Dish::shape());
    growing.push(&format!("{{\"name\":\"{}", "x".repeat(10_000)));
    let length = |growing: &mut Growing<Dish>| growing.value().map(|dish| dish.name.len());
    assert_eq!(length(&mut growing), Some(10_000));
    growing.push("y");
    assert_eq!(length(&mut growing), None);
    growing.push(&"y".repeat(39));
    assert_eq!(length(&mut growing), Some(10_040));
}

#[test]
fn infinitely_recursive_type_has_no_partial_value() {
    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    struct Endless {
        name: String,
        next: Box<Self>,
    }

    assert!(values::<Endless>(r#"{"value":{"name":"a","next":{"name":"b"#).is_empty());
}
