//! How the API is asked to answer, beside the parameters that all providers share.

/// Whether the model thinks before it answers.
///
/// While it thinks the API refuses to be told which tool to call, another `temperature` than 1, and
/// `top_k`. Thoughts come as [`thinking`](ai_services_core::message::AiMessage::thinking), and are sent back as
/// they came, with their signatures, for as long as the history has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Thinking {
    /// The model decides whether, and how much: for models since Claude Opus 4.6 and Sonnet 4.6. How
    /// hard it tries is said by
    /// [`reasoning_effort`](ai_services_core::model::ChatRequestParameters::reasoning_effort).
    Adaptive,
    /// The model thinks for at most this many tokens, of at least 1024, which count as output: for
    /// models up to Claude 4.5.
    Budget(u32),
    /// The model does not think, not even one that does so unless told otherwise.
    Disabled,
}

impl Thinking {
    /// The smallest budget that the API accepts.
    pub(super) const MIN_BUDGET: u32 = 1024;

    pub(super) fn is_on(self) -> bool {
        self != Self::Disabled
    }
}

/// What the provider keeps of a request, so that the next one that begins with the same is cheaper.
///
/// Writing into the cache costs more than reading a prompt the usual way, and reading from it a
/// fraction. Prompts below about 1000 to 4000 tokens, depending on the model, are not kept. What was
/// read and written is in [`TokenUsage`](ai_services_core::model::TokenUsage).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptCaching {
    /// Nothing.
    #[default]
    Off,
    /// The tools and the system messages.
    Instructions(CacheLifetime),
    /// These and the conversation so far: for conversations that go on, and for tool loops.
    Conversation(CacheLifetime),
}

impl PromptCaching {
    /// The mark that ends a prefix to be kept, as one more member of its last block.
    pub(super) fn mark(self) -> Option<&'static [u8]> {
        match self {
            Self::Off => None,
            Self::Instructions(lifetime) | Self::Conversation(lifetime) => Some(lifetime.mark()),
        }
    }
}

/// How long a prompt is kept after it was last used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheLifetime {
    /// Five minutes.
    #[default]
    FiveMinutes,
    /// One hour; writing costs more.
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

/// Whether the model may call several tools in one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParallelToolCalls {
    /// It may.
    #[default]
    Allowed,
    /// It calls at most one.
    Disabled,
}

/// What requests depend on, beside the parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    pub(super) thinking: Option<Thinking>,
    pub(super) caching: PromptCaching,
    pub(super) parallel: ParallelToolCalls,
    /// The longest answer, of a request that does not say it.
    pub(super) max_tokens: u32,
}
