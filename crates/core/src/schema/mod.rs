//! JSON Schemas of tool parameters and answers.

mod bounds;
mod choices;
mod merge;
mod order;
mod simplify;

#[doc(hidden)]
pub use order::Ordered;
pub use order::in_order;
pub use schemars::{JsonSchema, Schema};

use schemars::SchemaGenerator;
use schemars::generate::{Contract, SchemaSettings};
use serde_json::{Map, Value};

/// The schema of a type with the definitions that it refers to.
pub(crate) struct Described {
    /// The schema of the type itself. Never a bare reference.
    pub(crate) schema: Value,
    pub(crate) definitions: Map<String, Value>,
    /// A reference to the definition of the type itself, for a recursive type.
    pub(crate) recursion: Option<Value>,
}

/// Generates the schema of a type, before it is [simplified](plain).
pub(crate) fn describe<T: JsonSchema>() -> Described {
    let mut generator = generator(Contract::Deserialize);
    let mut schema = T::json_schema(&mut generator).to_value();
    // The type is already in the definitions if and only if it is recursive.
    let mut again = generator.clone();
    let reference = again.subschema_for::<T>();
    let is_recursive = reference.get("$ref").is_some()
        && again.definitions().len() == generator.definitions().len();
    let mut definitions = generator.take_definitions(false);
    let mut serialized = self::generator(Contract::Serialize);
    order::record(&mut schema, T::json_schema(&mut serialized).as_value());
    order::record_each(&mut definitions, &serialized.take_definitions(false));
    Described { schema, definitions, recursion: is_recursive.then(|| reference.to_value()) }
}

/// Returns the schema of an object with the single member `name`.
pub(crate) fn wrap(name: &str, schema: Value) -> Value {
    let mut members = Map::new();
    members.insert(name.to_owned(), schema);
    let mut object = Map::new();
    object.insert("type".to_owned(), "object".into());
    object.insert("properties".to_owned(), Value::Object(members));
    object.insert("required".to_owned(), Value::Array(vec![name.into()]));
    Value::Object(object)
}

/// Adds the definitions to a schema and simplifies it: removes everything that is specific to Rust.
pub(crate) fn plain(mut schema: Value, definitions: Map<String, Value>) -> Schema {
    if let Value::Object(members) = &mut schema
        && !definitions.is_empty()
    {
        members.insert("$defs".to_owned(), Value::Object(definitions));
    }
    simplify::simplify(&mut schema);
    // This cannot fail: the schema was created from an object or a boolean.
    Schema::try_from(schema).unwrap_or_default()
}

/// Returns the definition that a reference refers to.
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

/// A property of an object schema: the generator of its schema, and facts that the type does not contain.
#[derive(Debug)]
#[doc(hidden)]
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

/// The requirement of a property: required, optional, or with a default.
#[derive(Debug)]
#[doc(hidden)]
pub enum Requirement {
    Required,
    Optional,
    Default(Value),
}

/// Returns an object schema with these properties. Types that are used more than once, or recursively,
/// are in `$defs`.
#[doc(hidden)]
pub fn object(properties: Vec<Property>) -> Schema {
    let mut generator = generator(Contract::Deserialize);
    let mut serialized = self::generator(Contract::Serialize);
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
        order::record(&mut schema, (property.schema)(&mut serialized).as_value());
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
    order::record_each(&mut definitions, &serialized.take_definitions(false));
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
        /// The name of the node.
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
    fn recursive_types_are_in_the_definitions() {
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
                            "name": { "type": "string", "description": "The name of the node." },
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
