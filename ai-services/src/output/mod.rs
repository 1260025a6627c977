//! What a service method can return.

mod partial;
mod shape;

pub(crate) use partial::Growing;
pub use shape::Shape;

use crate::error::{Error, ErrorKind, Result};
use crate::message::AiMessage;
use crate::model::ChatResponse;

/// A value that a model's answer can be turned into.
#[diagnostic::on_unimplemented(
    message = "an AI service method cannot return `{Self}`",
    label = "not a supported AI service output",
    note = "supported outputs: `String`, `AiMessage`, `()`, and `Response<T>` of these"
)]
pub trait Output: Sized + Send {
    /// What the answer should look like.
    fn shape() -> Shape;

    /// Reads the answer.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Refused`] if the model refused to answer, [`ErrorKind::Output`] if the answer is
    /// not such a value. The turn is not remembered then.
    fn from_response(response: &ChatResponse, shape: &Shape) -> Result<Self>;
}

impl Output for String {
    fn shape() -> Shape {
        Shape::text()
    }

    fn from_response(response: &ChatResponse, _: &Shape) -> Result<Self> {
        let message = &response.message;
        match (message.text(), message.refusal()) {
            (_, Some(refusal)) => Err(refused(refusal)),
            (Some(text), None) => Ok(text.to_owned()),
            (None, None) => Err(no_text(response)),
        }
    }
}

impl Output for AiMessage {
    fn shape() -> Shape {
        Shape::text()
    }

    fn from_response(response: &ChatResponse, _: &Shape) -> Result<Self> {
        Ok(response.message.clone())
    }
}

impl Output for () {
    fn shape() -> Shape {
        Shape::nothing()
    }

    fn from_response(_: &ChatResponse, _: &Shape) -> Result<Self> {
        Ok(())
    }
}

fn refused(refusal: &str) -> Error {
    Error::new(ErrorKind::Refused, format!("the model refused to answer: {refusal}"))
}

fn no_text(response: &ChatResponse) -> Error {
    let reason = response.finish_reason.as_ref().map_or("none given", |reason| reason.as_str());
    Error::new(
        ErrorKind::Output,
        format!("the model answered without text (finish reason: {reason})"),
    )
}
