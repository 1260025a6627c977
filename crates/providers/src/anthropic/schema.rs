//! Schemas in the subset of JSON Schema that the API enforces.

use ai_services_core::schema::Schema;
use serde_json::{Map, Value};

type Members = Map<String, Value>;

/// What may stand in a schema as it is.
const KEPT: &[&str] = &[
    "type",
    "description",
    "enum",
    "const",
    "required",
    "$ref",
    // Not sent, but followed.
    "propertyOrdering",
];

/// What allows or forbids values in a way that cannot be enforced.
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

/// What narrows a value down, which the API does not enforce: the model is told in words.
const TOLD: &[&str] = &[
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "format",
];

/// Formats of texts that the API enforces.
const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];

/// The most members that may be missing, and the most that may be of several types, in one schema.
const MAX_OPTIONAL: usize = 24;
const MAX_UNIONS: usize = 16;

/// A bound beyond this one is that of a type of Rust, of which a model need not know.
const LARGE: f64 = 2_147_483_647.0;

/// The schema of an object as the API enforces it, if it can be written so: all objects closed, nothing
/// that refers to itself. Maps, tuples, recursive types and values of any form cannot.
pub(super) fn enforced(schema: &Schema) -> Option<Value> {
    let schema = schema.as_value();
    if schema.get("type")? != "object" {
        return None;
    }
    let mut count = Count::default();
    let restricted = Value::Object(restrict(schema, &mut count)?);
    let is_small = count.optional <= MAX_OPTIONAL && count.unions <= MAX_UNIONS;
    (is_small && !is_recursive(&restricted)).then_some(restricted)
}

#[derive(Default)]
struct Count {
    optional: usize,
    unions: usize,
}

fn restrict(schema: &Value, count: &mut Count) -> Option<Members> {
    // `true`, which allows everything, is no object.
    let schema = schema.as_object()?;
    if REFUSED.iter().any(|name| schema.contains_key(*name)) || allows_anything(schema) {
        return None;
    }
    let mut members = Members::new();
    for (name, member) in schema {
        let (name, member) = match name.as_str() {
            name if KEPT.contains(&name) => (name, member.clone()),
            "items" => ("items", Value::Object(restrict(member, count)?)),
            "anyOf" | "oneOf" => ("anyOf", choices(member, count)?),
            "$defs" => ("$defs", each(member, count)?),
            "format" if FORMATS.iter().any(|known| member == known) => ("format", member.clone()),
            "minItems" if *member == 1 || *member == 0 => ("minItems", member.clone()),
            _ => continue,
        };
        members.insert(name.to_owned(), member);
    }
    tell(schema, &mut members);
    if members.contains_key("anyOf") || matches!(schema.get("type"), Some(Value::Array(_))) {
        count.unions += 1;
    }
    if is_type(schema, "object") {
        close(schema, &mut members, count)?;
    }
    // What is said beside a reference is not allowed there.
    Some(match members.remove_entry("$ref") {
        Some(reference) => [reference].into_iter().collect(),
        None => members,
    })
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

fn choices(choices: &Value, count: &mut Count) -> Option<Value> {
    let choices = choices.as_array()?.iter();
    choices.map(|choice| restrict(choice, count).map(Value::Object)).collect()
}

fn each(schemas: &Value, count: &mut Count) -> Option<Value> {
    let schemas = schemas.as_object()?.iter();
    let restricted =
        schemas.map(|(name, schema)| Some((name.clone(), restrict(schema, count)?.into())));
    restricted.collect::<Option<Members>>().map(Value::Object)
}

/// Closes an object; `None` for a map, whose members have no names yet.
fn close(schema: &Members, members: &mut Members, count: &mut Count) -> Option<()> {
    let is_open = schema.get("additionalProperties").is_some_and(|more| *more != false);
    let Some(Value::Object(properties)) = schema.get("properties").filter(|_| !is_open) else {
        return None;
    };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|own| own == name));
    let mut closed = Members::new();
    for (name, property) in properties {
        let own = match is_required(name) {
            true => restrict(property, count)?,
            false => restrict(&without_null(property), count)?,
        };
        count.optional += usize::from(!is_required(name));
        closed.insert(name.clone(), Value::Object(own));
    }
    members.insert("properties".to_owned(), Value::Object(closed));
    members.insert("additionalProperties".to_owned(), Value::Bool(false));
    Some(())
}

/// The same schema without null, for a member that may be missing instead: members of several types are
/// few in number.
fn without_null(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_mut_slice() {
            let kind = kind.take();
            if let Some(own) = schema.get_mut("type") {
                *own = kind;
            }
        }
        return schema;
    }
    let Some(Value::Array(choices)) = schema.get_mut("anyOf") else { return schema };
    choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
    let [only] = choices.as_mut_slice() else { return schema };
    let mut only = only.take();
    if let (Value::Object(only), Some(description)) = (&mut only, schema.get("description")) {
        only.entry("description").or_insert_with(|| description.clone());
    }
    only
}

