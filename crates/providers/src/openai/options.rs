//! Options in which compatible servers differ.

use crate::ThinkingReplay;
use crate::protocol::json_object::JsonObject;

/// The member that carries
/// [`max_output_tokens`](ai_services_core::model::ChatRequestParameters::max_output_tokens).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MaxTokensField {
    /// `max_completion_tokens`, the only member that OpenAI's reasoning models accept.
    MaxCompletionTokens,
    /// `max_tokens`, the only member that many compatible servers know.
    MaxTokens,
}

impl MaxTokensField {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::MaxTokens => "max_tokens",
        }
    }
}

/// The enforcement of a schema by the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaMode {
    /// The schema is sent unchanged, and the model may deviate from it.
    #[default]
    Loose,
    /// The schema is sent for OpenAI's strict mode: no additional members, all members required, the
    /// optional ones nullable. The model cannot deviate from the schema. A schema that strict mode
    /// cannot express, with maps, tuples or values of any type, is sent as in [`Loose`](Self::Loose).
    Strict,
}

impl SchemaMode {
    /// Returns the default mode of answers.
    pub(super) fn default_for_answers(is_official: bool) -> Self {
        if is_official { Self::Strict } else { Self::Loose }
    }
}

/// Defines the setters of a builder with the fields `tool_schemas` and `response_schemas`.
macro_rules! schema_setters {
    () => {
        /// Sets whether the provider enforces the schemas of tool arguments. Default:
        /// [`Loose`](SchemaMode::Loose). In strict mode the model writes `null` for omitted arguments.
        pub fn tool_schemas(mut self, mode: SchemaMode) -> Self {
            self.tool_schemas = mode;
            self
        }

        /// Sets whether the provider enforces the schemas of answers. Default:
        /// [`Strict`](SchemaMode::Strict) at OpenAI and Azure, [`Loose`](SchemaMode::Loose) at other
        /// servers. A schema that strict mode cannot express, for example a map, is always loose.
        pub fn response_schemas(mut self, mode: SchemaMode) -> Self {
            self.response_schemas = Some(mode);
            self
        }
    };
}

pub(super) use schema_setters;

/// The request for the token usage of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamUsage {
    /// `stream_options` requests the usage.
    #[default]
    Requested,
    /// The usage is not requested, for servers that reject `stream_options`. Some report it anyway.
    NotRequested,
}

/// The handling of non-standard fields of earlier answers: `reasoning_details`, `extra_content`.
///
/// # Examples
///
/// ```
/// use ai_services::providers::openai::{OpenAiChatModel, ProviderExtensions};
///
/// // Continues conversations of other servers, but rejects their fields.
/// let strict = OpenAiChatModel::builder()
///     .base_url("https://strict.example/v1")
///     .api_key("secret")
///     .model("small")
///     .provider_extensions(ProviderExtensions::Omit)
///     .build()?;
/// # let _ = strict;
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProviderExtensions {
    /// The fields are sent back unchanged, to whichever compatible server continues the conversation.
    Send,
    /// The fields stay with the answer and are not sent, for servers that reject unknown fields.
    Omit,
}

/// The settings of the provider's prompt cache.
#[derive(Clone, Debug, Default)]
pub(super) struct PromptCache {
    pub(super) key: Option<Box<str>>,
    pub(super) retention: Option<Box<str>>,
}

impl PromptCache {
    pub(super) fn add_to(&self, head: &mut JsonObject<'_>) {
        head.add("prompt_cache_key", self.key.as_deref());
        head.add("prompt_cache_retention", self.retention.as_deref());
    }
}

/// Defines the setters of a builder with the field `cache`.
macro_rules! prompt_cache_setters {
    () => {
        /// Sets the key of OpenAI's prompt cache. Requests with the same key share a cache: use the name
        /// of an application or a hash of a user, for example.
        /// [`TokenUsage::cached_input`](ai_services_core::model::TokenUsage::cached_input) has the number
        /// of tokens that were read from the cache.
        pub fn prompt_cache_key(mut self, key: impl Into<Box<str>>) -> Self {
            self.cache.key = Some(key.into());
            self
        }

        /// Sets the retention of prompts in OpenAI's cache: `in_memory` or `24h`. Default: depends on the
        /// model and the organization.
        pub fn prompt_cache_retention(mut self, retention: impl Into<Box<str>>) -> Self {
            self.cache.retention = Some(retention.into());
            self
        }
    };
}

pub(super) use prompt_cache_setters;

/// The options of a client, beside the parameters of its requests.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) thinking: ThinkingReplay,
    pub(super) provider_extensions: ProviderExtensions,
    pub(super) stream_usage: StreamUsage,
    pub(super) cache: PromptCache,
    pub(super) max_tokens: MaxTokensField,
    pub(super) tools: SchemaMode,
    pub(super) answers: SchemaMode,
}
