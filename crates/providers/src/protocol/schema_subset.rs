//! Schemas reduced to the part of JSON Schema that a provider enforces.
//!
//! Providers that constrain an answer to a schema accept a subset of JSON Schema and reject requests
//! with any other keyword. A [`SchemaSubset`] is the table of one provider, and
//! [`restrict`](SchemaSubset::restrict) rewrites a schema for it: every object is closed, unknown
//! annotations are dropped, and a schema that allows values which the subset cannot describe is
//! rejected.

use serde_json::{Map, Value, json};

/// The keywords of a schema.
pub(crate) type Keywords = Map<String, Value>;

/// Keywords that every subset keeps.
const KEPT: [&str; 6] = [
    "type",
    "description",
    "enum",
    "const",
    "$ref",
    // Not sent, but it decides the order of the members.
    "propertyOrdering",
];

/// Keywords that allow or forbid values in a way that no subset can express.
const REJECTED: [&str; 11] = [
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

/// Keywords of which a schema needs at least one: without them it allows any value.
const TYPED: [&str; 6] = ["type", "enum", "const", "anyOf", "oneOf", "$ref"];

/// The part of JSON Schema that one provider enforces.
pub(crate) struct SchemaSubset {
    /// Keywords that are copied, in addition to [`KEPT`].
    pub(crate) kept: &'static [&'static str],
    /// Values of `format` that are copied.
    pub(crate) formats: &'static [&'static str],
    /// Adds constraints that were not copied to the restricted schema, mostly in words.
    pub(crate) describe: fn(schema: &Keywords, restricted: &mut Keywords),
    pub(crate) optional: OptionalMembers,
    pub(crate) reference: Reference,
}

/// The form of members that are not required.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum OptionalMembers {
    /// Required, with `null` as a further value.
    Nullable,
    /// Not required, and without `null`: a nullable type counts as a union, of which few are allowed.
    Omitted,
}

/// The form of a `$ref` that has other keywords beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reference {
    /// The only choice of an `anyOf`, which keeps the other keywords.
    Wrapped,
    /// The reference alone. The other keywords are dropped.
    Bare,
}

/// A schema within a subset.
#[derive(Debug)]
pub(crate) struct Restricted {
    pub(crate) schema: Value,
    /// Number of members that are not required.
    pub(crate) optional: usize,
    /// Number of schemas that allow several types.
    pub(crate) unions: usize,
}

impl SchemaSubset {
    /// Rewrites a schema. Returns `None` if the subset cannot express it, for example because it has
    /// maps, tuples or values of any type.
    pub(crate) fn restrict(&self, schema: &Value) -> Option<Restricted> {
        let mut rewriter = SchemaRewriter { subset: self, optional: 0, unions: 0 };
        let schema = rewriter.schema(schema)?.into();
        Some(Restricted { schema, optional: rewriter.optional, unions: rewriter.unions })
    }
}

/// The state of the rewriting of one schema.
struct SchemaRewriter<'a> {
    subset: &'a SchemaSubset,
    optional: usize,
    unions: usize,
}

