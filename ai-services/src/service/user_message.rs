//! The user's message: the text of a template, and arguments.

use super::description::Method;
use crate::error::{Error, ErrorKind, Result};
use crate::message::{Content, UserMessage};
use crate::prompt::Part;

/// The template's text, then the arguments in the order of their declaration.
///
/// # Errors
///
/// If there is nothing to say: a list of images may be empty, an option `None`.
pub(super) fn of(
    method: &Method,
    template: Option<String>,
    parts: &[Part<'_>],
) -> Result<UserMessage> {
    // One text, the usual message, needs no list.
    match (template, parts) {
        (Some(text), []) => Ok(UserMessage::new(text)),
        (None, [Part::Text(text)]) => Ok(UserMessage::new(text.to_text()?)),
        (template, parts) => {
            let mut contents: Vec<Content> = template.map(Content::from).into_iter().collect();
            for part in parts {
                match part {
                    Part::Text(text) => contents.push(text.to_text()?.into()),
                    Part::Contents(part) => part.append_to(&mut contents),
                }
            }
            match contents.is_empty() {
                true => Err(nothing_to_say(method)),
                false => Ok(UserMessage::from_contents(contents)),
            }
        }
    }
}

fn nothing_to_say(method: &Method) -> Error {
    Error::new(
        ErrorKind::Prompt,
        format!(
            "the user message of method `{}` is empty: it has neither text nor content",
            method.name
        ),
    )
}
