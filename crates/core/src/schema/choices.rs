//! Rewrites choices to the keywords that providers accept.

use serde_json::{Map, Value};

/// Replaces `oneOf` by `anyOf`: an answer that matches one choice need not mismatch the others.
pub(super) fn one_of_to_any_of(members: &mut Map<String, Value>) {
    if !members.contains_key("anyOf")
        && let Some(choices) = members.remove("oneOf")
    {
        members.insert("anyOf".to_owned(), choices);
    }
}

/// Replaces a choice of constant texts by an `enum`, and joins their descriptions.
pub(super) fn constants_to_enum(members: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = members.get("anyOf") else { return };
    let mut texts = Vec::new();
    let mut descriptions = Vec::new();
    for choice in choices {
        let Some(own) = constants(choice) else { return };
        if let (Some(description), [Value::String(name)]) = (description(choice), own) {
            descriptions.push(format!("`{name}`: {description}"));
        }
        texts.extend_from_slice(own);
    }
    if texts.is_empty() {
        return;
    }
    members.remove("anyOf");
    members.insert("type".to_owned(), "string".into());
    members.insert("enum".to_owned(), Value::Array(texts));
    let own = members.get("description").and_then(Value::as_str).map(str::to_owned);
    let all: Vec<String> = own.into_iter().chain(descriptions).collect();
    if !all.is_empty() {
        members.insert("description".to_owned(), all.join("\n").into());
    }
}

/// Returns the texts of a schema that accepts only constant texts.
fn constants(schema: &Value) -> Option<&[Value]> {
    let members = schema.as_object()?;
    let is_plain =
        |name: &String| matches!(name.as_str(), "type" | "const" | "enum" | "description");
    if members.get("type")? != "string" || !members.keys().all(is_plain) {
        return None;
    }
    match (members.get("const"), members.get("enum")) {
        (Some(text), None) => Some(std::slice::from_ref(text)),
        (None, Some(Value::Array(texts))) => Some(texts),
        _ => None,
    }
}

fn description(schema: &Value) -> Option<&str> {
    schema.get("description")?.as_str()
}
