//! Where compatible servers differ.

/// The member that carries
/// [`max_output_tokens`](crate::model::ChatRequestParameters::max_output_tokens).
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

/// Whether the model's earlier thinking is sent back to it, as `reasoning_content`.
///
/// Most servers refuse or ignore it. Those of models that think between tool calls want it for the
/// turn in which they think, or answer worse without: DeepSeek, Kimi, GLM, and vLLM with such a
/// model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThinkingReplay {
    /// No thinking is sent.
    #[default]
    Never,
    /// The thinking since the last user message is sent, so that the model goes on where it was when
    /// it called a tool.
    CurrentTurn,
    /// All thinking that the history still has is sent.
    Always,
}

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

/// What requests depend on, beside the parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    pub(super) thinking: ThinkingReplay,
    pub(super) stream_usage: StreamUsage,
    pub(super) max_tokens: MaxTokensField,
    pub(super) tools: SchemaMode,
    pub(super) answers: SchemaMode,
}
