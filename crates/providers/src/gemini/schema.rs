//! Schemas in the `OpenAPI` dialect that all Gemini models know, and in JSON Schema for newer ones.

use crate::protocol::schema_subset::{Keywords, describe_format, wrap_reference};
use serde_json::{Value, json};

/// Maximum nesting depth of a schema with inlined definitions.
const MAX_DEPTH: usize = 32;
/// Maximum number of schemas within a schema with inlined definitions.
const MAX_SCHEMAS: usize = 2000;

/// The keyword for the order of members, in the dialect and in the schemas of this crate.
const ORDER: &str = "propertyOrdering";

/// Keywords with the same meaning in both, in addition to those that [`Converter`] writes itself.
const KEPT: &[&str] = &[
    "description",
    "default",
    "pattern",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
];

/// Keywords that allow or forbid values in a way that the dialect cannot express.
const REFUSED: &[&str] = &["not", "if", "prefixItems", "contains", "patternProperties"];

/// Converts a schema to the API's own dialect: types in capitals, `nullable`, no references.
///
/// Returns `None` if the dialect cannot express the schema: recursive types, maps, tuples, values
/// of any type, enums of other values than strings. Constraints that not all models know are
/// dropped; formats are added to the description.
pub(super) fn open_api(schema: &Value) -> Option<Value> {
    let mut converter = Converter { root: schema, open: Vec::new(), left: MAX_SCHEMAS };
    converter.convert(schema, 0).map(Value::Object)
}

/// Returns a schema with nothing beside a reference, which the API would reject.
pub(super) fn json_schema(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), json_schema(value)));
            let members: Keywords = members.collect();
            // Objects may have a member of this name, too.
            let has_reference = members.get("$ref").is_some_and(Value::is_string);
            Value::Object(if has_reference { wrap_reference(members) } else { members })
        }
        Value::Array(list) => list.iter().map(json_schema).collect(),
        other => other.clone(),
    }
}

struct Converter<'a> {
    root: &'a Value,
    /// The references that are being resolved.
    open: Vec<String>,
    left: usize,
}

