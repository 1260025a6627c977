//! The user message of a method: the text of a template, and arguments.

use super::description::Method;
use crate::message::{Content, UserMessage};
use crate::prompt::Part;
use crate::{Error, ErrorKind, Result};

/// Builds the user message: the template's text, then the arguments in the order of declaration.
///
/// # Errors
///
/// If the message is empty: a list of images may be empty, an option may be `None`.
pub(super) fn build(
    method: &Method,
    template: Option<String>,
    parts: &[Part<'_>],
) -> Result<UserMessage> {
    // The usual message is one text and needs no list.
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
            if contents.is_empty() {
                return Err(empty_message(method));
            }
            Ok(UserMessage::from_contents(contents))
        }
    }
}

fn empty_message(method: &Method) -> Error {
    Error::new(
        ErrorKind::Prompt,
        format!(
            "the user message of method `{}` is empty: it has neither text nor content",
            method.name
        ),
    )
}
