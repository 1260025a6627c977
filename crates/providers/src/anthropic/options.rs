//! Options of Anthropic.

use super::ParallelToolCalls;

/// The thinking of the model before it answers.
///
/// With thinking, the API rejects a tool choice that forces a call, a `temperature` other than 1, and
/// `top_k`. Answers have the thoughts as [`thinking`](ai_services_core::message::AiMessage::thinking). The
/// thoughts in the history are sent back unchanged, with their signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Thinking {
    /// The model decides whether it thinks and how long. For models since Claude Opus 4.6 and Sonnet 4.6.
    /// [`reasoning_effort`](ai_services_core::model::ChatRequestParameters::reasoning_effort) sets the
    /// effort.
    Adaptive,
    /// A maximum number of thinking tokens, at least 1024. They count as output tokens. For models up to
    /// Claude 4.5.
    Budget(u32),
    /// No thinking, even for models that think by default.
    Disabled,
}

impl Thinking {
    /// The smallest budget that the API accepts.
    pub(super) const MIN_BUDGET: u32 = 1024;

    pub(super) fn is_on(self) -> bool {
        self != Self::Disabled
    }
}

/// The part of a request that the provider caches for later requests with the same prefix.
///
/// A write to the cache costs more than uncached input, a read costs a fraction. Prompts below 1000 to
/// 4000 tokens, depending on the model, are not cached.
/// [`TokenUsage`](ai_services_core::model::TokenUsage) has the number of tokens that were read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptCaching {
    /// No caching.
    #[default]
    Off,
    /// The tools and the system messages.
    Instructions(CacheLifetime),
    /// The tools, the system messages and the conversation so far: for long conversations and tool loops.
    Conversation(CacheLifetime),
}

impl PromptCaching {
    /// Returns the member that marks a block as the last one of the cached prefix.
    pub(super) fn mark(self) -> Option<&'static [u8]> {
        match self {
            Self::Off => None,
            Self::Instructions(lifetime) | Self::Conversation(lifetime) => Some(lifetime.mark()),
        }
    }
}

/// The lifetime of a cached prompt after its last use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheLifetime {
    /// Five minutes.
    #[default]
    FiveMinutes,
    /// One hour. Writes cost more.
    OneHour,
}

impl CacheLifetime {
    fn mark(self) -> &'static [u8] {
        match self {
            Self::FiveMinutes => br#","cache_control":{"type":"ephemeral"}"#,
            Self::OneHour => br#","cache_control":{"type":"ephemeral","ttl":"1h"}"#,
        }
    }
}

/// The options of a client, beside the parameters of its requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    pub(super) thinking: Option<Thinking>,
    pub(super) caching: PromptCaching,
    pub(super) parallel: ParallelToolCalls,
    /// The maximum number of output tokens of a request without a limit of its own.
    pub(super) max_tokens: u32,
}
