//! What an answer should look like.

use crate::schema::Schema;

/// What an answer should look like: free text, nothing at all, or JSON that follows a schema.
///
/// Made once for each method when a service is built.
#[derive(Clone, Debug)]
pub struct Shape(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Text,
    Nothing,
    Structured(Box<Structure>),
}

/// JSON that follows a schema.
#[derive(Clone, Debug)]
struct Structure {
    name: Box<str>,
    schema: Schema,
}

impl Shape {
    /// Any text.
    #[must_use]
    pub fn text() -> Self {
        Self(Kind::Text)
    }

    /// An answer that nobody reads.
    #[must_use]
    pub fn nothing() -> Self {
        Self(Kind::Nothing)
    }

    /// JSON that follows `schema`, which describes an object.
    #[must_use]
    pub fn structured(name: impl Into<Box<str>>, schema: Schema) -> Self {
        Self(Kind::Structured(Box::new(Structure { name: name.into(), schema })))
    }

    /// The name and the schema of the JSON, if it is JSON.
    #[must_use]
    pub fn schema(&self) -> Option<(&str, &Schema)> {
        match &self.0 {
            Kind::Structured(structure) => Some((&structure.name, &structure.schema)),
            Kind::Text | Kind::Nothing => None,
        }
    }

    /// What to tell a model that knows no schemas.
    #[must_use]
    pub fn instructions(&self) -> Option<String> {
        let (_, schema) = self.schema()?;
        Some(format!(
            "Answer with JSON that follows this JSON Schema, and with nothing else:\n{}",
            schema.as_value()
        ))
    }
}
