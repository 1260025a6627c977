//! What a model can do, as data.

use super::{ChatRequest, ChatRequestParameters, ResponseFormat, ToolChoice};
use crate::error::{Error, ErrorKind, Result};
use crate::message::{ChatMessage, Content};

/// Something that not every model can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Capability {
    /// Calls tools.
    Tools,
    /// Answers with JSON that follows a schema, enforced by the provider.
    JsonSchema,
    /// Does so while it is offered tools, and still calls them.
    JsonSchemaWithTools,
    /// Answers with some JSON object, enforced by the provider.
    JsonObject,
    /// Sends the answer piece by piece.
    Streaming,
    /// Looks at images.
    Images,
    /// Listens to recordings.
    Audio,
    /// Watches films.
    Videos,
    /// Reads PDF documents.
    Pdfs,
    /// Can be made to call a tool, or not to call any.
    ToolChoice,
}

impl Capability {
    fn bit(self) -> u32 {
        1 << self as u32
    }

    /// What a model without it cannot do.
    fn what(self) -> &'static str {
        match self {
            Self::Tools => "call tools",
            Self::JsonSchema => "answer by a schema",
            Self::JsonSchemaWithTools => "answer by a schema while it has tools",
            Self::JsonObject => "be made to answer with JSON",
            Self::Streaming => "send its answer piece by piece",
            Self::Images => "look at images",
            Self::Audio => "listen to recordings",
            Self::Videos => "watch videos",
            Self::Pdfs => "read PDF documents",
            Self::ToolChoice => "be told whether to call tools",
        }
    }
}

/// What a model can do.
///
/// # Examples
///
/// ```
/// use ai_services::model::{Capabilities, Capability};
///
/// let can = Capabilities::of([Capability::Tools]);
/// assert!(can.include(Capability::Tools));
/// assert!(!can.include(Capability::Images));
/// assert_eq!(can.with(Capability::Images).without(Capability::Images), can);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(u32);

impl Capabilities {
    /// Exactly these.
    #[must_use]
    pub fn of(capabilities: impl IntoIterator<Item = Capability>) -> Self {
        Self(capabilities.into_iter().fold(0, |bits, capability| bits | capability.bit()))
    }

    /// Whether the model can do this.
    #[must_use]
    pub fn include(self, capability: Capability) -> bool {
        self.0 & capability.bit() != 0
    }

    /// These and one more.
    #[must_use]
    pub fn with(self, capability: Capability) -> Self {
        Self(self.0 | capability.bit())
    }

    /// These but one.
    #[must_use]
    pub fn without(self, capability: Capability) -> Self {
        Self(self.0 & !capability.bit())
    }

    /// What both can.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Checks that the model `name` can do what a request asks for, with `defaults` for the parameters
    /// that it leaves open.
    ///
    /// For implementations of [`ChatModel`](super::ChatModel), to be called before anything is sent.
    /// [`Streaming`](Capability::Streaming) is not checked: every model has
    /// [`stream`](super::ChatModel::stream).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`], naming the model and what it cannot do.
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
            self.missing_for_form(request, defaults).or_else(|| self.missing_media(request));
        match missing {
            None => Ok(()),
            Some(capability) => Err(Error::new(
                ErrorKind::Unsupported,
                format!("the model `{name}` cannot {}", capability.what()),
            )),
        }
    }

    /// What tools and the form of the answer need beside what the model can.
    fn missing_for_form(
        self,
        request: &ChatRequest,
        defaults: &ChatRequestParameters,
    ) -> Option<Capability> {
        let own = request.parameters();
        let has_tools = !request.tools().is_empty();
        let choice = own.tool_choice.as_ref().or(defaults.tool_choice.as_ref());
        let chooses = has_tools && choice.is_some_and(ToolChoice::is_forced);
        let format = own.response_format.as_ref().or(defaults.response_format.as_ref());
        let by_schema = matches!(format, Some(ResponseFormat::JsonSchema { .. }));
        let needs = [
            (has_tools, Capability::Tools),
            (chooses, Capability::ToolChoice),
            (by_schema, Capability::JsonSchema),
            (by_schema && has_tools, Capability::JsonSchemaWithTools),
            (matches!(format, Some(ResponseFormat::JsonObject)), Capability::JsonObject),
        ];
        let mut needs = needs.into_iter().filter(|(is_needed, _)| *is_needed);
        needs.find_map(|(_, capability)| (!self.include(capability)).then_some(capability))
    }

    /// What the contents need beside what the model can. Looks at no message if it can all.
    fn missing_media(self, request: &ChatRequest) -> Option<Capability> {
        const MEDIA: [Capability; 4] =
            [Capability::Images, Capability::Audio, Capability::Videos, Capability::Pdfs];
        if MEDIA.into_iter().all(|capability| self.include(capability)) {
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
        needs.find(|capability| !self.include(*capability))
    }
}
