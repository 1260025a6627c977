//! Definitions of tools that a server wrote.

use crate::clean::clean_text;
use rmcp::model::{Tool, ToolAnnotations};
use schemars::Schema;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Most characters of a description.
const MAX_DESCRIPTION: usize = 4_096;

/// Most characters of a description in a schema.
const MAX_SCHEMA_TEXT: usize = 1_024;

/// Most nested levels of a schema.
const MAX_SCHEMA_DEPTH: usize = 64;

/// Most bytes of a schema as JSON.
const MAX_SCHEMA_BYTES: usize = 256 * 1024;

/// The checked definition of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    /// The name at the server.
    pub(crate) name: String,
    /// The cleaned description.
    pub(crate) description: String,
    pub(crate) parameters: Schema,
    pub(crate) annotations: Option<ToolAnnotations>,
}

impl Definition {
    /// Checks and cleans a definition.
    ///
    /// # Errors
    ///
    /// Returns the reason why the tool cannot be offered to a model.
    pub(crate) fn new(tool: &Tool) -> Result<Self, String> {
        let name = tool.name.to_string();
        if name.is_empty() || name.chars().count() > 128 {
            return Err("its name does not have 1 to 128 characters".to_owned());
        }
        let input = Value::Object(tool.input_schema.as_ref().clone());
        check_schema(&input, "input schema")?;
        if let Some(output) = &tool.output_schema {
            check_schema(&Value::Object(output.as_ref().clone()), "output schema")?;
        }
        let description = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
        let description = clean_text(description, MAX_DESCRIPTION);
        let annotations = tool.annotations.clone();
        Ok(Self { name, description, parameters: parameters(input)?, annotations })
    }
}

/// Returns the digest of a definition of a server: 64 hexadecimal digits. The order of properties has no influence.
pub(crate) fn digest(server: &str, tool: &Tool) -> String {
    let definition = json!({
        "server": server,
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": tool.annotations,
    });
    let mut canonical = String::new();
    write_canonical(&definition, &mut canonical);
    hex(&Sha256::digest(canonical.as_bytes()))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Writes JSON with sorted properties and without spaces.
fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(name, _)| name.as_str());
            out.push('{');
            for (index, (name, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                let _ = write!(out, "{}:", Value::from(name.as_str()));
                write_canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        leaf => {
            let _ = write!(out, "{leaf}");
        }
    }
}

fn check_schema(schema: &Value, what: &str) -> Result<(), String> {
    check_depth_and_references(schema, 0, what)?;
    if schema.to_string().len() > MAX_SCHEMA_BYTES {
        return Err(format!("its {what} is larger than {MAX_SCHEMA_BYTES} bytes"));
    }
    Ok(())
}

fn check_depth_and_references(value: &Value, depth: usize, what: &str) -> Result<(), String> {
    if depth > MAX_SCHEMA_DEPTH {
        return Err(format!("its {what} is nested more than {MAX_SCHEMA_DEPTH} levels deep"));
    }
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                if is_remote_reference(name, value) {
                    return Err(format!("its {what} refers to another document"));
                }
                check_depth_and_references(value, depth + 1, what)?;
            }
        }
        Value::Array(items) => {
            for item in items {
                check_depth_and_references(item, depth + 1, what)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn is_remote_reference(keyword: &str, value: &Value) -> bool {
    let is_reference = matches!(keyword, "$ref" | "$dynamicRef" | "$recursiveRef");
    is_reference && value.as_str().is_some_and(|target| !target.starts_with('#'))
}

fn parameters(mut schema: Value) -> Result<Schema, String> {
    clean_descriptions(&mut schema);
    if let Value::Object(map) = &mut schema {
        map.entry("type").or_insert_with(|| "object".into());
        if map.get("type").and_then(Value::as_str) != Some("object") {
            return Err("its input schema is not of type `object`".to_owned());
        }
        map.entry("properties").or_insert_with(|| Map::new().into());
    }
    Schema::try_from(schema).map_err(|_| "its input schema is not an object".to_owned())
}

/// Cleans the descriptions of a schema. Values that the arguments must match stay as they are.
fn clean_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.remove("$comment");
            for (keyword, value) in map {
                match (keyword.as_str(), value) {
                    ("description" | "title", Value::String(text)) => {
                        *text = clean_text(text, MAX_SCHEMA_TEXT);
                    }
                    ("const" | "default" | "enum" | "examples" | "required", _) => {}
                    (_, value) => clean_descriptions(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(clean_descriptions),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(schema: Value) -> Tool {
        let Value::Object(schema) = schema else { panic!("not an object") };
        Tool::new("read", "Reads\u{202e} a file.<!-- secret -->", schema)
    }

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!({"type": "string"}), |inner, _| json!({"items": inner}))
    }

    #[test]
    fn descriptions_are_cleaned_and_values_are_kept() {
        let schema = json!({
            "type": "object",
            "$comment": "hidden",
            "properties": {
                "mode": {"enum": ["a\u{200b}"], "description": "The\u{200b} mode."},
                "title": {"type": "string", "default": {"description": "\u{200b}"}},
            },
        });
        let definition = Definition::new(&tool(schema)).unwrap();
        assert_eq!(definition.description, "Reads a file.");
        assert_eq!(
            definition.parameters.to_value(),
            json!({
                "type": "object",
                "properties": {
                    "mode": {"enum": ["a\u{200b}"], "description": "The mode."},
                    "title": {"type": "string", "default": {"description": "\u{200b}"}},
                },
            })
        );
    }

    #[test]
    fn schema_without_type_and_properties_gets_them() {
        let definition = Definition::new(&tool(json!({}))).unwrap();
        assert_eq!(definition.parameters.to_value(), json!({"type": "object", "properties": {}}));
    }

    #[test]
    fn schemas_over_the_limits_are_rejected() {
        let reason = |schema| Definition::new(&tool(schema)).unwrap_err();
        assert!(Definition::new(&tool(json!({"properties": nested(60)}))).is_ok());
        assert!(reason(json!({"properties": nested(70)})).contains("nested more than 64"));
        let large = "x".repeat(MAX_SCHEMA_BYTES);
        assert!(reason(json!({"description": large})).contains("larger than 262144 bytes"));
        let remote = json!({"properties": {"a": {"$ref": "https://evil.example/schema"}}});
        assert!(reason(remote).contains("refers to another document"));
        assert!(reason(json!({"type": "string"})).contains("not of type `object`"));
        let local = json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": true}});
        assert!(Definition::new(&tool(local)).is_ok());
        let mut with_output = tool(json!({}));
        with_output.output_schema =
            Some(std::sync::Arc::new(json!({"$ref": "other.json"}).as_object().unwrap().clone()));
        assert!(Definition::new(&with_output).unwrap_err().contains("output schema"));
    }

    #[test]
    fn digest_ignores_the_order_of_properties() {
        let one: Value = serde_json::from_str(r#"{"a": 1, "b": {"c": 2, "d": 3}}"#).unwrap();
        let other: Value = serde_json::from_str(r#"{"b":{"d":3,"c":2},"a":1}"#).unwrap();
        assert_eq!(digest("s", &tool(one.clone())), digest("s", &tool(other)));
        assert_ne!(digest("s", &tool(one.clone())), digest("t", &tool(one)));
    }
}