/// Puts into words what is not enforced.
fn tell(schema: &Members, members: &mut Members) {
    let is_told = |(name, value): &(&String, &Value)| {
        let is_bound_of_a_type = value.as_f64().is_some_and(|bound| bound.abs() >= LARGE);
        TOLD.contains(&name.as_str()) && !members.contains_key(*name) && !is_bound_of_a_type
    };
    let told: Vec<_> = schema
        .iter()
        .filter(is_told)
        .map(|(name, value)| match value.as_str() {
            Some(text) => format!("{name}: {text}"),
            None => format!("{name}: {value}"),
        })
        .collect();
    if told.is_empty() {
        return;
    }
    let own = members.get("description").and_then(Value::as_str);
    let told = told.join(", ");
    let description = own.map_or_else(|| told.clone(), |own| format!("{own} ({told})"));
    members.insert("description".to_owned(), description.into());
}

/// Whether a definition refers to itself, or to one that does.
fn is_recursive(root: &Value) -> bool {
    let Some(Value::Object(definitions)) = root.get("$defs") else { return false };
    let mut edges: Vec<(&str, Vec<&str>)> = definitions
        .iter()
        .map(|(name, schema)| {
            let mut targets = Vec::new();
            references(schema, &mut targets);
            (name.as_str(), targets)
        })
        .collect();
    // What refers to nothing that is left is done; what is never done is a circle.
    loop {
        let left: Vec<&str> = edges.iter().map(|(name, _)| *name).collect();
        let before = edges.len();
        edges.retain(|(_, targets)| targets.iter().any(|target| left.contains(target)));
        if edges.len() == before {
            return before > 0;
        }
    }
}

fn references<'a>(schema: &'a Value, found: &mut Vec<&'a str>) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                found.extend(reference.strip_prefix("#/$defs/"));
            }
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(list) => list.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::output::Shape;
    use ai_services_core::schema::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;
    use std::collections::HashMap;

    fn of<T: JsonSchema>() -> Option<Value> {
        enforced(Shape::of::<T>().schema()?.1)
    }

    fn restricted(schema: Value) -> Option<Value> {
        enforced(&schema.try_into().unwrap())
    }

    #[test]
    fn objects_are_closed_and_bounds_told() {
        let schema = json!({
            "type": "object",
            "properties": {
                "a": { "type": "string", "minLength": 1, "maxLength": 9, "description": "An a." },
                "b": { "type": "integer", "minimum": 0, "maximum": 255, "default": 3 },
                "c": { "anyOf": [{ "$ref": "#/$defs/D" }, { "type": "null" }] },
                "d": { "$ref": "#/$defs/D", "description": "A d." },
                "h": { "type": ["string", "null"], "description": "An h." },
                "i": { "anyOf": [{ "type": "string" }, { "type": "null" }, { "type": "integer" }] },
                "e": { "type": "array", "minItems": 1, "maxItems": 3, "items": { "type": "integer",
                    "minimum": i64::MIN, "maximum": i64::MAX } },
                "f": { "type": "string", "format": "date" },
                "g": { "type": "string", "format": "zoned" },
            },
            "required": ["a"],
            "$defs": { "D": { "type": "object", "properties": {} } },
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "a": { "type": "string", "description": "An a. (maxLength: 9, minLength: 1)" },
                "b": { "type": "integer", "description": "maximum: 255, minimum: 0" },
                "c": { "$ref": "#/$defs/D" },
                "d": { "$ref": "#/$defs/D" },
                "h": { "type": "string", "description": "An h." },
                "i": { "anyOf": [{ "type": "string" }, { "type": "integer" }] },
                "e": { "type": "array", "minItems": 1, "description": "maxItems: 3",
                    "items": { "type": "integer" } },
                "f": { "type": "string", "format": "date" },
                "g": { "type": "string", "description": "format: zoned" },
            },
            "required": ["a"],
            "additionalProperties": false,
            "$defs": { "D": { "type": "object", "properties": {}, "additionalProperties": false } },
        });
        assert_eq!(restricted(schema), Some(expected.clone()));
        assert_eq!(restricted(expected.clone()), Some(expected));
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only the schema is used")]
    struct Of<T> {
        inner: Vec<Option<T>>,
        other: Option<T>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only the schema is used")]
    struct Tree {
        value: u8,
        children: Vec<Self>,
    }

    #[test]
    fn what_cannot_be_enforced_is_told_from_what_can() {
        assert!(of::<Of<u8>>().is_some());
        assert!(of::<Of<Of<String>>>().is_some());
        assert!(of::<Of<HashMap<String, u8>>>().is_none());
        assert!(of::<Of<(u8, String)>>().is_none());
        assert!(of::<Of<Value>>().is_none());
        assert!(of::<Tree>().is_none());
        assert!(of::<Of<Tree>>().is_none());
        assert!(restricted(json!({ "type": "object" })).is_none());
    }

    #[test]
    fn too_many_optional_members_cannot_be_enforced() {
        let schema = |count: usize| {
            let properties: Members =
                (0..count).map(|i| (format!("m{i}"), json!({ "type": "string" }))).collect();
            json!({ "type": "object", "properties": properties })
        };
        assert!(restricted(schema(MAX_OPTIONAL)).is_some());
        assert!(restricted(schema(MAX_OPTIONAL + 1)).is_none());
        let union = json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] });
        let unions: Members = (0..=MAX_UNIONS).map(|i| (format!("m{i}"), union.clone())).collect();
        let required: Vec<_> = unions.keys().cloned().collect();
        let schema = json!({ "type": "object", "properties": unions, "required": required });
        assert!(restricted(schema).is_none());
    }
}
