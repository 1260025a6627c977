//! Tool calls and their results.

use super::Attributes;
use super::cache::{Cached, SharedData};
use super::content::{Content, Contents};
use std::fmt;
use std::sync::Arc;

/// A tool call that a model requests.
///
/// The arguments are stored as the text that the model wrote, because models also write malformed
/// JSON. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
#[doc(alias = "ToolExecutionRequest")]
pub struct ToolCall(Arc<ToolCallData>);

#[derive(Clone, PartialEq, Eq)]
struct ToolCallData {
    id: Box<str>,
    name: Box<str>,
    arguments: Box<str>,
}

impl ToolCall {
    /// Creates a call. An empty `id` means that the provider sent none.
    #[must_use]
    pub fn new(
        id: impl Into<Box<str>>,
        name: impl Into<Box<str>>,
        arguments: impl Into<Box<str>>,
    ) -> Self {
        Self(Arc::new(ToolCallData {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
        }))
    }

    /// Returns the id that the result refers to. Within a service, it is never empty, and unique
    /// within its message.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Returns the name of the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the arguments. Usually a JSON object, but models may write malformed JSON.
    #[must_use]
    pub fn arguments(&self) -> &str {
        &self.0.arguments
    }

    /// Replaces the id.
    #[must_use]
    pub fn with_id(self, id: impl Into<Box<str>>) -> Self {
        Self(Arc::new(ToolCallData { id: id.into(), ..Arc::unwrap_or_clone(self.0) }))
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

/// The result of a tool call, as it is sent to the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult(SharedData<ToolResultData>);

#[derive(Clone, Debug, PartialEq)]
struct ToolResultData {
    origin: Origin,
    contents: Contents,
    is_error: bool,
    attributes: Option<Box<Attributes>>,
}

/// The call that a result belongs to.
#[derive(Clone, Debug)]
enum Origin {
    /// The call itself, which its message shares.
    Call(ToolCall),
    Names {
        id: Box<str>,
        tool_name: Box<str>,
    },
}

impl Origin {
    fn id(&self) -> &str {
        match self {
            Self::Call(call) => call.id(),
            Self::Names { id, .. } => id,
        }
    }

    fn tool_name(&self) -> &str {
        match self {
            Self::Call(call) => call.name(),
            Self::Names { tool_name, .. } => tool_name,
        }
    }
}

impl PartialEq for Origin {
    fn eq(&self, other: &Self) -> bool {
        (self.id(), self.tool_name()) == (other.id(), other.tool_name())
    }
}

impl ToolResult {
    /// Creates a result with one text.
    #[must_use]
    pub fn new(
        id: impl Into<Box<str>>,
        tool_name: impl Into<Box<str>>,
        text: impl Into<Box<str>>,
    ) -> Self {
        Self::of(Origin::Names { id: id.into(), tool_name: tool_name.into() }, Contents::text(text))
    }

    /// Creates a result with several parts, in this order.
    #[must_use]
    pub fn from_contents(
        id: impl Into<Box<str>>,
        tool_name: impl Into<Box<str>>,
        contents: impl IntoIterator<Item = Content>,
    ) -> Self {
        let origin = Origin::Names { id: id.into(), tool_name: tool_name.into() };
        Self::of(origin, contents.into_iter().collect())
    }

    pub(crate) fn of_call(call: &ToolCall, contents: Contents) -> Self {
        Self::of(Origin::Call(call.clone()), contents)
    }

    fn of(origin: Origin, contents: Contents) -> Self {
        Self(SharedData::new(ToolResultData {
            origin,
            contents,
            is_error: false,
            attributes: None,
        }))
    }

    /// Marks the result as an error.
    #[must_use]
    pub fn into_error(self) -> Self {
        Self(SharedData::new(ToolResultData { is_error: true, ..self.0.into_data() }))
    }

    /// Sets the application's data.
    #[must_use]
    pub fn with_attributes(self, attributes: Attributes) -> Self {
        let attributes = Some(attributes).filter(|a| !a.is_empty()).map(Box::new);
        Self(SharedData::new(ToolResultData { attributes, ..self.0.into_data() }))
    }

    pub(crate) fn with_attributes_if_any(self, attributes: Attributes) -> Self {
        if attributes.is_empty() { self } else { self.with_attributes(attributes) }
    }

    /// Returns the id of the call.
    #[must_use]
    pub fn id(&self) -> &str {
        self.0.origin.id()
    }

    /// Returns the name of the tool.
    #[must_use]
    pub fn tool_name(&self) -> &str {
        self.0.origin.tool_name()
    }

    /// Returns the text, if the result consists of a single text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.0.contents.single_text()
    }

    /// Returns all parts in order.
    #[must_use]
    pub fn contents(&self) -> &[Content] {
        self.0.contents.as_slice()
    }

    /// Returns `true` if the tool failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.0.is_error
    }

    /// Returns the application's data.
    #[must_use]
    pub fn attributes(&self) -> Option<&Attributes> {
        self.0.attributes.as_deref()
    }

    pub(super) fn cached(&self) -> &Cached {
        self.0.cached()
    }
}
