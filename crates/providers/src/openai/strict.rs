//! Schemas in the subset of JSON Schema that OpenAI's strict mode accepts.

use crate::protocol::schema_subset::{
    Keywords, OptionalMembers, Reference, SchemaSubset, describe_format,
};
use serde_json::Value;

/// The subset of strict mode. Unknown constraints, such as the length of a text, are dropped.
static STRICT: SchemaSubset = SchemaSubset {
    kept: &[
        "pattern",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minItems",
        "maxItems",
    ],
    formats: &[
        "date-time",
        "time",
        "date",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "uuid",
    ],
    describe: describe_unknown_format,
    optional: OptionalMembers::Nullable,
    reference: Reference::Wrapped,
};

/// Rewrites the schema of an object for strict mode: objects closed, all members required, the
/// optional ones nullable. Returns `None` if strict mode cannot express the schema, for example
/// because it has maps, tuples or values of any type.
pub(super) fn closed(schema: &Value) -> Option<Value> {
    let is_object = schema.get("type")? == "object" && schema.get("anyOf").is_none();
    if is_object { STRICT.restrict(schema).map(|restricted| restricted.schema) } else { None }
}

fn describe_unknown_format(schema: &Keywords, restricted: &mut Keywords) {
    if let Some(format) = schema.get("format").and_then(Value::as_str)
        && !restricted.contains_key("format")
    {
        describe_format(format, schema, restricted);
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
    fn schema_beyond_the_subset_is_not_strict() {
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
    fn unknown_format_is_described_in_words() {
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
