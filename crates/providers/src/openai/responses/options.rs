//! What only the responses API has.

use super::super::options::{PromptCache, SchemaMode};

/// Whether OpenAI stores answers.
///
/// # Examples
///
/// ```
/// use ai_services::providers::openai::{OpenAiResponsesModel, ResponseStorage};
///
/// let builder = OpenAiResponsesModel::builder().api_key("secret").model("gpt-5-mini");
/// let model = builder.storage(ResponseStorage::Stored).build()?;
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResponseStorage {
    /// `"store": false`: nothing is stored, and the history says everything again.
    #[default]
    NotStored,
    /// `"store": true`: answers can be seen in OpenAI's dashboard for at least 30 days. The history
    /// still says everything again, but reasoning may be named by the id under which it is stored.
    Stored,
}

/// Whether reasoning is asked for in a form that can be sent back.
///
/// # Examples
///
/// ```
/// use ai_services::providers::openai::{EncryptedReasoning, OpenAiResponsesModel};
///
/// let builder = OpenAiResponsesModel::builder().api_key("secret").model("my-deployment");
/// let model = builder.encrypted_reasoning(EncryptedReasoning::NotRequested).build()?;
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncryptedReasoning {
    /// `"include": ["reasoning.encrypted_content"]`.
    Requested,
    /// Nothing is asked for. Models that do not reason refuse the whole request otherwise.
    NotRequested,
}

impl EncryptedReasoning {
    /// What suits a model, by the names of OpenAI's models that do not reason.
    pub(super) fn of(model: &str, storage: ResponseStorage) -> Self {
        let model = model.strip_prefix("ft:").unwrap_or(model);
        let names = ["gpt-3.5", "gpt-4", "chatgpt-"];
        let reasons = !names.into_iter().any(|name| model.starts_with(name));
        match reasons && storage == ResponseStorage::NotStored {
            true => Self::Requested,
            false => Self::NotRequested,
        }
    }
}

/// Whether a model tells what it thought, and how much of it.
///
/// # Examples
///
/// ```
/// use ai_services::providers::openai::{OpenAiResponsesModel, ReasoningSummary};
///
/// let builder = OpenAiResponsesModel::builder().api_key("secret").model("gpt-5-mini");
/// let model = builder.reasoning_summary(ReasoningSummary::Concise).build()?;
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReasoningSummary {
    /// As much as the model can tell.
    Auto,
    /// In short.
    Concise,
    /// At length.
    Detailed,
}

impl ReasoningSummary {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Concise => "concise",
            Self::Detailed => "detailed",
        }
    }
}

/// Whether one answer may call several tools.
///
/// # Examples
///
/// ```
/// use ai_services::providers::openai::{OpenAiResponsesModel, ParallelCalls};
///
/// let builder = OpenAiResponsesModel::builder().api_key("secret").model("gpt-5-mini");
/// let model = builder.parallel_calls(ParallelCalls::Forbidden).build()?;
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParallelCalls {
    /// As many as the model wants.
    Allowed,
    /// At most one.
    Forbidden,
}

/// What requests depend on, beside the parameters.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) storage: ResponseStorage,
    pub(super) encrypted_reasoning: Option<EncryptedReasoning>,
    pub(super) summary: Option<ReasoningSummary>,
    pub(super) parallel_calls: Option<ParallelCalls>,
    pub(super) cache: PromptCache,
    pub(super) tools: SchemaMode,
    pub(super) answers: SchemaMode,
}