impl Converter<'_> {
    fn convert(&mut self, schema: &Value, depth: usize) -> Option<Keywords> {
        self.left = self.left.checked_sub(1)?;
        if depth > MAX_DEPTH {
            return None;
        }
        let members = schema.as_object()?;
        if let Some(reference) = members.get("$ref") {
            return self.follow(reference.as_str()?, members, depth);
        }
        if let Some(parts) = members.get("allOf") {
            let merged = self.merge(parts.as_array()?, members)?;
            return self.convert(&Value::Object(merged), depth + 1);
        }
        if REFUSED.iter().any(|name| members.contains_key(*name)) {
            return None;
        }
        if let Some(choices) = members.get("anyOf").or_else(|| members.get("oneOf")) {
            return self.choices(choices.as_array()?, members, depth);
        }
        self.typed(members, depth)
    }

    /// Replaces a reference by its definition. Keywords beside the reference win.
    fn follow(&mut self, reference: &str, members: &Keywords, depth: usize) -> Option<Keywords> {
        if self.open.iter().any(|open| open == reference) {
            return None;
        }
        let mut merged = self.definition(reference)?;
        let own = members.iter().filter(|(name, _)| *name != "$ref");
        merged.extend(own.map(|(name, value)| (name.clone(), value.clone())));
        self.open.push(reference.to_owned());
        let converted = self.convert(&Value::Object(merged), depth + 1);
        self.open.pop();
        converted
    }

    fn definition(&self, reference: &str) -> Option<Keywords> {
        self.root.pointer(reference.strip_prefix('#')?)?.as_object().cloned()
    }

    /// Merges the parts of an `allOf`.
    fn merge(&self, parts: &[Value], members: &Keywords) -> Option<Keywords> {
        let mut merged = Keywords::new();
        let own = members.iter().filter(|(name, _)| *name != "allOf");
        let own = own.map(|(name, value)| (name.clone(), value.clone())).collect();
        for part in parts.iter().map(Value::as_object).chain([Some(&own)]) {
            let mut part = part?.clone();
            if let Some(reference) = part.remove("$ref") {
                let mut whole = self.definition(reference.as_str()?)?;
                whole.extend(part);
                part = whole;
            }
            for (name, value) in part {
                match (merged.get_mut(&name), value) {
                    (Some(Value::Object(all)), Value::Object(more)) => all.extend(more),
                    (Some(Value::Array(all)), Value::Array(more)) if name == "required" => {
                        all.extend(more);
                    }
                    (_, value) => drop(merged.insert(name, value)),
                }
            }
        }
        Some(merged)
    }

    /// Converts a union. The dialect has `nullable` instead of the type null.
    fn choices(&mut self, list: &[Value], members: &Keywords, depth: usize) -> Option<Keywords> {
        if members.contains_key("properties") {
            return None;
        }
        let is_null = |choice: &Value| choice.get("type").is_some_and(|kind| kind == "null");
        let mut converted = Vec::new();
        for choice in list.iter().filter(|choice| !is_null(choice)) {
            converted.push(self.convert(choice, depth + 1)?);
        }
        let nullable = list.iter().any(is_null) || members.get("nullable") == Some(&true.into());
        let mut whole = match converted.len() {
            0 => return None,
            1 => converted.pop()?,
            _ => Keywords::from_iter([("anyOf".to_owned(), json!(converted))]),
        };
        if let Some(description) = members.get("description") {
            whole.insert("description".to_owned(), description.clone());
        }
        if nullable {
            whole.insert("nullable".to_owned(), true.into());
        }
        Some(whole)
    }

    /// Converts a schema with one or several types.
    fn typed(&mut self, members: &Keywords, depth: usize) -> Option<Keywords> {
        let kinds: Vec<&str> = match members.get("type") {
            Some(Value::Array(kinds)) => kinds.iter().map(Value::as_str).collect::<Option<_>>()?,
            Some(kind) => vec![kind.as_str()?],
            None if members.contains_key("enum") || members.contains_key("const") => vec!["string"],
            None if members.contains_key("properties") => vec!["object"],
            None => return None,
        };
        let others: Vec<&str> = kinds.iter().filter(|kind| **kind != "null").copied().collect();
        let mut whole = match others.as_slice() {
            [] => return Some(Keywords::from_iter([("type".to_owned(), "NULL".into())])),
            [kind] => self.one_type(kind, members, depth)?,
            several => {
                let mut choices = Vec::new();
                for kind in several {
                    let mut choice = self.one_type(kind, members, depth)?;
                    choice.remove("description");
                    choices.push(choice);
                }
                let choices = [("anyOf".to_owned(), json!(choices))];
                let description = members.get_key_value("description");
                let description =
                    description.map(|(name, description)| (name.clone(), description.clone()));
                choices.into_iter().chain(description).collect()
            }
        };
        if others.len() < kinds.len() || members.get("nullable") == Some(&true.into()) {
            whole.insert("nullable".to_owned(), true.into());
        }
        Some(whole)
    }

    fn one_type(&mut self, kind: &str, members: &Keywords, depth: usize) -> Option<Keywords> {
        let mut whole: Keywords = KEPT
            .iter()
            .filter_map(|name| members.get_key_value(*name))
            .filter(|(name, value)| is_well_formed(name, value))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        whole.insert("type".to_owned(), kind.to_ascii_uppercase().into());
        self.values(kind, members, &mut whole)?;
        keep_format(kind, members, &mut whole);
        match kind {
            "object" => self.object(members, &mut whole, depth)?,
            "array" => {
                let items = self.convert(members.get("items")?, depth + 1)?;
                whole.insert("items".to_owned(), Value::Object(items));
            }
            "string" | "integer" | "number" | "boolean" => {}
            _ => return None,
        }
        Some(whole)
    }

    /// Converts the values of an enum, which must be strings.
    fn values(&self, kind: &str, members: &Keywords, whole: &mut Keywords) -> Option<()> {
        let values = match (members.get("enum"), members.get("const")) {
            (Some(values), _) => values.as_array()?.clone(),
            (None, Some(value)) => vec![value.clone()],
            (None, None) => return Some(()),
        };
        let (nothing, values): (Vec<_>, Vec<_>) = values.into_iter().partition(Value::is_null);
        let are_texts =
            values.iter().all(|value| value.as_str().is_some_and(|text| !text.is_empty()));
        if kind != "string" || !are_texts || values.is_empty() {
            return None;
        }
        if !nothing.is_empty() {
            whole.insert("nullable".to_owned(), true.into());
        }
        whole.insert("format".to_owned(), "enum".into());
        whole.insert("enum".to_owned(), Value::Array(values));
        Some(())
    }

    fn object(&mut self, members: &Keywords, whole: &mut Keywords, depth: usize) -> Option<()> {
        // A map, whose members have no fixed names.
        if members.get("additionalProperties").is_some_and(Value::is_object) {
            return None;
        }
        let properties = members.get("properties")?.as_object().filter(|all| !all.is_empty())?;
        let mut converted = Keywords::new();
        for (name, property) in properties {
            let property = self.convert(property, depth + 1)?;
            converted.insert(name.clone(), Value::Object(property));
        }
        for list in ["required", ORDER] {
            let names = members.get(list).and_then(Value::as_array).into_iter().flatten();
            let names = names
                .filter(|name| name.as_str().is_some_and(|name| properties.contains_key(name)));
            let names: Vec<Value> = names.cloned().collect();
            if !names.is_empty() {
                whole.insert(list.to_owned(), Value::Array(names));
            }
        }
        whole.insert("properties".to_owned(), Value::Object(converted));
        Some(())
    }
}

