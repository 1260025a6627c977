//! Return types of service methods.

mod arguments;
mod direct;
mod find;
mod json;
mod lines;
mod name;
mod partial;
mod read;
mod shape;
mod steps;
mod typed;
mod unreadable;

pub(crate) use arguments::Arguments;
#[doc(hidden)]
pub use partial::{Growing, Progress};
pub use shape::Shape;
pub use unreadable::UnreadableAnswer;

use crate::error::{Error, ErrorKind, Result};
use crate::message::AiMessage;
use crate::model::{ChatResponse, FinishReason};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

/// A type that can be read from the answer of a model.
///
/// Implemented for every type that is [`DeserializeOwned`] and [`JsonSchema`], and for [`AiMessage`].
/// The schema of the type determines the requested format:
///
/// | type | answer |
/// |---|---|
/// | [`String`], newtypes of it | any text, returned unchanged; empty if the model ended without text |
/// | `()` | any answer; it is ignored |
/// | structs, maps | a JSON object |
/// | `Vec`, sets, arrays | a JSON object `{"values": […]}` |
/// | numbers, `bool`, enums, dates, `Option`, tuples | a JSON object `{"value": …}` |
///
/// Doc comments of fields and variants are sent as descriptions.
///
/// The parser accepts deviations that are unambiguous: code fences, a `<think>` block before the answer,
/// prose around one block of JSON, trailing commas, numbers and booleans in quotes, integers written
/// `42.0`, names of variants in another case, a value without its wrapper.
/// It rejects everything that would require a guess: two different blocks, fractions for integers,
/// numbers that are out of range, unknown variants, truncated JSON, duplicate keys.
///
/// The [arguments of tools](crate::tool::ToolArguments) are read by the same rules.
///
/// # Differences from LangChain4j
///
/// - A JSON string stands for its text: `"HAPPY"`, with its quotes, is the variant `HAPPY`.
/// - A list or set is found in a code fence and in prose. There, each line of a text is an item.
/// - A date inside an object is a text such as `2024-05-06`. There, it is an object of year, month and day.
///
/// # Examples
///
/// ```
/// use ai_services::testing::ScriptedChatModel;
/// use ai_services::{ai_service, schema::JsonSchema};
/// use serde::Deserialize;
///
/// #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
/// struct Person {
///     name: String,
///     /// In whole years.
///     age: u8,
/// }
///
/// #[ai_service]
/// trait Extractor {
///     #[user_message("Who is it? {{text}}")]
///     async fn person(&self, text: &str) -> ai_services::Result<Person>;
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let model = ScriptedChatModel::replies(["```json\n{\"name\": \"Ada\", \"age\": \"36\"}\n```"]);
/// let extractor = ExtractorService::builder().chat_model(model).build()?;
/// let person = extractor.person("Ada, 36").await?;
/// assert_eq!(person, Person { name: "Ada".into(), age: 36 });
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "an AI service method cannot return `{Self}`",
    label = "not a supported AI service output",
    note = "supported outputs: `String`, `AiMessage`, `()`, every type that derives `serde::Deserialize` and `schemars::JsonSchema`, and `Response<T>` of these"
)]
pub trait Output: Sized + Send {
    /// Returns the requested format of the answer.
    fn shape() -> Shape;

    /// Reads the answer.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Refused`] if the model refused to answer. [`ErrorKind::Output`] if the answer is not a
    /// value of this type; the detail of the error is an [`UnreadableAnswer`]. In both cases the turn is not
    /// stored in the memory.
    fn from_response(response: &ChatResponse, shape: &Shape) -> Result<Self>;

    /// Reads the value of an incomplete answer. Returns `None` if the value has not changed since the last
    /// call, or cannot be read yet.
    #[doc(hidden)]
    fn partial(_text: &str, _shape: &Shape, _progress: &mut Progress) -> Option<Self> {
        None
    }
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send> Output for T {
    fn shape() -> Shape {
        Shape::of::<T>()
    }

    fn from_response(response: &ChatResponse, shape: &Shape) -> Result<Self> {
        let text = if shape.is_nothing() { "" } else { text(response)? };
        if response.message.text().is_none() && shape.schema().is_some() {
            let unreadable = UnreadableAnswer::new("", "the answer is empty", text);
            return Err(explained(unreadable, response, shape));
        }
        read::read(text, shape).map_err(|unreadable| explained(unreadable, response, shape))
    }

    fn partial(text: &str, shape: &Shape, progress: &mut Progress) -> Option<Self> {
        partial::value(text, shape, progress)
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

/// Returns the text of the answer. An answer that ended normally may be empty: after tool results,
/// models often have nothing to add. Fails if the model refused, or was stopped before any text.
fn text(response: &ChatResponse) -> Result<&str> {
    let message = &response.message;
    if let Some(refusal) = message.refusal() {
        let refused = format!("the model refused to answer: {refusal}");
        return Err(Error::new(ErrorKind::Refused, refused));
    }
    let text = message.text().unwrap_or_default();
    match &response.finish_reason {
        Some(
            reason @ (FinishReason::Length | FinishReason::ContentFilter | FinishReason::Other(_)),
        ) if text.is_empty() => {
            let reason = reason.as_str();
            let message = format!("the model answered without text (finish reason: {reason})");
            Err(Error::new(ErrorKind::Output, message))
        }
        _ => Ok(text),
    }
}

/// Returns the error of an unreadable answer, with the reason if the answer was truncated.
fn explained(unreadable: UnreadableAnswer, response: &ChatResponse, shape: &Shape) -> Error {
    let summary = match shape.type_name() {
        Some(name) => format!("the answer does not fit `{name}`"),
        None => "the answer does not fit".to_owned(),
    };
    let message = match &response.finish_reason {
        Some(FinishReason::Length) => format!(
            "{summary}: it was truncated at the token limit; increase `max_output_tokens` ({unreadable})"
        ),
        Some(FinishReason::ContentFilter) => {
            format!("{summary}: it was truncated by the provider's content filter ({unreadable})")
        }
        _ => format!("{summary}: {unreadable}"),
    };
    Error::new(ErrorKind::Output, message).with_source(unreadable)
}

#[cfg(test)]
mod tests;
