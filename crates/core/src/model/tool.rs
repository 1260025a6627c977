//! Tools as models see them.

use crate::message::Encoded;
use schemars::Schema;
use std::fmt;
use std::sync::Arc;

/// The description of a tool for a model: name, description, and JSON Schema of the parameters.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolSpecification {
    /// The name, 1 to 64 characters of `A-Z a-z 0-9 _ -`.
    pub name: Box<str>,
    /// The purpose of the tool, and when to call it.
    pub description: Box<str>,
    /// The schema of the parameters, an object. `None` for a tool without parameters. Serialize it
    /// [in order](crate::schema::in_order).
    pub parameters: Option<Schema>,
    /// The time at which the model loads the definition.
    pub loading: ToolLoading,
}

/// The time at which a model loads the definition of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolLoading {
    /// The definition is a part of the prompt of each request.
    #[default]
    Immediate,
    /// The definition is loaded by the result of a [search](crate::tool::ToolSearch) that has found the tool, and is not
    /// a part of the prompt before. The model needs [`Capability::DeferredTools`](super::Capability::DeferredTools).
    Deferred,
}

impl ToolSpecification {
    /// Creates a tool without parameters.
    #[must_use]
    pub fn new(name: impl Into<Box<str>>, description: impl Into<Box<str>>) -> Self {
        let (name, description) = (name.into(), description.into());
        Self { name, description, parameters: None, loading: ToolLoading::Immediate }
    }

    /// Sets the schema of the parameters.
    #[must_use]
    pub fn with_parameters(mut self, schema: Schema) -> Self {
        self.parameters = Some(schema);
        self
    }

    /// Sets the time at which the model loads the definition. Default: [`ToolLoading::Immediate`].
    #[must_use]
    pub fn with_loading(mut self, loading: ToolLoading) -> Self {
        self.loading = loading;
        self
    }
}

/// The tools of a request. Shared by all requests of a service, and encoded once.
#[derive(Clone, Default)]
pub struct ToolSpecifications(Option<Arc<Shared>>);

struct Shared {
    list: Vec<ToolSpecification>,
    has_deferred: bool,
    encoded: Encoded,
}

impl ToolSpecifications {
    /// Returns the specifications in order.
    #[must_use]
    pub fn as_slice(&self) -> &[ToolSpecification] {
        self.0.as_deref().map_or(&[], |shared| &shared.list)
    }

    /// Returns `true` if the list has a tool with [`ToolLoading::Deferred`].
    #[must_use]
    pub fn has_deferred(&self) -> bool {
        self.0.as_deref().is_some_and(|shared| shared.has_deferred)
    }

    /// Returns `true` if the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }

    /// Returns `true` if both share one list.
    #[doc(hidden)]
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        }
    }

    /// Returns the list in a provider's format, encoded by `encode` on the first call and cached.
    /// `None` for an empty list.
    ///
    /// For implementations of [`ChatModel`](super::ChatModel); see
    /// [`ChatMessage::encoded`](crate::message::ChatMessage::encoded).
    pub fn encoded(
        &self,
        dialect: &'static str,
        encode: impl Fn(&[ToolSpecification]) -> Vec<u8>,
    ) -> Option<&[u8]> {
        let Shared { list, encoded, .. } = self.0.as_deref()?;
        Some(encoded.get_or_encode(dialect, || encode(list)))
    }
}

impl From<Vec<ToolSpecification>> for ToolSpecifications {
    fn from(list: Vec<ToolSpecification>) -> Self {
        if list.is_empty() {
            return Self(None);
        }
        let has_deferred = list.iter().any(|tool| tool.loading == ToolLoading::Deferred);
        Self(Some(Arc::new(Shared { list, has_deferred, encoded: Encoded::default() })))
    }
}

impl PartialEq for ToolSpecifications {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || self.as_slice() == other.as_slice()
    }
}

impl fmt::Debug for ToolSpecifications {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}