impl SchemaRewriter<'_> {
    /// Rewrites a schema or a subschema.
    fn schema(&mut self, schema: &Value) -> Option<Keywords> {
        // The schema `true`, which allows any value, is not an object.
        let schema = schema.as_object()?;
        let has_any = |keywords: &[&str]| keywords.iter().any(|name| schema.contains_key(*name));
        if has_any(&REJECTED) || !has_any(&TYPED) {
            return None;
        }
        let mut restricted = Keywords::new();
        for (keyword, value) in schema {
            let (keyword, value) = match keyword.as_str() {
                "items" => ("items", self.schema(value)?.into()),
                "anyOf" | "oneOf" => ("anyOf", self.choices(value)?),
                "$defs" => ("$defs", self.definitions(value)?),
                keyword if self.keeps(keyword, value) => (keyword, value.clone()),
                _ => continue,
            };
            restricted.insert(keyword.to_owned(), value);
        }
        (self.subset.describe)(schema, &mut restricted);
        if restricted.contains_key("anyOf") || schema.get("type").is_some_and(Value::is_array) {
            self.unions += 1;
        }
        if has_type(schema, "object") {
            self.close(schema, &mut restricted)?;
        }
        Some(match self.subset.reference {
            Reference::Wrapped => wrap_reference(restricted),
            Reference::Bare => bare_reference(restricted),
        })
    }

    /// Returns `true` if a keyword is copied with its value.
    fn keeps(&self, keyword: &str, value: &Value) -> bool {
        let Self { subset, .. } = self;
        KEPT.contains(&keyword)
            || subset.kept.contains(&keyword)
            || (keyword == "format" && subset.formats.iter().any(|format| value == format))
    }

    /// Rewrites the choices of a union.
    fn choices(&mut self, choices: &Value) -> Option<Value> {
        let choices = choices.as_array()?.iter();
        choices.map(|choice| self.schema(choice).map(Value::Object)).collect()
    }

    /// Rewrites the schemas of `$defs`.
    fn definitions(&mut self, schemas: &Value) -> Option<Value> {
        let schemas = schemas.as_object()?.iter();
        let restricted =
            schemas.map(|(name, schema)| Some((name.clone(), self.schema(schema)?.into())));
        restricted.collect::<Option<Keywords>>().map(Value::Object)
    }

    /// Closes an object. Returns `None` for a map, whose members have no fixed names.
    fn close(&mut self, schema: &Keywords, restricted: &mut Keywords) -> Option<()> {
        let is_open = schema.get("additionalProperties").is_some_and(|more| *more != false);
        let Some(Value::Object(properties)) = schema.get("properties").filter(|_| !is_open) else {
            return None;
        };
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|all| all.iter().any(|own| own == name));
        let mut closed = Keywords::new();
        for (name, property) in properties {
            let property = match (is_required(name), self.subset.optional) {
                (true, _) => self.schema(property)?,
                (false, OptionalMembers::Nullable) => nullable(self.schema(property)?),
                (false, OptionalMembers::Omitted) => self.schema(&without_null(property))?,
            };
            self.optional += usize::from(!is_required(name));
            closed.insert(name.clone(), property.into());
        }
        if self.subset.optional == OptionalMembers::Nullable {
            let all = closed.keys().map(|name| name.as_str().into()).collect();
            restricted.insert("required".to_owned(), Value::Array(all));
        }
        restricted.insert("properties".to_owned(), closed.into());
        restricted.insert("additionalProperties".to_owned(), false.into());
        Some(())
    }
}

/// Returns `true` if a schema allows a type.
fn has_type(schema: &Keywords, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|own| own == name),
        own => own.is_some_and(|own| own == name),
    }
}

/// Adds `null` to the values that a schema allows.
fn nullable(mut schema: Keywords) -> Keywords {
    let null_type = json!({ "type": "null" });
    // A list of values does not contain null, so that a wider type alone would not help.
    let lists_values = schema.contains_key("enum") || schema.contains_key("const");
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        if !choices.contains(&null_type) {
            choices.push(null_type);
        }
        return schema;
    }
    match schema.get_mut("type").filter(|_| !lists_values) {
        Some(Value::Array(types)) => {
            if !types.iter().any(|own| own == "null") {
                types.push("null".into());
            }
            return schema;
        }
        Some(own) => {
            *own = json!([own.take(), "null"]);
            return schema;
        }
        None => {}
    }
    let description = schema.remove_entry("description");
    let mut union: Keywords = description.into_iter().collect();
    union.insert("anyOf".to_owned(), json!([schema, null_type]));
    union
}

/// Removes `null` from the types that a schema allows.
fn without_null(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|own| own != "null");
        if let [only] = types.as_mut_slice() {
            let only = only.take();
            if let Some(own) = schema.get_mut("type") {
                *own = only;
            }
        }
        return schema;
    }
    let Some(Value::Array(choices)) = schema.get_mut("anyOf") else { return schema };
    choices.retain(|choice| choice.get("type").is_none_or(|own| own != "null"));
    let [only] = choices.as_mut_slice() else { return schema };
    let mut only = only.take();
    if let (Value::Object(only), Some(description)) = (&mut only, schema.get("description")) {
        only.entry("description").or_insert_with(|| description.clone());
    }
    only
}

/// Moves a `$ref` that has other keywords beside it into an `anyOf`.
pub(crate) fn wrap_reference(mut schema: Keywords) -> Keywords {
    if schema.len() > 1
        && let Some(reference) = schema.remove("$ref")
    {
        schema.insert("anyOf".to_owned(), json!([{ "$ref": reference }]));
    }
    schema
}

/// Drops everything beside a `$ref`.
fn bare_reference(mut schema: Keywords) -> Keywords {
    match schema.remove_entry("$ref") {
        Some(reference) => [reference].into_iter().collect(),
        None => schema,
    }
}

/// Adds a format to the description, for providers that do not know the format.
pub(crate) fn describe_format(format: &str, schema: &Keywords, restricted: &mut Keywords) {
    let meaning = match format {
        "partial-time" => "For example 10:11:12.",
        "partial-date-time" => "For example 2024-05-06T10:11:12.",
        "zoned-date-time" => "For example 2024-05-06T10:11:12+02:00[Europe/Berlin].",
        format => &format!("Format: {format}."),
    };
    let description = match schema.get("description").and_then(Value::as_str) {
        Some(own) => format!("{own} {meaning}"),
        None => meaning.to_owned(),
    };
    restricted.insert("description".to_owned(), description.into());
}
