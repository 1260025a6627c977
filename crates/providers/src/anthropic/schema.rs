//! Schemas in the subset of JSON Schema that Anthropic's API enforces.

use crate::protocol::schema_subset::{Keywords, OptionalMembers, Reference, SchemaSubset};
use ai_services_core::schema::Schema;
use serde_json::Value;

/// The subset of the API.
static ENFORCED: SchemaSubset = SchemaSubset {
    kept: &["required"],
    formats: &[
        "date-time",
        "time",
        "date",
        "duration",
        "email",
        "hostname",
        "uri",
        "ipv4",
        "ipv6",
        "uuid",
    ],
    describe: describe_constraints,
    optional: OptionalMembers::Omitted,
    reference: Reference::Bare,
};

/// Constraints that the API does not enforce. They are described to the model in words.
const DESCRIBED: [&str; 12] = [
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

/// Maximum number of optional members, and of schemas with several types, in one schema.
const MAX_OPTIONAL: usize = 24;
const MAX_UNIONS: usize = 16;

/// Larger bounds are those of a Rust integer type, which a model need not know.
const MAX_DESCRIBED_BOUND: f64 = 2_147_483_647.0;

/// Rewrites the schema of an object for the API: all objects closed, bounds in the descriptions.
/// Returns `None` if the API cannot enforce the schema, for example because it has maps, tuples,
/// recursive types or values of any type.
pub(super) fn enforced(schema: &Schema) -> Option<Value> {
    let schema = schema.as_value();
    if schema.get("type")? != "object" {
        return None;
    }
    let restricted = ENFORCED.restrict(schema)?;
    let is_small = restricted.optional <= MAX_OPTIONAL && restricted.unions <= MAX_UNIONS;
    (is_small && !is_recursive(&restricted.schema)).then_some(restricted.schema)
}

fn describe_constraints(schema: &Keywords, restricted: &mut Keywords) {
    // The only lower bounds of lists that the API enforces.
    if let Some(min) = schema.get("minItems").filter(|min| **min == 0 || **min == 1) {
        restricted.insert("minItems".to_owned(), min.clone());
    }
    let is_described = |(name, value): &(&String, &Value)| {
        let is_bound_of_a_type =
            value.as_f64().is_some_and(|bound| bound.abs() >= MAX_DESCRIBED_BOUND);
        DESCRIBED.contains(&name.as_str()) && !restricted.contains_key(*name) && !is_bound_of_a_type
    };
    let constraints: Vec<_> = schema
        .iter()
        .filter(is_described)
        .map(|(name, value)| match value.as_str() {
            Some(text) => format!("{name}: {text}"),
            None => format!("{name}: {value}"),
        })
        .collect();
    if constraints.is_empty() {
        return;
    }
    let constraints = constraints.join(", ");
    let description = match restricted.get("description").and_then(Value::as_str) {
        Some(own) => format!("{own} ({constraints})"),
        None => constraints,
    };
    restricted.insert("description".to_owned(), description.into());
}

/// Returns whether a definition refers to itself, directly or through others.
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
    // Definitions without references to the remaining ones are removed. A cycle is never removed.
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
    fn objects_are_closed_and_bounds_described() {
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
    fn schema_beyond_the_subset_is_not_enforced() {
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
    fn schema_with_too_many_optional_members_is_not_enforced() {
        let schema = |count: usize| {
            let properties: Keywords =
                (0..count).map(|i| (format!("m{i}"), json!({ "type": "string" }))).collect();
            json!({ "type": "object", "properties": properties })
        };
        assert!(restricted(schema(MAX_OPTIONAL)).is_some());
        assert!(restricted(schema(MAX_OPTIONAL + 1)).is_none());
        let union = json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] });
        let unions: Keywords = (0..=MAX_UNIONS).map(|i| (format!("m{i}"), union.clone())).collect();
        let required: Vec<_> = unions.keys().cloned().collect();
        let schema = json!({ "type": "object", "properties": unions, "required": required });
        assert!(restricted(schema).is_none());
    }
}
