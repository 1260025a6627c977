mod hostile;
mod partial;
mod reading;

use super::*;
use serde::Deserialize;
use std::collections::HashMap;

/// Reads an answer. The error is `path: reason`.
fn read<T: Output>(text: &str) -> Result<T, String> {
    let response = ChatResponse::new(AiMessage::new(text));
    T::from_response(&response, &T::shape()).map_err(|error| {
        assert_eq!(error.kind(), ErrorKind::Output);
        let unreadable = error.detail::<UnreadableAnswer>().expect("a detail");
        assert_eq!(unreadable.text(), text);
        unreadable.to_string()
    })
}

#[derive(Clone, Debug, Deserialize, Eq, Hash, JsonSchema, PartialEq)]
enum Mood {
    Happy,
    Sad,
    #[serde(rename = "NEUTRAL")]
    Neutral,
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
struct Order {
    id: String,
    items: Vec<Item>,
    mood: Option<Mood>,
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
struct Item {
    qty: u32,
    #[serde(default = "one")]
    weight: f64,
}

fn one() -> f64 {
    1.0
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
struct Tree {
    name: String,
    #[serde(default)]
    children: Vec<Self>,
}

fn order(id: &str, quantities: &[u32]) -> Order {
    let items = quantities.iter().map(|qty| Item { qty: *qty, weight: 1.0 }).collect();
    Order { id: id.into(), items, mood: None }
}

#[test]
fn types_other_than_objects_are_wrapped() {
    let required = |shape: Shape| {
        let (name, schema) = shape.schema().expect("JSON");
        assert_eq!(schema.as_value()["type"], "object");
        (name.to_owned(), schema.as_value()["required"][0].as_str().unwrap_or_default().to_owned())
    };
    let named = |name: &str, member: &str| (name.to_owned(), member.to_owned());
    assert_eq!(required(Order::shape()), named("Order", "id"));
    assert_eq!(required(Vec::<Order>::shape()), named("List_of_Order", "values"));
    assert_eq!(required(Mood::shape()), named("Mood", "value"));
    assert_eq!(required(<[u8; 2]>::shape()), named("List_size_2_of_Integer", "values"));
    assert_eq!(required(<(u8, bool)>::shape()), named("Tuple_of_Integer_and_Boolean", "value"));
    assert_eq!(required(Option::<Order>::shape()), named("Nullable_Order", "value"));
    assert_eq!(required(Tree::shape()), named("Tree", "value"));
    assert_eq!(required(HashMap::<String, u8>::shape()), named("Map_of_Integer", ""));
}

#[test]
fn text_and_unit_have_no_schema() {
    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    struct Title(String);

    assert!(String::shape().schema().is_none() && <()>::shape().schema().is_none());
    assert!(String::shape().instructions().is_none());
    assert!(char::shape().schema().is_some());
    assert_eq!(read(" {\"a\":1}\n"), Ok(Title(" {\"a\":1}\n".into())));
    assert_eq!(read("null"), Ok("null".to_owned()));
    assert_eq!(read("whatever"), Ok(()));
}

#[test]
fn instructions_for_scalars_are_short() {
    let text = |shape: Shape| shape.instructions().expect("instructions");
    assert!(text(Mood::shape()).starts_with("Answer with one of: Happy, Sad, NEUTRAL;"));
    assert!(text(u8::shape()).contains("one integer from 0 to 255"));
    assert!(text(u64::shape()).contains("one integer of at least 0;"));
    assert!(text(i64::shape()).contains("one integer;"));
    assert!(text(Order::shape()).contains("\"required\":[\"id\",\"items\"]"));
    assert!(u8::shape().json_instructions().is_some_and(|text| text.contains("JSON Schema")));
}

#[test]
fn error_names_the_type_as_in_rust() {
    fn error<T: Output + std::fmt::Debug>() -> String {
        let response = ChatResponse::new(AiMessage::new("?!"));
        T::from_response(&response, &T::shape()).expect_err("no value").to_string()
    }
    for (error, name) in [
        (error::<Order>(), "`Order`"),
        (error::<Option<u8>>(), "`Option<u8>`"),
        (error::<HashMap<String, Vec<Mood>>>(), "`HashMap<String, Vec<Mood>>`"),
        (error::<u8>(), "`u8`"),
    ] {
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn refusal_has_its_own_error_kind() {
    let response = ChatResponse::new(AiMessage::builder().refusal("no").text("{}").build());
    let error = Order::from_response(&response, &Order::shape()).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(<()>::from_response(&response, &<()>::shape()).is_ok());
}

#[test]
fn truncated_answer_names_the_reason() {
    let truncated = |reason| {
        let response = ChatResponse::new(AiMessage::new("{\"id\":\"x\",\"it"));
        let response = response.with_finish_reason(reason);
        let error = Order::from_response(&response, &Order::shape()).expect_err("truncated");
        error.to_string()
    };
    assert!(truncated(FinishReason::Length).contains("truncated at the token limit"));
    assert!(truncated(FinishReason::ContentFilter).contains("filter"));
    assert!(truncated(FinishReason::Stop).ends_with("the JSON is truncated"));
}
