//! Options of Gemini.

use serde::{Serialize, Serializer};

/// The dialect of the schemas of tools and answers.
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
    /// The API's own dialect, the subset of `OpenAPI` that all models support, as `parameters` and
    /// `responseSchema`. References are inlined. Constraints that not all models support are omitted. A
    /// schema that the dialect cannot express (a recursive type, a map, a tuple, a value of any type, an
    /// enumeration of numbers) is sent as JSON Schema.
    #[default]
    OpenApi,
    /// JSON Schema, as `parametersJsonSchema` and `responseJsonSchema`. Supported by models since Gemini
    /// 2.5. A type can contain itself only in optional members.
    JsonSchema,
}

/// The request for summaries of the model's thoughts.
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
    /// Summaries are not requested.
    #[default]
    NotRequested,
    /// Summaries are requested with `includeThoughts`. Models that do not think reject the request.
    Requested,
}

/// A category of harmful content that the API filters.
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
    /// Threats, bullying and other abuse.
    Harassment,
    /// Hatred of groups of people.
    HateSpeech,
    /// Sexually explicit content.
    SexuallyExplicit,
    /// Content that facilitates dangerous acts.
    DangerousContent,
    /// Another category, by its name in the API, for example `HARM_CATEGORY_JAILBREAK`.
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

/// The probability of harm from which content is blocked.
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
    /// Low probability or above.
    LowAndAbove,
    /// Medium probability or above.
    MediumAndAbove,
    /// High probability only.
    OnlyHigh,
    /// No blocking.
    Never,
    /// No blocking and no rating: the filter is off.
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

/// The threshold of one category.
#[derive(Clone, Debug, Serialize)]
pub(super) struct SafetySetting {
    pub(super) category: HarmCategory,
    pub(super) threshold: HarmThreshold,
}

/// The options of a client, beside the parameters of its requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    pub(super) schemas: SchemaDialect,
    pub(super) thoughts: ThoughtSummaries,
    pub(super) thinking_budget: Option<i32>,
    pub(super) safety: Vec<SafetySetting>,
    pub(super) cached_content: Option<Box<str>>,
}