/// Returns whether a keyword has a value of the type that the API expects.
fn is_well_formed(name: &str, value: &Value) -> bool {
    match name {
        "description" | "pattern" => value.is_string(),
        "minimum" | "maximum" => value.is_number(),
        "default" => true,
        _ => value.is_u64(),
    }
}

/// Keeps a format that all models know. Adds other formats of strings to the description.
fn keep_format(kind: &str, members: &Keywords, whole: &mut Keywords) {
    let Some(format) = members.get("format").and_then(Value::as_str) else { return };
    match (kind, format) {
        (_, _) if whole.contains_key("enum") => {}
        ("string", "date-time")
        | ("number", "float" | "double")
        | ("integer", "int32" | "int64") => {
            whole.insert("format".to_owned(), format.into());
        }
        ("string", format) => describe_format(format, members, whole),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::output::Shape;
    use ai_services_core::schema::JsonSchema;
    use proptest::prelude::*;
    use serde::Deserialize;
    use std::collections::HashMap;

    #[test]
    fn references_nulls_and_constants_are_converted() {
        let schema = json!({
            "type": "object",
            "properties": {
                "kind": { "const": "x" },
                "mood": { "type": ["string", "null"], "enum": ["good", "bad", null] },
                "part": { "$ref": "#/$defs/Part", "description": "The part." },
                "maybe": { "anyOf": [{ "$ref": "#/$defs/Part" }, { "type": "null" }] },
                "either": { "oneOf": [{ "type": "integer" }, { "type": "string" }], "title": "t" },
                "several": { "type": ["integer", "string", "null"], "description": "d" },
                "all": { "allOf": [{ "$ref": "#/$defs/Part" }, { "properties": { "m": { "type": "boolean" } } }] },
            },
            "required": ["kind", "nobody"],
            "propertyOrdering": ["part", "kind"],
            "additionalProperties": false,
            "$defs": { "Part": { "type": "object", "properties": { "n": { "type": "integer" } },
                "required": ["n"], "additionalProperties": false } },
        });
        let n = json!({ "type": "INTEGER" });
        let part = json!({ "type": "OBJECT", "properties": { "n": n }, "required": ["n"] });
        let with = |name: &str, value: Value| {
            let mut part = part.clone();
            part[name] = value;
            part
        };
        let expected = json!({
            "type": "OBJECT",
            "properties": {
                "kind": { "type": "STRING", "format": "enum", "enum": ["x"] },
                "mood": { "type": "STRING", "format": "enum", "enum": ["good", "bad"], "nullable": true },
                "part": with("description", json!("The part.")),
                "maybe": with("nullable", json!(true)),
                "either": { "anyOf": [{ "type": "INTEGER" }, { "type": "STRING" }] },
                "several": { "anyOf": [{ "type": "INTEGER" }, { "type": "STRING" }],
                    "nullable": true, "description": "d" },
                "all": with("properties", json!({ "n": n, "m": { "type": "BOOLEAN" } })),
            },
            "required": ["kind"],
            "propertyOrdering": ["part", "kind"],
        });
        assert_eq!(open_api(&schema), Some(expected));
    }

    #[test]
    fn constraints_that_all_models_know_are_kept() {
        let schema = json!({ "type": "object", "properties": {
            "a": { "type": "string", "format": "date-time", "minLength": 1, "pattern": "x", "contentEncoding": "y" },
            "b": { "type": "string", "format": "date", "description": "B." },
            "c": { "type": "integer", "format": "uint8", "minimum": 0, "maximum": 255, "multipleOf": 2 },
            "d": { "type": "number", "format": "double", "exclusiveMinimum": 0 },
            "e": { "type": "array", "items": { "type": "string", "format": "partial-time" }, "minItems": 1,
                "uniqueItems": true },
        }, "additionalProperties": true, "$schema": "s", "title": "T" });
        let expected = json!({ "type": "OBJECT", "properties": {
            "a": { "type": "STRING", "format": "date-time", "minLength": 1, "pattern": "x" },
            "b": { "type": "STRING", "description": "B. Format: date." },
            "c": { "type": "INTEGER", "minimum": 0, "maximum": 255 },
            "d": { "type": "NUMBER", "format": "double" },
            "e": { "type": "ARRAY", "minItems": 1,
                "items": { "type": "STRING", "description": "For example 10:11:12." } },
        } });
        assert_eq!(open_api(&schema), Some(expected));
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only the schema is used")]
    struct Of<T> {
        inner: Vec<Option<T>>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only the schema is used")]
    struct Node {
        why: String,
        children: Vec<Self>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "kind")]
    #[allow(dead_code, reason = "only the schema is used")]
    enum Figure {
        Circle { radius: f64 },
        Square { side: f64 },
    }

    fn of<T: JsonSchema>() -> Option<Value> {
        open_api(Shape::of::<T>().schema()?.1.as_value())
    }

    #[test]
    fn rust_types_are_converted_if_the_dialect_can_express_them() {
        assert!(of::<Of<u8>>().is_some());
        let figure = of::<Figure>().expect("said").to_string();
        assert!(figure.contains(r#""enum":["Circle"]"#) && !figure.contains("$ref"), "{figure}");
        for unsupported in [
            of::<Node>(),
            of::<Of<HashMap<String, u8>>>(),
            of::<Of<(u8, String)>>(),
            of::<Of<Value>>(),
        ] {
            assert_eq!(unsupported, None);
        }
    }

    #[test]
    fn exponentially_growing_definitions_are_rejected() {
        let mut definitions = Keywords::new();
        for level in 0..40 {
            let next = json!({ "$ref": format!("#/$defs/{}", level + 1) });
            let properties = json!({ "a": next, "b": next });
            definitions
                .insert(level.to_string(), json!({ "type": "object", "properties": properties }));
        }
        definitions.insert("40".to_owned(), json!({ "type": "string" }));
        assert_eq!(open_api(&json!({ "$ref": "#/$defs/0", "$defs": definitions })), None);
        assert_eq!(open_api(&json!({ "$ref": "#" })), None);
        assert_eq!(open_api(&json!({ "$ref": "https://elsewhere" })), None);
    }

    #[test]
    fn reference_has_no_siblings_in_json_schema() {
        let schema = json!({ "properties": { "a": { "$ref": "#/$defs/A", "description": "d" },
            "b": { "$ref": "#/$defs/A" } } });
        let expected = json!({ "properties": {
            "a": { "anyOf": [{ "$ref": "#/$defs/A" }], "description": "d" },
            "b": { "$ref": "#/$defs/A" } } });
        assert_eq!(json_schema(&schema), expected);
    }

    fn anything() -> impl Strategy<Value = Value> {
        let words = [
            "type",
            "properties",
            "items",
            "anyOf",
            "oneOf",
            "allOf",
            "$ref",
            "$defs",
            "enum",
            "const",
            "required",
            "format",
            "description",
            "additionalProperties",
            "nullable",
            "x",
        ];
        let texts =
            ["object", "array", "string", "null", "#", "#/$defs/x", "#/x", "", "date", "integer"];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            prop::sample::select(texts.to_vec()).prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 96, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(prop::sample::select(words.to_vec()), inner, 0..6)
                    .prop_map(|members| {
                        let members =
                            members.into_iter().map(|(name, value)| (name.to_owned(), value));
                        Value::Object(members.collect())
                    }),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_json_is_converted_or_rejected(schema in anything()) {
            json_schema(&schema);
            if let Some(converted) = open_api(&schema) {
                // The result is a schema without references.
                prop_assert!(converted.get("type").is_some() || converted.get("anyOf").is_some());
                prop_assert!(converted.get("$ref").is_none());
            }
        }
    }
}
