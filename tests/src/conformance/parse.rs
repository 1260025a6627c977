//! The `parse` operation: the text of an answer as a value of a type.
//!
//! The schema is compared where the reference is right: its name, the types of values, members and
//! items, the names of variants. Not compared: bounds and nullability, which only this project has, the
//! items of a list of integers, which the reference describes as objects by mistake, and a date inside an object, which
//! the reference describes as an object.

#![allow(clippy::indexing_slicing, reason = "a JSON value without the member is null")]

use super::dates::{Form, Padded};
use super::{Case, Malformed, Outcome, compare, message, outcome, read};
use ai_services::message::{AiMessage, ChatMessage};
use ai_services::model::ChatResponse;
use ai_services::output::Output;
use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Deserialize)]
struct Input {
    r#type: String,
    text: Option<String>,
}

/// The expected result.
struct Expected {
    /// `None` for an error.
    value: Option<Value>,
    schema: Option<Value>,
}

impl Expected {
    fn of(case: &Case) -> Result<Self, Malformed> {
        let member = |name: &str| case.expected.get(name).cloned();
        let value = match (member("value"), member("error").is_some_and(|error| !error.is_null())) {
            (Some(_), true) => return Err("a case has a value and an error".to_owned()),
            (None, false) => return Err("a case has neither a value nor an error".to_owned()),
            (value, _) => value,
        };
        Ok(Self { value, schema: member("schema") })
    }
}

/// Fails unless a case has either a value, which may be null, or an error.
pub(super) fn check_form(case: &Case) -> Result<(), Malformed> {
    Expected::of(case).map(drop)
}

pub(super) fn run(case: &Case) -> Result<Outcome, Malformed> {
    let Input { r#type, text } = read(&case.input)?;
    let expected = Expected::of(case)?;
    let text = text.as_deref();
    let same: Plain = |value| value.clone();
    Ok(match r#type.as_str() {
        "string" => check::<String>(text, &expected, same),
        "integer" | "boxed_integer" => check::<i32>(text, &expected, same),
        "long_" => check::<i64>(text, &expected, same),
        "short_" => check::<i16>(text, &expected, same),
        "byte_" => check::<i8>(text, &expected, same),
        "double_" => check::<f64>(text, &expected, float),
        "float_" => check::<f32>(text, &expected, float),
        "bool" => check::<bool>(text, &expected, same),
        "big_decimal" => check::<BigDecimal>(text, &expected, decimal),
        "big_integer" => check::<BigInteger>(text, &expected, decimal),
        "date" => check::<Padded<NaiveDate>>(text, &expected, parsed::<NaiveDate>),
        "time" => check::<Padded<NaiveTime>>(text, &expected, parsed::<NaiveTime>),
        "date_time" => check::<Padded<NaiveDateTime>>(text, &expected, parsed::<NaiveDateTime>),
        "mood" => check::<Mood>(text, &expected, same),
        "priority" => check::<Priority>(text, &expected, same),
        "list_string" => check::<Vec<String>>(text, &expected, same),
        "set_string" => check::<BTreeSet<String>>(text, &expected, sorted),
        "list_mood" => check::<Vec<Mood>>(text, &expected, same),
        "set_mood" => check::<BTreeSet<Mood>>(text, &expected, sorted),
        "list_integer" => check::<Vec<i32>>(text, &expected, same),
        "person" => check::<Person>(text, &expected, person),
        "order" => check::<Order>(text, &expected, order),
        "list_person" => check::<Vec<Person>>(text, &expected, persons),
        "map" => check::<BTreeMap<String, Value>>(text, &expected, same),
        "ai_message" => ai_message(case, text)?,
        "void_" => outcome(compare("value", &expected.value, &Some(Value::Null))),
        other => return Err(format!("unknown type `{other}`")),
    })
}

/// A value in a comparable form.
type Plain = fn(&Value) -> Value;

fn check<T: Output + Serialize>(text: Option<&str>, expected: &Expected, plain: Plain) -> Outcome {
    let mut message = AiMessage::builder();
    if let Some(text) = text {
        message = message.text(text);
    }
    let shape = T::shape();
    let got = T::from_response(&ChatResponse::new(message.build()), &shape);
    let compared = match (got, &expected.value) {
        (Err(_), None) => Ok(()),
        (Ok(value), None) => Err(format!("expected an error, got {}", json!(value))),
        (Err(error), Some(expected)) => Err(format!("expected {expected}, got the error: {error}")),
        (Ok(value), Some(expected)) => compare("value", &plain(expected), &plain(&json!(value))),
    };
    let theirs = expected.schema.as_ref().filter(|schema| !schema.is_null());
    let compared = compared.and_then(|()| {
        let (Some(theirs), Some((name, schema))) = (theirs, shape.schema()) else { return Ok(()) };
        let ours = json!({ "name": name, "schema": form(schema.as_value(), schema.as_value()) });
        let form = form(&theirs["schema"], &theirs["schema"]);
        compare("schema", &json!({ "name": theirs["name"], "schema": form }), &ours)
    });
    outcome(compared)
}

fn ai_message(case: &Case, text: Option<&str>) -> Result<Outcome, Malformed> {
    let expected = match message::message(&case.expected["value"])? {
        ChatMessage::Ai(message) => message,
        other => return Err(format!("not a message of the model: {other:?}")),
    };
    let response =
        ChatResponse::new(text.map_or_else(|| AiMessage::builder().build(), AiMessage::new));
    let got = AiMessage::from_response(&response, &AiMessage::shape());
    Ok(outcome(compare("message", &Some(expected), &got.ok())))
}

