//! The permission for several tool calls in one answer.

/// The permission for several tool calls in one answer.
///
/// # Examples
///
/// ```
/// use ai_services::providers::openai::{OpenAiResponsesModel, ParallelToolCalls};
///
/// let builder = OpenAiResponsesModel::builder().api_key("secret").model("gpt-5-mini");
/// let model = builder.parallel_tool_calls(ParallelToolCalls::Disabled).build()?;
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParallelToolCalls {
    /// Any number of tool calls.
    #[default]
    Allowed,
    /// At most one tool call.
    Disabled,
}
