//! Options of the responses API.

use super::super::options::{PromptCache, SchemaMode};
use crate::protocol::parallel_tool_calls::ParallelToolCalls;

/// The storage of answers at OpenAI.
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
    /// No storage (`"store": false`). Each request has the whole history.
    #[default]
    NotStored,
    /// Storage (`"store": true`): OpenAI's dashboard shows answers for at least 30 days. Each request
    /// still has the whole history, but can refer to stored reasoning by its id.
    Stored,
}

/// The request for encrypted reasoning, which can be sent back without storage.
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
    /// Encrypted reasoning is requested (`"include": ["reasoning.encrypted_content"]`).
    Requested,
    /// Encrypted reasoning is not requested. Models without reasoning reject requests for it.
    NotRequested,
}

impl EncryptedReasoning {
    /// Returns the default for a model, by the names of OpenAI's models without reasoning.
    pub(super) fn of(model: &str, storage: ResponseStorage) -> Self {
        let model = model.strip_prefix("ft:").unwrap_or(model);
        let names = ["gpt-3.5", "gpt-4", "chatgpt-"];
        let reasons = !names.into_iter().any(|name| model.starts_with(name));
        if reasons && storage == ResponseStorage::NotStored {
            Self::Requested
        } else {
            Self::NotRequested
        }
    }
}

/// The length of the reasoning summary that a model returns.
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
    /// The most detailed summary that the model supports.
    Auto,
    /// A short summary.
    Concise,
    /// A long summary.
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

/// The options of a client, beside the parameters of its requests.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) storage: ResponseStorage,
    pub(super) encrypted_reasoning: Option<EncryptedReasoning>,
    pub(super) summary: Option<ReasoningSummary>,
    pub(super) parallel_tool_calls: Option<ParallelToolCalls>,
    pub(super) cache: PromptCache,
    pub(super) tools: SchemaMode,
    pub(super) answers: SchemaMode,
}
