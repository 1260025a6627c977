//! The return types of service methods.

use super::description::AnswerForm;
use super::rejected_answer::RejectedAnswer;
use super::turn::FinishedTurn;
use crate::approval::PendingTurn;
use crate::model::{ChatResponse, Cost, FinishReason, TokenUsage};
use crate::output::{Output, Shape};
use crate::rag::RetrievedContent;
use crate::tool::ToolExecution;
use crate::{Error, ErrorKind, Result};

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
    /// unless the service has a [price table](crate::AiServiceBuilder::price_table).
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

    pub(super) fn of_turn(value: T, turn: FinishedTurn, sources: Vec<RetrievedContent>) -> Self {
        Self {
            token_usage: turn.spent.usage,
            cost: turn.spent.cost,
            tool_executions: turn.executions,
            intermediate_responses: turn.intermediate,
            rejected_answers: turn.rejected,
            sources,
            ..Self::new(value, *turn.answer)
        }
    }
}

/// The reply to the caller of a method, as the engine sees it.
///
/// The engine passes answers and reports to it instead of returning them. It is therefore compiled once,
/// not for each type of answer, and a [`Response`] of 450 bytes does not pass through all futures of a call.
pub(super) trait Reply: Send {
    /// Reads an answer as the value of the method.
    ///
    /// # Errors
    ///
    /// If the answer has another form.
    fn read(&mut self, answer: &ChatResponse, shape: &Shape) -> Result<()>;

    /// Takes the report of a committed turn, whose answer was the last one that was read.
    fn complete(&mut self, turn: FinishedTurn, sources: Vec<RetrievedContent>);

    /// Returns the tokens of the committed turn.
    fn usage(&self) -> TokenUsage;
}

/// The reply of a method that returns `V`.
pub(super) struct PendingReply<V: Returned> {
    value: ReplyValue<V>,
    usage: TokenUsage,
}

enum ReplyValue<V: Returned> {
    Unread,
    Read(V::Output),
    Complete(V),
}

impl<V: Returned> PendingReply<V> {
    /// Creates the reply of a call that has no answer yet.
    pub(super) fn new() -> Self {
        Self { value: ReplyValue::Unread, usage: TokenUsage::default() }
    }

    /// Returns the value of a call that succeeded.
    pub(super) fn into_value(self) -> Result<V> {
        match self.value {
            ReplyValue::Complete(value) => Ok(value),
            ReplyValue::Unread | ReplyValue::Read(_) => {
                Err(Error::new(ErrorKind::Output, "the call ended without an answer"))
            }
        }
    }
}

impl<V: Returned> Reply for PendingReply<V> {
    fn read(&mut self, answer: &ChatResponse, shape: &Shape) -> Result<()> {
        self.value = ReplyValue::Read(<V::Output as Output>::from_response(answer, shape)?);
        Ok(())
    }

    fn complete(&mut self, turn: FinishedTurn, sources: Vec<RetrievedContent>) {
        self.usage = turn.spent.usage;
        if let ReplyValue::Read(value) = std::mem::replace(&mut self.value, ReplyValue::Unread) {
            let respond = |value| Response::of_turn(value, turn, sources);
            self.value = ReplyValue::Complete(V::from_output(value, respond));
        }
    }

    fn usage(&self) -> TokenUsage {
        self.usage
    }
}

/// The value in the `Result` of a method: an [`Output`], or a [`Response`] of an output.
#[diagnostic::on_unimplemented(
    message = "an AI service method cannot return `{Self}`",
    label = "not a supported AI service output",
    note = "supported outputs: `String`, `AiMessage`, `()`, every type that derives `serde::Deserialize` and `schemars::JsonSchema`, `Response<T>` of these, and `Outcome<T>` of all of these"
)]
pub trait Returned: Send {
    #[doc(hidden)]
    type Output: Output;
    /// Returns the value, or the whole response, which is made only for a method that returns it.
    #[doc(hidden)]
    fn from_output(
        value: Self::Output,
        respond: impl FnOnce(Self::Output) -> Response<Self::Output>,
    ) -> Self;

    /// Returns the value of a suspended turn; `None` if such a turn is an error of the method.
    #[doc(hidden)]
    fn from_pending(_pending: &PendingTurn) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}

#[diagnostic::do_not_recommend]
impl<T: Output> Returned for T {
    type Output = T;

    fn from_output(value: T, _: impl FnOnce(T) -> Response<T>) -> Self {
        value
    }
}

impl<T: Output> Returned for Response<T> {
    type Output = T;

    fn from_output(value: T, respond: impl FnOnce(T) -> Self) -> Self {
        respond(value)
    }
}

/// The error of a service method: converts from an [`Error`](crate::Error), and is `Send`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of an AI service method",
    label = "not `Send`, or does not convert from `ai_services::Error`",
    note = "use `ai_services::Error`, `Box<dyn std::error::Error + Send + Sync>`, or a type that is `Send` and implements `From<ai_services::Error>`"
)]
pub trait MethodError: From<Error> + Send {}

#[diagnostic::do_not_recommend]
impl<E: From<Error> + Send> MethodError for E {}

/// The return type of a service method: a `Result<T, E>` where `E` is a [`MethodError`].
#[diagnostic::on_unimplemented(
    message = "an AI service method must return a `Result`, not `{Self}`",
    label = "not a `Result`",
    note = "every call can fail: the model, a tool, or the reader of the answer may return an error",
    note = "for example `ai_services::Result<String>`, or any `Result<T, E>` with `E: From<ai_services::Error>`",
    note = "a method that streams its answer is a plain `fn` that returns an `AnswerStream`"
)]
pub trait MethodReturn: Sized {
    /// The type itself. Generated code names its return types through this item: rustc then reports a
    /// type without the trait once instead of twice.
    #[doc(hidden)]
    type This: MethodReturn;
    #[doc(hidden)]
    type Value: Returned;
    #[doc(hidden)]
    fn from_result(result: Result<Self::Value>) -> Self;

    /// Returns the expected form of the answer.
    #[doc(hidden)]
    fn answer() -> AnswerForm {
        AnswerForm::of::<<Self::Value as Returned>::Output>()
    }
}

impl<T: Returned, E: MethodError> MethodReturn for Result<T, E> {
    type This = Self;
    type Value = T;

    fn from_result(result: Result<T>) -> Self {
        result.map_err(E::from)
    }
}
