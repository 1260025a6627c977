//! Schemas in the subset of JSON Schema that OpenAI's strict mode accepts.

use serde_json::{Map, Value, json};

/// Closes every object of a schema: all members required, the optional ones nullable, no others.
pub(super) fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.contains_key("properties") {
                close_object(members);
            } else if members.get("type").is_some_and(|kind| kind == "object") {
                members.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            members.remove("default");
            for (name, member) in members.iter_mut() {
                // Values, not schemas: an enum of objects must stay as it is.
                if !matches!(name.as_str(), "enum" | "const" | "examples" | "required") {
                    close(member);
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(close),
        _ => {}
    }
}

fn close_object(members: &mut Map<String, Value>) {
    let required = match members.remove("required") {
        Some(Value::Array(required)) => required,
        _ => Vec::new(),
    };
    let mut all = Vec::new();
    if let Some(Value::Object(properties)) = members.get_mut("properties") {
        for (name, property) in properties.iter_mut() {
            if !required.iter().any(|required| required == name) {
                make_nullable(property);
            }
            all.push(Value::from(name.as_str()));
        }
    }
    members.insert("required".to_owned(), Value::Array(all));
    members.insert("additionalProperties".to_owned(), Value::Bool(false));
}

fn make_nullable(property: &mut Value) {
    // An enum does not contain null, so a wider type alone would not help.
    let is_enum = property.get("enum").is_some();
    let is_nullable = is_nullable(property);
    match property.get_mut("type") {
        Some(Value::Array(kinds)) => {
            if !kinds.iter().any(|kind| kind == "null") {
                kinds.push("null".into());
            }
        }
        Some(kind) if !is_enum => *kind = Value::Array(vec![kind.take(), "null".into()]),
        _ if is_nullable => {}
        _ => *property = json!({ "anyOf": [property.take(), { "type": "null" }] }),
    }
}

fn is_nullable(property: &Value) -> bool {
    let choices = property.get("anyOf").and_then(Value::as_array);
    choices.is_some_and(|choices| {
        choices.iter().any(|choice| choice.get("type").is_some_and(|kind| kind == "null"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_members_become_nullable_and_objects_closed() {
        let mut schema = json!({
            "type": "object",
            "properties": {
                "a": { "type": "string" },
                "b": { "type": "integer", "default": 3 },
                "c": { "anyOf": [{ "$ref": "#/$defs/D" }, { "type": "null" }] },
                "d": { "$ref": "#/$defs/D" },
                "e": { "type": "string", "enum": ["x"] },
            },
            "required": ["a"],
            "$defs": { "D": { "type": "object", "properties": {} } },
        });
        close(&mut schema);
        let closed = json!({
            "type": "object",
            "properties": {
                "a": { "type": "string" },
                "b": { "type": ["integer", "null"] },
                "c": { "anyOf": [{ "$ref": "#/$defs/D" }, { "type": "null" }] },
                "d": { "anyOf": [{ "$ref": "#/$defs/D" }, { "type": "null" }] },
                "e": { "anyOf": [{ "type": "string", "enum": ["x"] }, { "type": "null" }] },
            },
            "required": ["a", "b", "c", "d", "e"],
            "additionalProperties": false,
            "$defs": {
                "D": {
                    "type": "object", "properties": {}, "required": [],
                    "additionalProperties": false,
                },
            },
        });
        assert_eq!(schema, closed);
        close(&mut schema);
        assert_eq!(schema, closed);
    }
}
