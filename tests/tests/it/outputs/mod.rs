//! Outputs of many types: values that match their schemas are read, complete and partial.

mod instance;
mod partial;
mod reading;
mod schema;
mod types;

use ai_services::message::AiMessage;
use ai_services::model::ChatResponse;
use ai_services::output::Output;
use serde::Serialize;
use serde_json::{Value, json};

/// Reads an answer.
fn read<T: Output>(text: &str) -> ai_services::Result<T> {
    T::from_response(&ChatResponse::new(AiMessage::new(text)), &T::shape())
}

/// Returns the JSON Schema of a type that is not plain text.
fn schema_of<T: Output>() -> Value {
    T::shape().schema().unwrap().1.as_value().clone()
}

/// Returns a value in the format that is requested from the model.
fn answer<T: Output + Serialize>(value: &T) -> Value {
    match wrapper(&schema_of::<T>()) {
        Some(name) => json!({ name: value }),
        None => json!(value),
    }
}

/// Returns the name of the member that a value is wrapped in.
fn wrapper(schema: &Value) -> Option<&str> {
    let required: Vec<&str> =
        schema["required"].as_array()?.iter().flat_map(Value::as_str).collect();
    match (required.as_slice(), schema["properties"].as_object()?.len()) {
        (&[name @ ("value" | "values")], 1) => Some(name),
        _ => None,
    }
}

/// Escapes all characters that are not ASCII.
fn escaped(json: &str) -> String {
    let mut out = String::new();
    for character in json.chars() {
        if character.is_ascii() {
            out.push(character);
        } else {
            let units = character.encode_utf16(&mut [0; 2]).to_vec();
            out.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    out
}
