//! Requested formats of answers.

use super::name;
use crate::schema::{self, Described, JsonSchema, Schema};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The requested format of an answer: free text, no content, or JSON that follows a schema.
///
/// Created once for each method when a service is built.
///
/// # Examples
///
/// ```
/// use ai_services::output::Shape;
///
/// let shape = Shape::of::<Vec<String>>();
/// let (name, schema) = shape.schema().expect("lists are JSON");
/// assert_eq!(name, "List_of_String");
/// assert_eq!(schema.as_value()["required"][0], "values");
/// assert!(Shape::of::<String>().schema().is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Shape(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Text,
    Nothing,
    /// Shared by all calls of a method.
    Structured(Arc<Structure>),
}

/// JSON that follows a schema.
#[derive(Clone, Debug)]
pub(super) struct Structure {
    /// The name of the schema, for providers.
    name: Box<str>,
    /// The name of the type, for errors.
    type_name: Box<str>,
    schema: Schema,
    pub(super) root: Root,
    /// `true` if the value, or an item of a list, can be a single word, number or text.
    pub(super) is_scalar: bool,
    /// `true` if `serde_json` rejects everything that this module rejects, so that the fast path is safe.
    pub(super) is_plain: bool,
}

/// The place of the value in the JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// The value is the object.
    Whole,
    /// The value is the member `value` of an object.
    Value,
    /// The value is a list, the member `values` of an object.
    Values,
}

impl Root {
    /// Returns the name of the member that contains the value.
    pub(super) fn member(self) -> Option<&'static str> {
        match self {
            Self::Whole => None,
            Self::Value => Some("value"),
            Self::Values => Some("values"),
        }
    }
}

impl Shape {
    /// Creates the shape of any text.
    #[must_use]
    pub fn text() -> Self {
        Self(Kind::Text)
    }

    /// Creates the shape of an answer that is ignored.
    #[must_use]
    pub fn nothing() -> Self {
        Self(Kind::Nothing)
    }

    /// Creates the shape of JSON that follows `schema`, which has to describe an object.
    #[must_use]
    pub fn structured(name: impl Into<Box<str>>, schema: Schema) -> Self {
        let name: Box<str> = name.into();
        let structure = Structure {
            type_name: name.clone(),
            name,
            schema,
            root: Root::Whole,
            is_scalar: false,
            is_plain: false,
        };
        Self(Kind::Structured(Arc::new(structure)))
    }

    /// Creates the shape of a type from its schema.
    ///
    /// A plain string is [`text`](Self::text), null is [`nothing`](Self::nothing), every other type is JSON.
    /// Types whose schema is not an object are wrapped in one, because providers require an object: lists
    /// and sets as `{"values": […]}`, others as `{"value": …}`.
    #[must_use]
    pub fn of<T: JsonSchema>() -> Self {
        let described = schema::describe::<T>();
        if is_text(&described.schema) {
            return Self::text();
        }
        if described.schema.get("type").is_some_and(|kind| kind == "null") {
            return Self::nothing();
        }
        let type_name = name::of_type(std::any::type_name::<T>());
        let structure = Structure { type_name, ..structure(&T::schema_name(), described) };
        Self(Kind::Structured(Arc::new(structure)))
    }

    /// Returns the name and the schema of the JSON. Returns `None` for other shapes.
    #[must_use]
    pub fn schema(&self) -> Option<(&str, &Schema)> {
        self.structure().map(|structure| (&*structure.name, &structure.schema))
    }

    /// Returns instructions for a model without support for schemas. They request JSON only if a single
    /// word or number is not sufficient.
    #[must_use]
    pub fn instructions(&self) -> Option<String> {
        let structure = self.structure()?;
        let schema = structure.schema.as_value();
        let value = structure.root.member().filter(|_| structure.root == Root::Value);
        let value = value.and_then(|member| schema.get("properties")?.get(member));
        value.and_then(short_instructions).or_else(|| self.json_instructions())
    }

    /// Returns instructions for a model without support for schemas that can only answer with JSON objects.
    #[doc(hidden)]
    pub fn json_instructions(&self) -> Option<String> {
        let (_, schema) = self.schema()?;
        let schema = serde_json::to_string(&schema::in_order(schema)).ok()?;
        Some(format!(
            "Answer with one JSON value that follows this JSON Schema, and with nothing else:\n{schema}"
        ))
    }

    /// Returns the name of the type as it is written in Rust, without paths.
    pub(super) fn type_name(&self) -> Option<&str> {
        self.structure().map(|structure| &*structure.type_name)
    }

    pub(super) fn structure(&self) -> Option<&Structure> {
        match &self.0 {
            Kind::Structured(structure) => Some(structure),
            Kind::Text | Kind::Nothing => None,
        }
    }

    pub(super) fn is_nothing(&self) -> bool {
        matches!(self.0, Kind::Nothing)
    }
}

