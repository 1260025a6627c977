//! The user message of a method: the text of a template, and arguments.

use super::description::Method;
use crate::message::{Content, UserMessage};
use crate::prompt::Part;
use crate::{Error, ErrorKind, Result};

/// Builds the user message: the template's text, then the arguments in the order of declaration.
///
/// # Errors
///
/// If the message is empty: a text may be blank, a list of images may be empty, an option may be `None`.
pub(super) fn build(
    method: &Method,
    template: Option<String>,
    parts: &[Part<'_>],
) -> Result<UserMessage> {
    // The usual message is one text and needs no list.
    let message = match (template, parts) {
        (Some(text), []) => UserMessage::new(text),
        (None, [Part::Text(text)]) => UserMessage::new(text.to_text()?),
        (template, parts) => {
            let mut contents: Vec<Content> = template.map(Content::from).into_iter().collect();
            for part in parts {
                match part {
                    Part::Text(text) => contents.push(text.to_text()?.into()),
                    Part::Contents(part) => part.append_to(&mut contents),
                }
            }
            UserMessage::from_contents(contents)
        }
    };
    check(method, &message)?;
    Ok(message)
}

/// Fails if the message has neither text nor other content: no protocol accepts such a message.
pub(super) fn check(method: &Method, message: &UserMessage) -> Result<()> {
    let is_blank = |content: &Content| content.text().is_some_and(|text| text.trim().is_empty());
    if !message.contents().iter().all(is_blank) {
        return Ok(());
    }
    let name = method.name;
    Err(Error::new(
        ErrorKind::Prompt,
        format!("the user message of method `{name}` is empty: it has neither text nor content"),
    ))
}
