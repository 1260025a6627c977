//! Attributes of user messages that belong to the framework.

use crate::message::{Attributes, ChatMessage};
use serde_json::Value;

/// Sets a text attribute of the first user message.
pub(super) fn set(messages: &mut [ChatMessage], name: &str, text: &str) {
    let user = messages.iter_mut().find(|message| message.is_user());
    let Some(ChatMessage::User(user)) = user else { return };
    let mut attributes: Attributes = user.attributes().cloned().unwrap_or_default();
    attributes.insert(name.to_owned(), Value::from(text));
    *user = user.clone().with_attributes(attributes);
}

/// Returns a text attribute of a user message.
pub(super) fn of<'a>(message: &'a ChatMessage, name: &str) -> Option<&'a str> {
    let ChatMessage::User(user) = message else { return None };
    user.attributes()?.get(name)?.as_str()
}