/// The compared part of a schema.
fn form(schema: &Value, root: &Value) -> Value {
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        return form(&root["$defs"][name], root);
    }
    let is_null = |schema: &Value| schema["type"] == "null";
    if let Some(choices) = schema["anyOf"].as_array() {
        let mut choices = choices.iter().filter(|choice| !is_null(choice));
        return choices.next().map_or(Value::Null, |choice| form(choice, root));
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().find(|kind| **kind != "null").cloned(),
        kind => Some(kind.clone()),
    };
    let mut reduced = Map::new();
    reduced.extend(kind.map(|kind| ("type".to_owned(), kind)));
    reduced.extend(schema.get("enum").map(|names| ("enum".to_owned(), names.clone())));
    if let Some(members) = schema["properties"].as_object() {
        let compared = members.iter().filter(|(name, _)| *name != "date");
        let compared = compared.map(|(name, member)| (name.clone(), form(member, root)));
        reduced.insert("properties".to_owned(), compared.collect());
    }
    let is_integer =
        |item: &Value| item["type"] == "integer" || item["properties"].get("value").is_some();
    if let Some(item) = schema.get("items").filter(|item| !is_integer(item)) {
        reduced.insert("items".to_owned(), form(item, root));
    }
    Value::Object(reduced)
}

fn float(value: &Value) -> Value {
    let number = value["number"].as_str().map_or_else(|| value.as_f64(), |text| text.parse().ok());
    // The text distinguishes -0 from 0, and is the shortest of its type.
    json!(number.map(|number| format!("{}", number as f32)))
}

/// The digits and the power of ten of a decimal number.
fn decimal(value: &Value) -> Value {
    let text = value["number"].as_str().or(value.as_str()).unwrap_or_default();
    let lower = text.to_ascii_lowercase();
    let (mantissa, exponent) = lower.split_once('e').unwrap_or((&lower, "0"));
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa.trim_start_matches('+')),
    };
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{integer}{fraction}");
    let kept = digits.trim_end_matches('0');
    let exponent = exponent.parse::<i64>().unwrap_or_default() - fraction.len() as i64
        + (digits.len() - kept.len()) as i64;
    match kept.trim_start_matches('0') {
        "" => json!("0"),
        digits => json!(format!("{sign}{digits}e{exponent}")),
    }
}

/// A value that has several spellings.
fn parsed<T: Form + ToString>(value: &Value) -> Value {
    json!(value.as_str().and_then(T::parse).map(|value| value.to_string()))
}

fn sorted(value: &Value) -> Value {
    let items = value.get("set").unwrap_or(value).as_array();
    let items: BTreeSet<String> = items.into_iter().flatten().map(ToString::to_string).collect();
    json!(items)
}

fn persons(value: &Value) -> Value {
    json!(value.as_array().map(|persons| persons.iter().map(person).collect::<Vec<_>>()))
}

/// In the reference, missing numbers and booleans are 0 and false.
fn person(value: &Value) -> Value {
    with_zeros(value, &[("age", json!(0)), ("active", json!(false))])
}

fn order(value: &Value) -> Value {
    with_zeros(value, &[("total", json!(0.0))])
}

fn with_zeros(value: &Value, zeros: &[(&str, Value)]) -> Value {
    let mut value = value.clone();
    for (name, zero) in zeros {
        if let Some(member) = value.get_mut(name).filter(|member| member.is_null()) {
            *member = zero.clone();
        }
    }
    value
}

#[derive(Clone, Copy, Deserialize, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "UPPERCASE")]
enum Mood {
    Happy,
    Sad,
    Neutral,
}

#[derive(Deserialize, JsonSchema, Serialize)]
enum Priority {
    #[serde(rename = "HIGH")]
    High,
    #[serde(rename = "LOW")]
    Low,
    Medium,
}

#[derive(Deserialize, JsonSchema, Serialize)]
#[serde(default)]
#[derive(Default)]
struct Person {
    name: Option<String>,
    age: Option<i32>,
    active: Option<bool>,
    tags: Option<Vec<String>>,
    mood: Option<Mood>,
}

#[derive(Default, Deserialize, JsonSchema, Serialize)]
#[serde(default)]
struct Order {
    id: Option<String>,
    total: Option<f64>,
    address: Option<Address>,
    date: Option<Padded<NaiveDate>>,
    count: Option<i32>,
}

#[derive(Default, Deserialize, JsonSchema, Serialize)]
#[serde(default)]
struct Address {
    street: Option<String>,
    city: Option<String>,
}

/// A decimal number that keeps its digits.
#[derive(JsonSchema, Serialize)]
#[schemars(transparent)]
struct BigDecimal(#[schemars(with = "f64")] String);

impl<'de> Deserialize<'de> for BigDecimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        digits(deserializer, |text| {
            let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
            let digits = mantissa.strip_prefix(['+', '-']).unwrap_or(mantissa).replacen('.', "", 1);
            let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            [&digits, exponent].into_iter().all(are_digits)
        })
        .map(Self)
    }
}

/// An integer of any size.
#[derive(JsonSchema, Serialize)]
#[schemars(transparent)]
struct BigInteger(#[schemars(with = "i128")] String);

impl<'de> Deserialize<'de> for BigInteger {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        digits(deserializer, |text| are_digits(text.strip_prefix(['+', '-']).unwrap_or(text)))
            .map(Self)
    }
}

fn are_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn digits<'de, D: Deserializer<'de>>(
    deserializer: D,
    is_number: impl Fn(&str) -> bool,
) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?.trim().to_owned();
    if is_number(&text) { Ok(text) } else { Err(D::Error::custom("expected a number")) }
}
