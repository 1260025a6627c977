//! Where compatible servers differ.

use crate::ThinkingReplay;
use crate::protocol::members::Members;

/// The member that carries
/// [`max_output_tokens`](ai_services_core::model::ChatRequestParameters::max_output_tokens).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MaxTokensField {
    /// `max_completion_tokens`, the only one that OpenAI's reasoning models accept.
    MaxCompletionTokens,
    /// `max_tokens`, the only one that many compatible servers know.
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

/// Whether a schema is enforced by OpenAI's strict mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaMode {
    /// The schema is sent as it is, and the model may deviate from it.
    #[default]
    Loose,
    /// The schema is sent as strict mode wants it: no further members, all members required, the
    /// optional ones nullable. The model cannot deviate from it. A schema that strict mode cannot
    /// express, with maps, tuples or values of any form, is sent as it is, and not strict.
    Strict,
}

impl SchemaMode {
    /// The mode of answers that nobody chose one for.
    pub(super) fn of_answers_at(is_genuine: bool) -> Self {
        if is_genuine { Self::Strict } else { Self::Loose }
    }
}

/// The setters of a builder with fields `tool_schemas` and `response_schemas`.
macro_rules! schema_setters {
    () => {
        /// Sets whether arguments of tools are kept to their schema by the provider; loose by default.
        /// In strict mode the model writes `null` for an argument that it omits.
        pub fn tool_schemas(mut self, mode: SchemaMode) -> Self {
            self.tool_schemas = mode;
            self
        }

        /// Sets whether answers with a schema are kept to it by the provider:
        /// [`Strict`](SchemaMode::Strict) by default at OpenAI and Azure, [`Loose`](SchemaMode::Loose) at
        /// every other server. A schema that strict mode has no form for, a map for example, is always
        /// sent loosely.
        pub fn response_schemas(mut self, mode: SchemaMode) -> Self {
            self.response_schemas = Some(mode);
            self
        }
    };
}

pub(super) use schema_setters;

/// Whether a stream is asked to tell the tokens it cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamUsage {
    /// `stream_options` asks for it.
    #[default]
    Requested,
    /// Nothing is asked for, for servers that refuse `stream_options`. Some tell it nevertheless.
    NotRequested,
}

/// Whether a server is told again what it said beside the protocol: `reasoning_details`, `extra_content`.
///
/// # Examples
///
/// ```
/// use ai_services::providers::openai::{OpenAiChatModel, ProviderExtensions};
///
/// // Goes on with conversations that others began, and refuses what they said in their own words.
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
    /// It is sent back as it came, to whatever compatible server goes on with the conversation.
    Send,
    /// It is kept with the answer and not sent, for servers that refuse members they do not know.
    Omit,
}

/// What is said of the provider's prompt cache.
#[derive(Clone, Debug, Default)]
pub(super) struct PromptCache {
    pub(super) key: Option<Box<str>>,
    pub(super) retention: Option<Box<str>>,
}

impl PromptCache {
    pub(super) fn add_to(&self, head: &mut Members<'_>) {
        head.add("prompt_cache_key", self.key.as_deref());
        head.add("prompt_cache_retention", self.retention.as_deref());
    }
}

/// The setters of a builder with a field `cache`.
macro_rules! prompt_cache_setters {
    () => {
        /// Sends a key that tells OpenAI which requests begin alike, so that they meet the same prompt
        /// cache: the name of an application or a hash of a user, for example. What was found in the
        /// cache is told by [`TokenUsage::cached_input`](ai_services_core::model::TokenUsage::cached_input).
        pub fn prompt_cache_key(mut self, key: impl Into<Box<str>>) -> Self {
            self.cache.key = Some(key.into());
            self
        }

        /// Sets how long OpenAI keeps a prompt in its cache, in its words: `in_memory` or `24h`. What
        /// holds otherwise depends on the model and the organization.
        pub fn prompt_cache_retention(mut self, retention: impl Into<Box<str>>) -> Self {
            self.cache.retention = Some(retention.into());
            self
        }
    };
}

pub(super) use prompt_cache_setters;

/// What requests depend on, beside the parameters.
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
