//! The declaration order of members.
//!
//! Members of a JSON object have no order, and `serde_json` sorts them. But a model writes them in the
//! order of the schema, and its reasoning has to come before its conclusion. Therefore the order is
//! recorded beside the members, under the keyword that Gemini uses, and schemas are serialized in it.

use super::Schema;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

/// The keyword for the ordered list of member names of an object.
pub(crate) const KEYWORD: &str = "propertyOrdering";

/// Records the order in all objects of a schema. `serialized` is the schema of the same type for
/// serialization: there nearly all members are required, and the list of required members is in order.
pub(super) fn record(read: &mut Value, serialized: &Value) {
    let (Value::Object(read), Value::Object(serialized)) = (read, serialized) else { return };
    if read.contains_key("properties") {
        let required = [serialized.get("required"), read.get("required")];
        let names = required.into_iter().filter_map(|list| list?.as_array()).flatten();
        let names = names.cloned().collect();
        read.insert(KEYWORD.to_owned(), Value::Array(names));
    }
    for (name, member) in read {
        match (name.as_str(), member, serialized.get(name)) {
            (
                "properties" | "patternProperties" | "$defs",
                Value::Object(read),
                Some(Value::Object(serialized)),
            ) => record_each(read, serialized),
            (
                "anyOf" | "oneOf" | "allOf" | "prefixItems",
                Value::Array(read),
                Some(Value::Array(serialized)),
            ) => read
                .iter_mut()
                .zip(serialized)
                .for_each(|(read, serialized)| record(read, serialized)),
            ("items" | "additionalProperties", read, Some(serialized)) => record(read, serialized),
            _ => {}
        }
    }
}

/// Records the order in schemas with the same name.
pub(super) fn record_each(read: &mut Map<String, Value>, serialized: &Map<String, Value>) {
    for (name, read) in read {
        if let Some(serialized) = serialized.get(name) {
            record(read, serialized);
        }
    }
}

/// Adds missing members to the recorded order, or removes it if it is the alphabetical order.
pub(super) fn finish(members: &mut Map<String, Value>) {
    let Some(Value::Array(recorded)) = members.remove(KEYWORD) else { return };
    let Some(Value::Object(properties)) = members.get("properties") else { return };
    let mut names: Vec<&str> = Vec::with_capacity(properties.len());
    let recorded = recorded.iter().filter_map(Value::as_str);
    for name in recorded.chain(properties.keys().map(String::as_str)) {
        if properties.contains_key(name) && !names.contains(&name) {
            names.push(name);
        }
    }
    if !names.is_sorted() {
        let names = names.into_iter().map(Value::from).collect();
        members.insert(KEYWORD.to_owned(), Value::Array(names));
    }
}

/// Returns a value that serializes a schema with the members of its objects in declaration order.
///
/// For implementations of [`ChatModel`](crate::model::ChatModel). A [`Schema`] lists members in alphabetical
/// order, and the declaration order, if it differs, under the keyword `propertyOrdering`. The returned
/// value lists them in declaration order and omits this keyword.
///
/// # Examples
///
/// ```
/// use ai_services::output::Shape;
/// use ai_services::schema::{JsonSchema, in_order};
///
/// #[derive(JsonSchema)]
/// # #[allow(dead_code)]
/// struct Verdict {
///     reasons: String,
///     guilty: bool,
/// }
///
/// let shape = Shape::of::<Verdict>();
/// let (_, schema) = shape.schema().expect("a struct has a schema");
/// let json = serde_json::to_string(&in_order(schema))?;
/// assert!(json.find(r#""reasons":"#) < json.find(r#""guilty":"#));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn in_order(schema: &Schema) -> impl Serialize + '_ {
    Ordered(schema.as_value())
}

/// A schema, or a value inside a schema, that is serialized in declaration order.
#[derive(Debug)]
#[doc(hidden)]
pub struct Ordered<'a>(pub &'a Value);

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(members) => {
                let order = members.get(KEYWORD).and_then(Value::as_array);
                let mut map = serializer.serialize_map(None)?;
                for (name, member) in members {
                    match (name.as_str(), member, order) {
                        (KEYWORD, _, Some(_)) => {}
                        ("properties", Value::Object(properties), Some(order)) => {
                            map.serialize_entry(name, &Properties { properties, order })?;
                        }
                        _ => map.serialize_entry(name, &Ordered(member))?,
                    }
                }
                map.end()
            }
            Value::Array(list) => serializer.collect_seq(list.iter().map(Ordered)),
            other => other.serialize(serializer),
        }
    }
}

/// Members of an object, in order. The list contains each name exactly once.
struct Properties<'a> {
    properties: &'a Map<String, Value>,
    order: &'a [Value],
}

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let named = self.order.iter().filter_map(Value::as_str);
        let named = named.filter_map(|name| self.properties.get_key_value(name));
        serializer.collect_map(named.map(|(name, schema)| (name, Ordered(schema))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{JsonSchema, describe, plain};
    use serde::Deserialize;

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only the schema is used")]
    struct Outer {
        zeal: String,
        part: Option<Part>,
        #[serde(default)]
        nick: String,
        #[serde(rename = "beta", skip_serializing_if = "Option::is_none")]
        alpha: Option<u8>,
        list: Vec<Part>,
        kind: Kind,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only the schema is used")]
    struct Part {
        why: String,
        then: String,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "type")]
    #[allow(dead_code, reason = "only the schema is used")]
    enum Kind {
        Plain { second: u8, first: u8 },
        Held(Part),
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only the schema is used")]
    struct Sorted {
        a: u8,
        b: u8,
    }

    fn schema<T: JsonSchema>() -> Value {
        let described = describe::<T>();
        plain(described.schema, described.definitions).to_value()
    }

    #[test]
    fn members_are_in_declaration_order() {
        let schema = schema::<Outer>();
        let order = ["zeal", "part", "nick", "list", "kind", "beta"];
        assert_eq!(schema[KEYWORD], Value::from(order.to_vec()));
        assert_eq!(schema["$defs"]["Part"][KEYWORD], Value::from(vec!["why", "then"]));
        let plain = &schema["$defs"]["Kind"]["anyOf"][0];
        assert_eq!(plain[KEYWORD], Value::from(vec!["type", "second", "first"]));
        let held = &schema["$defs"]["Kind"]["anyOf"][1];
        assert_eq!(held[KEYWORD], Value::from(vec!["type", "why", "then"]));
    }

    #[test]
    fn sorted_members_need_no_recorded_order() {
        assert!(schema::<Sorted>().get(KEYWORD).is_none());
    }

    #[test]
    fn schema_is_serialized_in_order_without_the_keyword() {
        let schema = schema::<Outer>();
        let json = serde_json::to_string(&Ordered(&schema)).unwrap();
        assert!(!json.contains(KEYWORD), "{json}");
        let at = |name: &str| json.find(&format!("\"{name}\":{{")).unwrap();
        assert!(at("why") < at("then") && at("zeal") < at("nick") && at("nick") < at("list"));
        let mut parsed: Value = serde_json::from_str(&json).unwrap();
        record(&mut parsed, &schema);
        assert_eq!(parsed["properties"]["zeal"], schema["properties"]["zeal"]);
    }
}
