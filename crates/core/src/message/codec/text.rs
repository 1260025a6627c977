//! Texts in the JSON form of messages.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A text. When it is read, it is borrowed from JSON in which it has no escapes, so that it is copied once, into
/// the message.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct WireText<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

impl<'a> From<&'a str> for WireText<'a> {
    fn from(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl From<WireText<'_>> for Box<str> {
    fn from(text: WireText<'_>) -> Self {
        text.0.into()
    }
}
