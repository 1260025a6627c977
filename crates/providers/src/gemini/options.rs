//! What only Gemini has.

use serde::{Serialize, Serializer};

/// In which dialect schemas of tools and answers are sent.
///
/// # Examples
///
/// ```
/// use ai_services::providers::gemini::{GeminiChatModel, SchemaDialect};
///
/// let model = GeminiChatModel::builder()
///     .api_key("secret")
///     .model("gemini-2.5-flash")
///     .schema_dialect(SchemaDialect::JsonSchema)
///     .build()?;
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaDialect {
    /// The API's own, the part of `OpenAPI` that all models know, as `parameters` and `responseSchema`.
    /// References are put into their places, and what only narrows a value down is left out where not
    /// all models know it. A schema that the dialect has no words for (a type that contains itself, a
    /// map, a tuple, a value of any type, a choice of numbers) is sent as JSON Schema.
    #[default]
    OpenApi,
    /// JSON Schema as it is, as `parametersJsonSchema` and `responseJsonSchema`, which models since
    /// Gemini 2.5 know. A type may contain itself only in members that are not required.
    JsonSchema,
}

/// Whether summaries of what the model thought come with its answers.
///
/// # Examples
///
/// ```
/// use ai_services::providers::gemini::{GeminiChatModel, ThoughtSummaries};
///
/// let model = GeminiChatModel::builder()
///     .api_key("secret")
///     .model("gemini-2.5-flash")
///     .thought_summaries(ThoughtSummaries::Requested)
///     .build()?;
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThoughtSummaries {
    /// Nothing is asked for; the model thinks in silence.
    #[default]
    NotRequested,
    /// `includeThoughts` asks for them. Models that do not think refuse that.
    Requested,
}

/// A kind of harm that answers are looked through for.
///
/// # Examples
///
/// ```
/// use ai_services::providers::gemini::{GeminiChatModel, HarmCategory, HarmThreshold};
///
/// let model = GeminiChatModel::builder()
///     .api_key("secret")
///     .model("gemini-2.5-flash")
///     .safety_setting(HarmCategory::HateSpeech, HarmThreshold::LowAndAbove)
///     .build()?;
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HarmCategory {
    /// Threats, bullying and the like.
    Harassment,
    /// Hatred of groups of people.
    HateSpeech,
    /// Sexually explicit content.
    SexuallyExplicit,
    /// What helps to do dangerous things.
    DangerousContent,
    /// A category in the API's words, for example `HARM_CATEGORY_JAILBREAK`.
    Other(Box<str>),
}

impl HarmCategory {
    fn as_str(&self) -> &str {
        match self {
            Self::Harassment => "HARM_CATEGORY_HARASSMENT",
            Self::HateSpeech => "HARM_CATEGORY_HATE_SPEECH",
            Self::SexuallyExplicit => "HARM_CATEGORY_SEXUALLY_EXPLICIT",
            Self::DangerousContent => "HARM_CATEGORY_DANGEROUS_CONTENT",
            Self::Other(category) => category,
        }
    }
}

/// From which probability of harm on something is blocked.
///
/// # Examples
///
/// ```
/// use ai_services::providers::gemini::{GeminiChatModel, HarmCategory, HarmThreshold};
///
/// let model = GeminiChatModel::builder()
///     .api_key("secret")
///     .model("gemini-2.5-flash")
///     .safety_setting(HarmCategory::Harassment, HarmThreshold::OnlyHigh)
///     .build()?;
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HarmThreshold {
    /// A low one or a higher one.
    LowAndAbove,
    /// A medium one or a higher one.
    MediumAndAbove,
    /// Only a high one.
    OnlyHigh,
    /// Nothing is blocked.
    Never,
    /// Nothing is even looked at.
    Off,
}

impl HarmThreshold {
    fn as_str(&self) -> &'static str {
        match self {
            Self::LowAndAbove => "BLOCK_LOW_AND_ABOVE",
            Self::MediumAndAbove => "BLOCK_MEDIUM_AND_ABOVE",
            Self::OnlyHigh => "BLOCK_ONLY_HIGH",
            Self::Never => "BLOCK_NONE",
            Self::Off => "OFF",
        }
    }
}

impl Serialize for HarmCategory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Serialize for HarmThreshold {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// From where on one kind of harm is blocked.
#[derive(Clone, Debug, Serialize)]
pub(super) struct SafetySetting {
    pub(super) category: HarmCategory,
    pub(super) threshold: HarmThreshold,
}

/// What requests depend on, beside the parameters.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    pub(super) schemas: SchemaDialect,
    pub(super) thoughts: ThoughtSummaries,
    pub(super) thinking_budget: Option<i32>,
    pub(super) safety: Vec<SafetySetting>,
    pub(super) cached_content: Option<Box<str>>,
}
