//! JSON Schemas of tool parameters and of answers.

mod bounds;
mod choices;
mod merge;
mod order;
mod plain;

#[doc(hidden)]
pub use order::Ordered;
pub use order::in_order;
pub use schemars::{JsonSchema, Schema};

use schemars::SchemaGenerator;
use schemars::generate::{Contract, SchemaSettings};
use serde_json::{Map, Value};

/// The schema of a type: its own, and the definitions that this refers to.
pub(crate) struct Described {
    /// Never a mere reference.
    pub(crate) schema: Value,
    pub(crate) definitions: Map<String, Value>,
    /// A reference to the definition of the type itself, if it contains itself.
    pub(crate) recursion: Option<Value>,
}

/// Describes a type, before anything is made [plain].
pub(crate) fn describe<T: JsonSchema>() -> Described {
    let mut generator = generator(Contract::Deserialize);
    let mut schema = T::json_schema(&mut generator).to_value();
    // The type is in the definitions already if, and only if, it was met inside itself.
    let mut again = generator.clone();
    let reference = again.subschema_for::<T>();
    let is_recursive = reference.get("$ref").is_some()
        && again.definitions().len() == generator.definitions().len();
    let mut definitions = generator.take_definitions(false);
    let mut written = self::generator(Contract::Serialize);
    order::note(&mut schema, T::json_schema(&mut written).as_value());
    order::note_each(&mut definitions, &written.take_definitions(false));
    Described { schema, definitions, recursion: is_recursive.then(|| reference.to_value()) }
}

/// An object schema whose only member is `name`.
pub(crate) fn wrap(name: &str, schema: Value) -> Value {
    let mut members = Map::new();
    members.insert(name.to_owned(), schema);
    let mut object = Map::new();
    object.insert("type".to_owned(), "object".into());
    object.insert("properties".to_owned(), Value::Object(members));
    object.insert("required".to_owned(), Value::Array(vec![name.into()]));
    Value::Object(object)
}

/// The schema with these definitions, made plain: without what only a reader of Rust understands.
pub(crate) fn plain(mut schema: Value, definitions: Map<String, Value>) -> Schema {
    if let Value::Object(members) = &mut schema
        && !definitions.is_empty()
    {
        members.insert("$defs".to_owned(), Value::Object(definitions));
    }
    plain::simplify(&mut schema);
    // Made from an object or a boolean, it is one.
    Schema::try_from(schema).unwrap_or_default()
}

/// What a reference to a definition means.
pub(crate) fn definition<'a>(
    reference: &Value,
    definitions: &'a Map<String, Value>,
) -> Option<&'a Value> {
    merge::definition(reference, definitions)
}

/// Calls `visit` with every schema directly inside a schema.
pub(crate) fn each_inner<'a>(
    members: &'a mut Map<String, Value>,
    visit: &mut dyn FnMut(&'a mut Value),
) {
    for (name, member) in members {
        match (name.as_str(), member) {
            ("properties" | "patternProperties" | "$defs", Value::Object(schemas)) => {
                schemas.values_mut().for_each(&mut *visit);
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(&mut *visit);
            }
            ("items" | "additionalProperties" | "not", schema) => visit(schema),
            _ => {}
        }
    }
}

fn generator(contract: Contract) -> SchemaGenerator {
    let mut settings = SchemaSettings::draft2020_12();
    (settings.meta_schema, settings.contract) = (None, contract);
    settings.into_generator()
}

/// One property of an object schema: how to make its schema, and what is known beside the type.
pub struct Property {
    #[doc(hidden)]
    pub name: &'static str,
    #[doc(hidden)]
    pub description: Option<&'static str>,
    #[doc(hidden)]
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    #[doc(hidden)]
    pub requirement: Requirement,
}

/// Whether a property must be given.
pub enum Requirement {
    Required,
    Optional,
    Default(Value),
}

/// An object schema with these properties. Types used more than once, or recursively, are in `$defs`.
pub fn object(properties: Vec<Property>) -> Schema {
    let mut generator = generator(Contract::Deserialize);
    let mut written = self::generator(Contract::Serialize);
    let mut members = Map::new();
    let mut required = Vec::new();
    let names = properties.iter().map(|property| property.name.into()).collect();
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
        let mut schema = schema.to_value();
        order::note(&mut schema, (property.schema)(&mut written).as_value());
        members.insert(property.name.to_owned(), schema);
    }
    let mut object = Schema::default();
    object.insert("type".to_owned(), "object".into());
    object.insert("properties".to_owned(), Value::Object(members));
    if !required.is_empty() {
        object.insert("required".to_owned(), Value::Array(required));
    }
    object.insert(order::KEYWORD.to_owned(), Value::Array(names));
    let mut definitions = generator.take_definitions(false);
    order::note_each(&mut definitions, &written.take_definitions(false));
    plain(object.to_value(), definitions)
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
                    "depth": {
                        "type": "integer", "minimum": 0, "maximum": u32::MAX, "default": 3,
                    },
                },
                "required": ["root"],
                "propertyOrdering": ["root", "depth"],
                "$defs": {
                    "Node": {
                        "type": "object",
                        "properties": {
                            "name": { "type": "string", "description": "What it is called." },
                            "children": { "type": "array", "items": { "$ref": "#/$defs/Node" } },
                        },
                        "required": ["name", "children"],
                        "propertyOrdering": ["name", "children"],
                    },
                },
            })
        );
    }
}
