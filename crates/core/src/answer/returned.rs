//! The values that methods return.

use super::response::Response;
use crate::approval::PendingTurn;
use crate::output::Output;

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
