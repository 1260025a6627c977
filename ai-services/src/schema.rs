//! JSON Schemas of tool parameters.

pub use schemars::{JsonSchema, Schema};

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use serde_json::{Map, Value};

/// One property of an object schema: how to make its schema, and what is known beside the type.
pub(crate) struct Property {
    pub(crate) name: &'static str,
    pub(crate) description: Option<&'static str>,
    pub(crate) schema: fn(&mut schemars::SchemaGenerator) -> Schema,
    pub(crate) requirement: Requirement,
}

/// Whether a property must be given.
pub(crate) enum Requirement {
    Required,
    Optional,
    Default(Value),
}

/// An object schema with these properties. Types used more than once, or recursively, are in `$defs`.
pub(crate) fn object(properties: Vec<Property>) -> Schema {
    let mut generator = SchemaSettings::draft2020_12()
        .with(|settings| settings.meta_schema = None)
        .into_generator();
    let mut members = Map::new();
    let mut required = Vec::new();
    for property in properties {
        let mut schema = (property.schema)(&mut generator);
        if let Some(description) = property.description {
            schema.insert("description".to_owned(), description.into());
        }
        match property.requirement {
            Requirement::Required => required.push(Value::from(property.name)),
            Requirement::Optional => {}
            Requirement::Default(value) => {
                schema.insert("default".to_owned(), value);
            }
        }
        members.insert(property.name.to_owned(), schema.to_value());
    }
    let mut object = Schema::default();
    object.insert("type".to_owned(), "object".into());
    object.insert("properties".to_owned(), Value::Object(members));
    if !required.is_empty() {
        object.insert("required".to_owned(), Value::Array(required));
    }
    let definitions = generator.take_definitions(true);
    if !definitions.is_empty() {
        object.insert("$defs".to_owned(), Value::Object(definitions));
    }
    RecursiveTransform(plain).transform(&mut object);
    object
}

/// Takes out what only a reader of Rust understands: titles, and integer formats such as `uint32`.
fn plain(schema: &mut Schema) {
    schema.remove("title");
    let is_number = matches!(
        schema.get("format").and_then(Value::as_str),
        Some("uint" | "uint8" | "uint16" | "uint32" | "uint64" | "uint128")
            | Some("int" | "int8" | "int16" | "int32" | "int64" | "int128" | "float" | "double")
    );
    if is_number {
        schema.remove("format");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemars::JsonSchema;
    use serde_json::json;

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only the schema is used")]
    struct Node {
        /// What it is called.
        name: String,
        children: Vec<Self>,
    }

    fn property<T: JsonSchema>(name: &'static str, requirement: Requirement) -> Property {
        Property {
            name,
            description: None,
            schema: |generator| generator.subschema_for::<T>(),
            requirement,
        }
    }

    #[test]
    fn recursion_goes_through_definitions() {
        let schema = object(vec![
            property::<Node>("root", Requirement::Required),
            property::<u32>("depth", Requirement::Default(json!(3))),
        ]);
        assert_eq!(
            schema.to_value(),
            json!({
                "type": "object",
                "properties": {
                    "root": { "$ref": "#/$defs/Node" },
                    "depth": { "type": "integer", "minimum": 0, "default": 3 },
                },
                "required": ["root"],
                "$defs": {
                    "Node": {
                        "type": "object",
                        "properties": {
                            "name": { "type": "string", "description": "What it is called." },
                            "children": { "type": "array", "items": { "$ref": "#/$defs/Node" } },
                        },
                        "required": ["name", "children"],
                    },
                },
            })
        );
    }
}
