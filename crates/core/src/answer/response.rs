//! The value of a method with its turn.

use super::rejected_answer::RejectedAnswer;
use crate::invocation::ToolExecution;
use crate::model::{ChatResponse, Cost, FinishReason, TokenUsage};
use crate::rag::RetrievedContent;

/// The value of a method, with the usage, tools and responses of its turn.
///
/// # Examples
///
/// ```
/// use ai_services::testing::ScriptedChatModel;
/// use ai_services::{Response, ai_service};
///
/// #[ai_service]
/// trait Assistant {
///     async fn chat(&self, message: &str) -> ai_services::Result<Response<String>>;
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let model = ScriptedChatModel::replies(["Hi."]);
/// let assistant = AssistantService::builder().chat_model(model).build()?;
/// let response = assistant.chat("Hello!").await?;
/// assert_eq!(response.value, "Hi.");
/// assert!(response.tool_executions.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Response<T> {
    /// The answer.
    pub value: T,
    /// The tokens of all model calls of the turn.
    pub token_usage: TokenUsage,
    /// The cost of all model calls of the turn, including failed attempts with a known cost; `None`
    /// unless the service has a price table (`AiServiceBuilder::price_table`).
    pub cost: Option<Cost>,
    /// The reason why the model stopped.
    pub finish_reason: Option<FinishReason>,
    /// The tool calls that ran, in order.
    pub tool_executions: Vec<ToolExecution>,
    /// The responses that called tools, in order.
    pub intermediate_responses: Vec<ChatResponse>,
    /// The answers that could not be parsed, or that output guardrails rejected, in order. They are
    /// not remembered.
    pub rejected_answers: Vec<RejectedAnswer>,
    /// The retrieved content that was sent to the model, best first.
    pub sources: Vec<RetrievedContent>,
    /// The last response of the model, with the rewrites of the output guardrails.
    pub final_response: ChatResponse,
}

impl<T> Response<T> {
    /// Creates a response of one model call, for a manual implementation of the trait.
    ///
    /// Token usage and finish reason are those of `answer`. The fields about tools, rejected answers and
    /// sources are empty, and can be set afterwards.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::message::AiMessage;
    /// use ai_services::model::{ChatResponse, TokenUsage};
    /// use ai_services::{Response, async_trait, ai_service};
    ///
    /// #[ai_service]
    /// trait Assistant {
    ///     async fn chat(&self, message: &str) -> ai_services::Result<Response<String>>;
    /// }
    ///
    /// struct Double;
    ///
    /// #[async_trait]
    /// impl Assistant for Double {
    ///     async fn chat(&self, _: &str) -> ai_services::Result<Response<String>> {
    ///         let answer = ChatResponse::new(AiMessage::new("Hi.")).with_usage(TokenUsage::new(8, 2));
    ///         Ok(Response::new("Hi.".to_owned(), answer))
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> ai_services::Result<()> {
    /// assert_eq!(Double.chat("Hello!").await?.token_usage, TokenUsage::new(8, 2));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn new(value: T, answer: ChatResponse) -> Self {
        Self {
            value,
            token_usage: answer.usage,
            cost: None,
            finish_reason: answer.finish_reason.clone(),
            tool_executions: Vec::new(),
            intermediate_responses: Vec::new(),
            rejected_answers: Vec::new(),
            sources: Vec::new(),
            final_response: answer,
        }
    }
}
