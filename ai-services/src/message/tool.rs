//! Calls of tools and their results.

use super::Attributes;
use super::cache::{Cached, Shared};
use super::content::{Content, Contents};
use std::fmt;
use std::sync::Arc;

/// A model's wish to call a tool.
///
/// The arguments are kept as the text that the model wrote, because models write broken JSON too.
/// Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
#[doc(alias = "ToolExecutionRequest")]
pub struct ToolCall(Arc<Parts>);

#[derive(Clone, PartialEq, Eq)]
struct Parts {
    id: Box<str>,
    name: Box<str>,
    arguments: Box<str>,
}

impl ToolCall {
    /// A call. An empty `id` means that the provider gave none.
    #[must_use]
    pub fn new(
        id: impl Into<Box<str>>,
        name: impl Into<Box<str>>,
        arguments: impl Into<Box<str>>,
    ) -> Self {
        Self(Arc::new(Parts { id: id.into(), name: name.into(), arguments: arguments.into() }))
    }

    /// What the result refers to. Within a service never empty and unique in its message.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The name of the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The arguments, a JSON object if the model did well.
    #[must_use]
    pub fn arguments(&self) -> &str {
        &self.0.arguments
    }

    /// The same call with another id.
    #[must_use]
    pub fn with_id(self, id: impl Into<Box<str>>) -> Self {
        Self(Arc::new(Parts { id: id.into(), ..Arc::unwrap_or_clone(self.0) }))
    }
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall")
            .field("id", &self.0.id)
            .field("name", &self.0.name)
            .field("arguments", &self.0.arguments)
            .finish()
    }
}

/// What a tool returned, as it is told to the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult(Shared<Data>);

#[derive(Clone, Debug, PartialEq)]
struct Data {
    id: Box<str>,
    tool_name: Box<str>,
    contents: Contents,
    is_error: bool,
    attributes: Option<Box<Attributes>>,
}

impl ToolResult {
    /// A result of one text.
    #[must_use]
    pub fn new(
        id: impl Into<Box<str>>,
        tool_name: impl Into<Box<str>>,
        text: impl Into<Box<str>>,
    ) -> Self {
        Self::of(id.into(), tool_name.into(), Contents::text(text))
    }

    /// A result of several parts, in this order.
    #[must_use]
    pub fn from_contents(
        id: impl Into<Box<str>>,
        tool_name: impl Into<Box<str>>,
        contents: impl IntoIterator<Item = Content>,
    ) -> Self {
        Self::of(id.into(), tool_name.into(), contents.into_iter().collect())
    }

    fn of(id: Box<str>, tool_name: Box<str>, contents: Contents) -> Self {
        Self(Shared::new(Data { id, tool_name, contents, is_error: false, attributes: None }))
    }

    /// The same result, marked as an error.
    #[must_use]
    pub fn into_error(self) -> Self {
        Self(Shared::new(Data { is_error: true, ..self.0.into_data() }))
    }

    /// The same result with application data.
    #[must_use]
    pub fn with_attributes(self, attributes: Attributes) -> Self {
        let attributes = Some(attributes).filter(|a| !a.is_empty()).map(Box::new);
        Self(Shared::new(Data { attributes, ..self.0.into_data() }))
    }

    pub(crate) fn with_attributes_if_any(self, attributes: Attributes) -> Self {
        if attributes.is_empty() { self } else { self.with_attributes(attributes) }
    }

    /// The id of the call.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The name of the tool.
    #[must_use]
    pub fn tool_name(&self) -> &str {
        &self.0.tool_name
    }

    /// The text, if the result consists of one text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.0.contents.single_text()
    }

    /// All parts in order.
    #[must_use]
    pub fn contents(&self) -> &[Content] {
        self.0.contents.as_slice()
    }

    /// Whether the tool failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.0.is_error
    }

    /// The application's data.
    #[must_use]
    pub fn attributes(&self) -> Option<&Attributes> {
        self.0.attributes.as_deref()
    }

    pub(super) fn cached(&self) -> &Cached {
        self.0.cached()
    }
}
