//! The capabilities of models, as data.

use super::{ChatRequest, ChatRequestParameters, ResponseFormat, ToolChoice};
use crate::error::{Error, ErrorKind, Result};
use crate::message::{ChatMessage, Content};

/// A feature that not every model supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Capability {
    /// The model can call tools.
    Tools,
    /// The model answers with JSON that follows a schema, enforced by the provider.
    JsonSchema,
    /// The model follows a schema also while tools are offered, and still calls them.
    JsonSchemaWithTools,
    /// The model answers with a JSON object of any form, enforced by the provider.
    JsonObject,
    /// The model streams its answer.
    Streaming,
    /// The model accepts images.
    Images,
    /// The model accepts audio.
    Audio,
    /// The model accepts videos.
    Videos,
    /// The model accepts PDF documents.
    Pdfs,
    /// The model can be forced to call a tool, and can be kept from calling any. Includes
    /// [`ForbidTools`](Self::ForbidTools).
    ToolChoice,
    /// The model can be kept from calling the tools of a request, with [`ToolChoice::None`].
    ForbidTools,
    /// The model loads the definitions of [deferred](super::ToolLoading::Deferred) tools from the results of a search,
    /// so that the prompt before them stays in the provider's cache.
    DeferredTools,
}

impl Capability {
    fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Returns the bits of the capability and of those that it includes.
    fn bits(self) -> u32 {
        match self {
            Self::ToolChoice => self.bit() | Self::ForbidTools.bit(),
            _ => self.bit(),
        }
    }

    /// Returns the action that a model without the capability cannot perform, as a verb phrase for
    /// error messages.
    fn action(self) -> &'static str {
        match self {
            Self::Tools => "call tools",
            Self::JsonSchema => "answer with JSON that follows a schema",
            Self::JsonSchemaWithTools => {
                "answer with JSON that follows a schema while tools are offered"
            }
            Self::JsonObject => "be restricted to JSON answers",
            Self::Streaming => "stream its answer",
            Self::Images => "look at images",
            Self::Audio => "listen to audio",
            Self::Videos => "watch videos",
            Self::Pdfs => "read PDF documents",
            Self::ToolChoice => "be forced to call tools",
            Self::ForbidTools => "be kept from calling tools",
            Self::DeferredTools => "load the definitions of tools later",
        }
    }
}

/// The set of capabilities of a model.
///
/// # Examples
///
/// ```
/// use ai_services::model::{Capabilities, Capability};
///
/// let can = Capabilities::of([Capability::Tools]);
/// assert!(can.contains(Capability::Tools));
/// assert!(!can.contains(Capability::Images));
/// assert_eq!(can.with(Capability::Images).without(Capability::Images), can);
/// assert!(can.with(Capability::ToolChoice).contains(Capability::ForbidTools));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(u32);

impl Capabilities {
    /// Creates a set of these capabilities and those that they include.
    #[must_use]
    pub fn of(capabilities: impl IntoIterator<Item = Capability>) -> Self {
        Self(capabilities.into_iter().fold(0, |bits, capability| bits | capability.bits()))
    }

    /// Returns `true` if the set contains this capability.
    #[must_use]
    pub fn contains(self, capability: Capability) -> bool {
        self.0 & capability.bit() != 0
    }

    /// Adds a capability and those that it includes.
    #[must_use]
    pub fn with(self, capability: Capability) -> Self {
        Self(self.0 | capability.bits())
    }

    /// Removes a capability and those that it includes.
    #[must_use]
    pub fn without(self, capability: Capability) -> Self {
        Self(self.0 & !capability.bits())
    }

    /// Returns the capabilities that both sets include.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Checks that the model `name` supports everything a request needs. `defaults` apply to the
    /// parameters that the request leaves unset.
    ///
    /// For implementations of [`ChatModel`](super::ChatModel): call it before a request is sent.
    /// [`Streaming`](Capability::Streaming) is not checked, because every model has
    /// [`stream`](super::ChatModel::stream).
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Unsupported`] with the name of the model and the missing capability.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::message::{ImageContent, UserMessage};
    /// use ai_services::model::{Capabilities, Capability, ChatRequest, ChatRequestParameters};
    ///
    /// let look = UserMessage::from_contents([ImageContent::url("https://a.example/b.png").into()]);
    /// let request = ChatRequest::new([look.into()]);
    /// let blind = Capabilities::of([Capability::Tools]);
    /// let defaults = ChatRequestParameters::new();
    /// let error = blind.check(&request, &defaults, "small").unwrap_err();
    /// assert_eq!(error.to_string(), "the model `small` cannot look at images");
    /// ```
    pub fn check(
        self,
        request: &ChatRequest,
        defaults: &ChatRequestParameters,
        name: &str,
    ) -> Result<()> {
        let missing =
            self.missing_for_format(request, defaults).or_else(|| self.missing_media(request));
        match missing {
            None => Ok(()),
            Some(capability) => Err(Error::new(
                ErrorKind::Unsupported,
                format!("the model `{name}` cannot {}", capability.action()),
            )),
        }
    }

    /// Returns the first missing capability that the tools, the tool choice or the response format
    /// need.
    fn missing_for_format(
        self,
        request: &ChatRequest,
        defaults: &ChatRequestParameters,
    ) -> Option<Capability> {
        let own = request.parameters();
        let has_tools = !request.tools().is_empty();
        let choice = own.tool_choice.as_ref().or(defaults.tool_choice.as_ref());
        let forbids = choice == Some(&ToolChoice::None);
        let forces = matches!(choice, Some(ToolChoice::Required | ToolChoice::Tool(_)));
        let format = own.response_format.as_ref().or(defaults.response_format.as_ref());
        let by_schema = matches!(format, Some(ResponseFormat::JsonSchema { .. }));
        let needs = [
            (has_tools, Capability::Tools),
            (request.tools().has_deferred(), Capability::DeferredTools),
            (has_tools && forces, Capability::ToolChoice),
            (has_tools && forbids, Capability::ForbidTools),
            (by_schema, Capability::JsonSchema),
            (by_schema && has_tools, Capability::JsonSchemaWithTools),
            (matches!(format, Some(ResponseFormat::JsonObject)), Capability::JsonObject),
        ];
        let mut needs = needs.into_iter().filter(|(is_needed, _)| *is_needed);
        needs.find_map(|(_, capability)| (!self.contains(capability)).then_some(capability))
    }

    /// Returns the first missing capability that the contents need. If the model accepts all media,
    /// no message is read.
    fn missing_media(self, request: &ChatRequest) -> Option<Capability> {
        const MEDIA: [Capability; 4] =
            [Capability::Images, Capability::Audio, Capability::Videos, Capability::Pdfs];
        if MEDIA.into_iter().all(|capability| self.contains(capability)) {
            return None;
        }
        let needs = request.messages().flat_map(|message| match message {
            ChatMessage::User(message) => message.contents(),
            ChatMessage::ToolResult(result) => result.contents(),
            _ => &[],
        });
        let mut needs = needs.filter_map(|content| match content {
            Content::Text(_) => None,
            Content::Image(_) => Some(Capability::Images),
            Content::Audio(_) => Some(Capability::Audio),
            Content::Video(_) => Some(Capability::Videos),
            Content::Pdf(_) => Some(Capability::Pdfs),
        });
        needs.find(|capability| !self.contains(*capability))
    }
}
