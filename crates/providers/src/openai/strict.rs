//! Schemas in the subset of JSON Schema that OpenAI's strict mode accepts.

use serde_json::{Map, Value, json};

type Members = Map<String, Value>;

/// What says more about a value and may stand in a strict schema.
const KEPT: &[&str] = &[
    "type",
    "description",
    "enum",
    "const",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "$ref",
    // Not sent, but followed.
    "propertyOrdering",
];

/// What allows or forbids values in a way that strict mode cannot.
const REFUSED: &[&str] = &[
    "allOf",
    "not",
    "if",
    "prefixItems",
    "contains",
    "patternProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedProperties",
    "unevaluatedItems",
];

/// Formats of texts that strict mode knows.
const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// The schema of an object as strict mode wants it, if it can be written so: objects closed, all members
/// required, the optional ones nullable. Maps, tuples and values of any form cannot.
///
/// What only narrows a value down, such as the length of a text, is left out.
pub(super) fn closed(schema: &Value) -> Option<Value> {
    let is_object = schema.get("type")? == "object" && schema.get("anyOf").is_none();
    if is_object { close(schema).map(Value::Object) } else { None }
}

fn close(schema: &Value) -> Option<Members> {
    // `true`, which allows everything, is no object.
    let schema = schema.as_object()?;
    if REFUSED.iter().any(|name| schema.contains_key(*name)) || allows_anything(schema) {
        return None;
    }
    let mut members = Members::new();
    for (name, member) in schema {
        let member = match name.as_str() {
            name if KEPT.contains(&name) => member.clone(),
            "items" => Value::Object(close(member)?),
            "anyOf" | "oneOf" => {
                let choices =
                    member.as_array()?.iter().map(|choice| close(choice).map(Value::Object));
                members.insert("anyOf".to_owned(), Value::Array(choices.collect::<Option<_>>()?));
                continue;
            }
            "$defs" => close_each(member)?,
            _ => continue,
        };
        members.insert(name.clone(), member);
    }
    keep_format(schema, &mut members);
    if is_type(schema, "object") {
        close_object(schema, &mut members)?;
    }
    Some(alone(members))
}

/// Whether nothing says what the value is.
fn allows_anything(schema: &Members) -> bool {
    let says = ["type", "enum", "const", "anyOf", "oneOf", "$ref"];
    !says.into_iter().any(|name| schema.contains_key(name))
}

fn is_type(schema: &Members, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == name),
        kind => kind.is_some_and(|kind| kind == name),
    }
}

fn close_each(schemas: &Value) -> Option<Value> {
    let schemas = schemas.as_object()?.iter();
    let closed = schemas.map(|(name, schema)| Some((name.clone(), Value::Object(close(schema)?))));
    closed.collect::<Option<Members>>().map(Value::Object)
}

/// Closes an object; `None` for a map, whose members have no names yet.
fn close_object(schema: &Members, members: &mut Members) -> Option<()> {
    let is_open = schema.get("additionalProperties").is_some_and(|more| *more != false);
    let Some(Value::Object(properties)) = schema.get("properties").filter(|_| !is_open) else {
        return None;
    };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|own| own == name));
    let mut closed = Members::new();
    for (name, property) in properties {
        let own = close(property)?;
        let own = if is_required(name) { own } else { nullable(own) };
        closed.insert(name.clone(), Value::Object(own));
    }
    let all = closed.keys().map(|name| name.as_str().into()).collect();
    members.insert("properties".to_owned(), Value::Object(closed));
    members.insert("required".to_owned(), Value::Array(all));
    members.insert("additionalProperties".to_owned(), Value::Bool(false));
    Some(())
}

/// The same schema, or null.
fn nullable(mut schema: Members) -> Members {
    let nothing = json!({ "type": "null" });
    // An enum does not contain null, so a wider type alone would not help.
    let lists_values = schema.contains_key("enum") || schema.contains_key("const");
    match (schema.get_mut("anyOf"), lists_values) {
        (Some(Value::Array(choices)), _) => {
            if !choices.contains(&nothing) {
                choices.push(nothing);
            }
            return schema;
        }
        (_, true) => {}
        (_, false) => match schema.get_mut("type") {
            Some(Value::Array(kinds)) => {
                if !kinds.iter().any(|kind| kind == "null") {
                    kinds.push("null".into());
                }
                return schema;
            }
            Some(kind) => {
                *kind = json!([kind.take(), "null"]);
                return schema;
            }
            None => {}
        },
    }
    let description = schema.remove_entry("description");
    let mut choice: Members = description.into_iter().collect();
    choice.insert("anyOf".to_owned(), json!([schema, nothing]));
    choice
}