/// Returns `true` if a schema accepts every text and no other value.
fn is_text(schema: &Value) -> bool {
    let is_annotation =
        |name: &String| matches!(name.as_str(), "type" | "title" | "description" | "examples");
    schema.as_object().is_some_and(|members| {
        members.get("type").is_some_and(|kind| kind == "string")
            && members.keys().all(is_annotation)
    })
}

fn structure(own_name: &str, described: Described) -> Structure {
    let Described { schema, mut definitions, recursion } = described;
    let root = root(&schema::plain(schema.clone(), definitions.clone()), recursion.is_some());
    let name = name::of(own_name, &schema);
    let item = if root == Root::Values { schema.get("items") } else { Some(&schema) };
    let is_scalar = item.is_some_and(|item| is_scalar(item, &definitions, 0));
    let is_plain = is_plain(&schema) && definitions.values().all(is_plain);
    // Defaults are for missing input. The schema of an answer describes the expected output.
    let mut schema = match root.member() {
        Some(member) => schema::wrap(member, recursion.unwrap_or(schema)),
        None => schema,
    };
    without_defaults(&mut schema);
    definitions.values_mut().for_each(without_defaults);
    let schema = schema::plain(schema, definitions);
    Structure { type_name: name.clone(), name, schema, root, is_scalar, is_plain }
}

fn root(schema: &Schema, is_recursive: bool) -> Root {
    let is = |kind: &str| schema.get("type").is_some_and(|own| own == kind);
    let has = |name: &str| schema.get(name).is_some();
    if is("object") && !is_recursive && !["anyOf", "oneOf", "allOf", "$ref"].into_iter().any(has) {
        Root::Whole
    } else if is("array") && !has("prefixItems") {
        Root::Values
    } else {
        Root::Value
    }
}

/// Returns `true` if a schema accepts a text, a number or a boolean.
fn is_scalar(schema: &Value, definitions: &Map<String, Value>, depth: usize) -> bool {
    /// Maximum length of a chain of references. Real schemas do not nest references this deep.
    const MAX_DEPTH: usize = 16;
    if depth > MAX_DEPTH {
        return false;
    }
    let is_kind =
        |kind: &Value| matches!(kind.as_str(), Some("string" | "integer" | "number" | "boolean"));
    let choices = ["anyOf", "oneOf"].into_iter().filter_map(|name| schema.get(name)?.as_array());
    let target = schema.get("$ref").and_then(|name| schema::definition(name, definitions));
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(is_kind),
        Some(kind) => is_kind(kind),
        None => {
            choices.flatten().chain(target).any(|choice| is_scalar(choice, definitions, depth + 1))
        }
    }
}

/// Returns `true` if `serde_json` accepts no wrong values for this schema. It does for maps, where the
/// last of several equal keys wins, and for `f32`, where large numbers become infinite.
fn is_plain(schema: &Value) -> bool {
    let Some(members) = schema.as_object() else { return false };
    let is_map = |name: &str| members.get(name).is_some_and(|more| *more != false);
    if ["additionalProperties", "patternProperties", "unevaluatedProperties"]
        .into_iter()
        .any(is_map)
        || members.get("format").is_some_and(|format| format == "float")
        || members.is_empty()
    {
        return false;
    }
    members.iter().all(|(name, member)| match (name.as_str(), member) {
        ("properties", Value::Object(schemas)) => schemas.values().all(is_plain),
        ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
            schemas.iter().all(is_plain)
        }
        ("items", schema) => is_plain(schema),
        _ => true,
    })
}

fn without_defaults(schema: &mut Value) {
    if let Value::Object(members) = schema {
        members.remove("default");
        schema::each_inner(members, &mut without_defaults);
    }
}

/// Returns instructions for a value that does not need JSON.
fn short_instructions(schema: &Value) -> Option<String> {
    let description = schema.get("description").and_then(Value::as_str);
    let format = match (schema.get("type")?.as_str()?, schema.get("enum")) {
        ("string", Some(Value::Array(texts))) => {
            let texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
            format!("one of: {}", texts.join(", "))
        }
        ("boolean", _) => "one of: true, false".to_owned(),
        ("integer", _) => match (bound(schema, "minimum"), bound(schema, "maximum")) {
            (Some(min), Some(max)) => format!("one integer from {min} to {max}"),
            (Some(min), None) => format!("one integer of at least {min}"),
            _ => "one integer".to_owned(),
        },
        ("number", _) => "one number".to_owned(),
        _ => return None,
    };
    let description = description.map(|text| format!("\n{text}")).unwrap_or_default();
    Some(format!("Answer with {format}; write it as it is, and nothing else.{description}"))
}

fn bound(schema: &Value, name: &str) -> Option<i64> {
    schema.get(name)?.as_i64()
}
