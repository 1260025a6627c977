//! The order in which members were declared.
//!
//! Members of a JSON object have no order, and `serde_json` sorts them. But a model writes them in the
//! order of the schema, and what it reasons has to come before what it concludes. So the order is noted
//! beside the members, under the keyword that Gemini has for it, and schemas are written in it.

use super::Schema;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

/// Lists the names of the members of an object in their order.
pub(crate) const KEYWORD: &str = "propertyOrdering";

/// Notes the order in all objects of a schema. `written` is the schema of the same type as it is
/// written: there all members are required, or nearly all, and that list is in order.
pub(super) fn note(read: &mut Value, written: &Value) {
    let (Value::Object(read), Value::Object(written)) = (read, written) else { return };
    if read.contains_key("properties") {
        let required = [written.get("required"), read.get("required")];
        let names = required.into_iter().filter_map(|list| list?.as_array()).flatten();
        let names = names.cloned().collect();
        read.insert(KEYWORD.to_owned(), Value::Array(names));
    }
    for (name, member) in read {
        match (name.as_str(), member, written.get(name)) {
            (
                "properties" | "patternProperties" | "$defs",
                Value::Object(read),
                Some(Value::Object(written)),
            ) => note_each(read, written),
            (
                "anyOf" | "oneOf" | "allOf" | "prefixItems",
                Value::Array(read),
                Some(Value::Array(written)),
            ) => read.iter_mut().zip(written).for_each(|(read, written)| note(read, written)),
            ("items" | "additionalProperties", read, Some(written)) => note(read, written),
            _ => {}
        }
    }
}

/// Notes the order in schemas by their names.
pub(super) fn note_each(read: &mut Map<String, Value>, written: &Map<String, Value>) {
    for (name, read) in read {
        if let Some(written) = written.get(name) {
            note(read, written);
        }
    }
}

/// Makes the note complete, or drops it where it says nothing: the members are sorted as it is.
pub(super) fn finish(members: &mut Map<String, Value>) {
    let Some(Value::Array(noted)) = members.remove(KEYWORD) else { return };
    let Some(Value::Object(properties)) = members.get("properties") else { return };
    let mut names: Vec<&str> = Vec::with_capacity(properties.len());
    let noted = noted.iter().filter_map(Value::as_str);
    for name in noted.chain(properties.keys().map(String::as_str)) {
        if properties.contains_key(name) && !names.contains(&name) {
            names.push(name);
        }
    }
    if !names.is_sorted() {
        let names = names.into_iter().map(Value::from).collect();
        members.insert(KEYWORD.to_owned(), Value::Array(names));
    }
}

/// A schema to be written with the members of its objects in the order of declaration.
///
/// For implementations of [`ChatModel`](crate::model::ChatModel). A schema as it is lists members in the
/// order of their names, with the declared order under the keyword `propertyOrdering` where it is
/// another one; written like this it lists them in that order and has no such keyword.
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

/// A schema, or anything in it.
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

/// Members of an object, in order. The list names each of them once.
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
    fn members_are_in_the_order_of_declaration() {
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
    fn sorted_members_need_no_note() {
        assert!(schema::<Sorted>().get(KEYWORD).is_none());
    }

    #[test]
    fn schema_is_written_in_order_and_without_the_note() {
        let schema = schema::<Outer>();
        let json = serde_json::to_string(&Ordered(&schema)).unwrap();
        assert!(!json.contains(KEYWORD), "{json}");
        let at = |name: &str| json.find(&format!("\"{name}\":{{")).unwrap();
        assert!(at("why") < at("then") && at("zeal") < at("nick") && at("nick") < at("list"));
        let mut same: Value = serde_json::from_str(&json).unwrap();
        note(&mut same, &schema);
        assert_eq!(same["properties"]["zeal"], schema["properties"]["zeal"]);
    }
}