/// A reference stands alone: what is said beside it goes around it.
fn alone(mut members: Members) -> Members {
    match members.remove("$ref") {
        Some(reference) if members.is_empty() => {
            members.insert("$ref".to_owned(), reference);
        }
        Some(reference) => {
            members.insert("anyOf".to_owned(), json!([{ "$ref": reference }]));
        }
        None => {}
    }
    members
}

/// Keeps a format that strict mode knows; puts another one into the description.
fn keep_format(schema: &Members, members: &mut Members) {
    let Some(format) = schema.get("format").and_then(Value::as_str) else { return };
    if FORMATS.contains(&format) {
        members.insert("format".to_owned(), format.into());
        return;
    }
    let meaning = match format {
        "partial-time" => "For example 10:11:12.",
        "partial-date-time" => "For example 2024-05-06T10:11:12.",
        "zoned-date-time" => "For example 2024-05-06T10:11:12+02:00[Europe/Berlin].",
        format => &format!("Format: {format}."),
    };
    let description = match schema.get("description").and_then(Value::as_str) {
        Some(own) => format!("{own} {meaning}"),
        None => meaning.to_owned(),
    };
    members.insert("description".to_owned(), description.into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::output::Shape;
    use ai_services_core::schema::JsonSchema;
    use serde::Deserialize;
    use std::collections::HashMap;

    #[test]
    fn optional_members_become_nullable_and_objects_closed() {
        let schema = json!({
            "type": "object",
            "properties": {
                "a": { "type": "string" },
                "b": { "type": "integer", "default": 3 },
                "c": { "anyOf": [{ "$ref": "#/$defs/D" }, { "type": "null" }] },
                "d": { "$ref": "#/$defs/D", "description": "A d." },
                "e": { "type": "string", "enum": ["x"] },
                "f": { "anyOf": [{ "type": "string" }] },
            },
            "required": ["a"],
            "$defs": { "D": { "type": "object", "properties": {} } },
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "a": { "type": "string" },
                "b": { "type": ["integer", "null"] },
                "c": { "anyOf": [{ "$ref": "#/$defs/D" }, { "type": "null" }] },
                "d": { "description": "A d.", "anyOf": [{ "$ref": "#/$defs/D" }, { "type": "null" }] },
                "e": { "anyOf": [{ "type": "string", "enum": ["x"] }, { "type": "null" }] },
                "f": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
            },
            "required": ["a", "b", "c", "d", "e", "f"],
            "additionalProperties": false,
            "$defs": {
                "D": {
                    "type": "object", "properties": {}, "required": [],
                    "additionalProperties": false,
                },
            },
        });
        assert_eq!(closed(&schema), Some(expected.clone()));
        assert_eq!(closed(&expected), Some(expected));
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "kind")]
    #[allow(dead_code, reason = "only the schema is used")]
    enum Figure {
        /// Round.
        Circle {
            radius: f64,
        },
        Group(Group),
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only the schema is used")]
    struct Group {
        members: Vec<Figure>,
        initial: Option<char>,
    }

    fn of<T: JsonSchema>() -> Option<Value> {
        closed(Shape::of::<T>().schema()?.1.as_value())
    }

    #[test]
    fn tagged_recursive_and_optional_types_can_be_strict() {
        let figure = of::<Figure>().expect("strict");
        let choices = &figure["$defs"]["Figure"]["anyOf"];
        assert_eq!(choices[0]["description"], "Round.");
        assert_eq!(choices[1]["required"], json!(["initial", "kind", "members"]));
        assert_eq!(choices[1]["properties"]["initial"]["type"], json!(["string", "null"]));
        assert!(!figure.to_string().contains("maxLength"));
        assert!(of::<Option<Vec<Figure>>>().is_some());
    }

    #[test]
    fn what_strict_mode_cannot_say_is_not_strict() {
        #[derive(Deserialize, JsonSchema)]
        #[allow(dead_code, reason = "only the schema is used")]
        struct Of<T> {
            inner: Vec<Option<T>>,
        }

        assert!(of::<Of<u8>>().is_some());
        assert!(of::<Of<HashMap<String, u8>>>().is_none());
        assert!(of::<Of<HashMap<u8, u8>>>().is_none());
        assert!(of::<Of<(u8, String)>>().is_none());
        assert!(of::<Of<Value>>().is_none());
        assert!(closed(&json!({ "type": "object" })).is_none());
        assert!(closed(&json!({ "type": "array", "items": { "type": "null" } })).is_none());
    }

    #[test]
    fn unknown_formats_are_told_in_words() {
        let schema = json!({
            "type": "object",
            "properties": {
                "a": { "type": "string", "format": "partial-time" },
                "b": { "type": "string", "format": "date" },
            },
            "required": ["a", "b"],
        });
        let closed = closed(&schema).expect("strict");
        let time = json!({ "type": "string", "description": "For example 10:11:12." });
        assert_eq!(closed["properties"]["a"], time);
        assert_eq!(closed["properties"]["b"]["format"], "date");
    }
}
