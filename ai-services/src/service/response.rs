//! What a service method gives back.

use super::description::{Arguments, Method};
use super::handle::{self, AiService};
use super::turn::RejectedAnswer;
use crate::error::{Error, Result};
use crate::invocation::ToolExecution;
use crate::model::{ChatResponse, Cost, FinishReason, TokenUsage};
use crate::output::{Output, Shape};
use crate::rag::RetrievedContent;
use futures_util::future::BoxFuture;

/// A method's value together with what it took to get it.
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
    /// The tokens of all model calls of the turn together.
    pub token_usage: TokenUsage,
    /// What all model calls of the turn cost together, failed attempts included as far as they are
    /// known; `None` unless the service has a
    /// [price table](crate::AiServiceBuilder::price_table).
    pub cost: Option<Cost>,
    /// Why the model stopped.
    pub finish_reason: Option<FinishReason>,
    /// The tools that ran, in order.
    pub tool_executions: Vec<ToolExecution>,
    /// The answers that called tools, in order.
    pub intermediate_responses: Vec<ChatResponse>,
    /// The answers that could not be read as a value, or that output guardrails rejected, in order. Not
    /// in the memory.
    pub rejected_answers: Vec<RejectedAnswer>,
    /// What was retrieved and told to the model, best first.
    pub sources: Vec<RetrievedContent>,
    /// The last answer of the model, as the output guardrails left it.
    pub final_response: ChatResponse,
}

/// The value inside the `Result` of a method: an [`Output`], or a [`Response`] of one.
#[diagnostic::on_unimplemented(
    message = "an AI service method cannot return `{Self}`",
    label = "not a supported AI service output",
    note = "supported outputs: `String`, `AiMessage`, `()`, every type that derives `serde::Deserialize` and `schemars::JsonSchema`, and `Response<T>` of these"
)]
pub trait Returned: Send {
    #[doc(hidden)]
    type Output: Output;
    #[doc(hidden)]
    fn from_response(response: Response<Self::Output>) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Output> Returned for T {
    type Output = T;

    fn from_response(response: Response<T>) -> Self {
        response.value
    }
}

impl<T: Output> Returned for Response<T> {
    type Output = T;

    fn from_response(response: Self) -> Self {
        response
    }
}

/// What a service method returns: `Result<T, E>` where `E` can be made from an
/// [`Error`](crate::Error).
#[diagnostic::on_unimplemented(
    message = "an AI service method must return a `Result`, not `{Self}`",
    label = "not a `Result`",
    note = "every call can fail: the model, a tool, or the reader of the answer may return an error",
    note = "for example `ai_services::Result<String>`, or any `Result<T, E>` with `E: From<ai_services::Error>`",
    note = "a method that streams its answer is a plain `fn` that returns an `AnswerStream`"
)]
pub trait MethodReturn: Send + Sized {
    #[doc(hidden)]
    type Value: Returned;
    #[doc(hidden)]
    fn from_result(result: Result<Self::Value>) -> Self;

    /// What the answer should look like.
    #[doc(hidden)]
    fn shape() -> Shape {
        <Self::Value as Returned>::Output::shape()
    }

    /// The body of a method, in the shape of its trait.
    #[doc(hidden)]
    fn call<'a>(
        service: &'a AiService,
        method: &'static Method,
        arguments: Arguments<'_>,
    ) -> BoxFuture<'a, Self>
    where
        Self: 'a,
    {
        Box::pin(handle::call(service, method, arguments))
    }
}

impl<T: Returned, E: From<Error> + Send> MethodReturn for Result<T, E> {
    type Value = T;

    fn from_result(result: Result<T>) -> Self {
        result.map_err(E::from)
    }
}
