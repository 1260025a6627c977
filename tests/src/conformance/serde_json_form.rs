//! The `serde` operation: messages as JSON.

use super::message::messages;
use super::{Case, Malformed, Outcome, compare, outcome};
use ai_services::message::{
    ChatMessage, message_from_json, message_to_json, messages_from_json, messages_to_json,
    messages_to_langchain4j_json,
};
use serde_json::Value;

pub(super) fn run(case: &Case) -> Result<Outcome, Malformed> {
    let input = messages(case.input.get("messages").ok_or("no `messages`")?)?;
    let reference = case.expected.get("json").ok_or("no `json`")?;
    Ok(outcome(check(&input, reference)))
}

fn check(input: &[ChatMessage], reference: &Value) -> Result<(), String> {
    let read = |json: &str| match messages_from_json(json) {
        Ok(messages) => Ok(messages.to_vec()),
        Err(error) => Err(format!("expected {input:?}, got the error: {error}")),
    };
    compare("read", &input.to_vec(), &read(&reference.to_string())?)?;
    let written = messages_to_json(input).map_err(|error| error.to_string())?;
    compare("written and read", &input.to_vec(), &read(&written)?)?;
    for message in input {
        let json = message_to_json(message).map_err(|error| error.to_string())?;
        let read = message_from_json(&json).map_err(|error| error.to_string())?;
        compare("written and read alone", message, &read)?;
    }
    let array = messages_to_langchain4j_json(input).map_err(|error| error.to_string())?;
    let array: Value = serde_json::from_str(&array).map_err(|error| error.to_string())?;
    compare("written", &meaning(reference), &meaning(&array))
}

/// Removes members that mean the same as absent ones: nulls, empty attributes, no error.
fn meaning(value: &Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(meaning).collect(),
        Value::Object(members) => {
            let means = |key: &str, value: &Value| match value {
                Value::Null => false,
                Value::Bool(false) => key != "isError",
                Value::Object(attributes) => key != "attributes" || !attributes.is_empty(),
                _ => true,
            };
            let members = members.iter().filter(|(key, value)| means(key, value));
            members.map(|(key, value)| (key.clone(), meaning(value))).collect()
        }
        _ => value.clone(),
    }
}
