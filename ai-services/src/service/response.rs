//! The reply of a call, and the return types of service methods.

use super::description::AnswerForm;
use super::turn::FinishedTurn;
use crate::model::{ChatResponse, Cost, TokenUsage};
use crate::output::{Output, Shape};
use crate::rag::RetrievedContent;
use crate::{Error, ErrorKind, Result};
use ai_services_core::answer::Returned;

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

    /// Returns the cost of the committed turn, if the service has prices.
    fn cost(&self) -> Option<Cost>;
}

/// The reply of a method that returns `V`.
pub(super) struct PendingReply<V: Returned> {
    value: ReplyValue<V>,
    usage: TokenUsage,
    cost: Option<Cost>,
}

enum ReplyValue<V: Returned> {
    Unread,
    Read(V::Output),
    Complete(V),
}

impl<V: Returned> PendingReply<V> {
    /// Creates the reply of a call that has no answer yet.
    pub(super) fn new() -> Self {
        Self { value: ReplyValue::Unread, usage: TokenUsage::default(), cost: None }
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
        (self.usage, self.cost) = (turn.spent.usage, turn.spent.cost);
        if let ReplyValue::Read(value) = std::mem::replace(&mut self.value, ReplyValue::Unread) {
            let respond = |value| turn.into_response(value, sources);
            self.value = ReplyValue::Complete(V::from_output(value, respond));
        }
    }

    fn usage(&self) -> TokenUsage {
        self.usage
    }

    fn cost(&self) -> Option<Cost> {
        self.cost
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
